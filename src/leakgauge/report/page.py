"""A page as one HTML file without external resources: templates, charts, tables and sections."""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from leakgauge.core.errors import BadInput
from leakgauge.report import static_svg
from leakgauge.support import files as support_files
from leakgauge.support.cache import cached_text
from leakgauge.support.visible_text import visible_value
from leakgauge.version import VERSION

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render_html(template: str, **values: Any) -> Markup:
    """Fill a template; every value that is not ``Markup`` is escaped.

    >>> render_html("<b>{{ name }}</b>", name="<script>")
    Markup('<b>&lt;script&gt;</b>')
    """
    return Markup(_compiled(template).render(**values))


def json_in_html(value: Any) -> Markup:
    """JSON that is safe inside a script element.

    >>> json_in_html("</script>")
    Markup('"\\\\u003c/script\\\\u003e"')
    """
    text = json.dumps(visible_value(value), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.translate(_ESCAPES))


@lru_cache
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


@lru_cache
def _environment() -> Environment:
    return Environment(
        autoescape=True,
        finalize=visible_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class Stroke(StrEnum):
    """How a chart draws something; the legend shows the same symbol."""

    LINE = "line"
    DASHED = "dashed"
    DOTTED = "dotted"
    DOT = "dot"
    BAR = "bar"
    TICK = "tick"
    DIAMOND = "diamond"


@dataclass(frozen=True)
class LegendEntry:
    """One entry of the legend of a chart."""

    label: str
    colour: str
    stroke: Stroke


@dataclass(frozen=True, eq=False)
class Chart:
    """A Vega-Lite chart, and a description of it for readers who cannot see it.

    A page shows it as static SVG; where JavaScript is on, it can be zoomed and read under the pointer.

    ``name`` is its place in the page: lower-case letters, digits and dashes, used once.
    """

    name: str
    caption: str
    alternative: str
    spec: dict[str, Any]
    keys: tuple[LegendEntry, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise BadInput(f"a chart is called {self.name!r}; use lower-case letters, digits and dashes")

    @property
    def figure(self) -> Markup:
        """The HTML element in which it is drawn, to be placed in its section."""
        svg = Markup(static_svg.static_chart(self.name, self.spec))
        return render_html(_FIGURE, chart=self, svg=svg)


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page; its HTML is not escaped again, so build it with ``render_html``.

    Charts that the HTML does not place come after it.
    """

    title: str
    html: str
    charts: tuple[Chart, ...] = field(default=())


def write_page(
    title: str, sections: Sequence[Section], path: Path, *, lead: str = "", opening: Section | None = None
) -> Path:
    """Write the page in one step; nothing in it uses the network.

    The ``opening`` is the first screen, and alone on the first printed page; the sections are its appendix.
    """
    every = [opening, *sections] if opening else sections
    charts = [chart for section in every for chart in section.charts]
    twice = {chart.name for chart in charts if sum(other.name == chart.name for other in charts) > 1}
    if twice:
        raise BadInput(f"{path.name}: charts {sorted(twice)} are there twice; use each name once in a page")
    scripts = [Markup(_vega_bundle()), Markup(_resource("page.js"))] if charts else []
    html = render_html(
        _resource("page.html.jinja"),
        title=title,
        lead=lead,
        opening=_section_html(opening) if opening else "",
        sections=[
            (f"part-{place}", section, _section_html(section)) for place, section in enumerate(sections, 1)
        ],
        specs=json_in_html(
            {"config": static_svg.CONFIG, "specs": {chart.name: chart.spec for chart in charts}}
        ),
        style=Markup(_resource("page.css")),
        scripts=scripts,
        policy=_content_security_policy(scripts),
        version=VERSION,
    )
    support_files.write_file(
        path, html.encode(errors="replace")
    )  # of text that is none, such as odd file names
    return path


def _section_html(section: Section) -> Markup:
    placed = Markup(section.html)
    missing = [chart.figure for chart in section.charts if f'id="{chart.name}"' not in placed]
    return Markup("").join([placed, *missing])


def _content_security_policy(scripts: Sequence[str]) -> str:
    """A content security policy: these scripts and no other, no network at all.

    They may call ``eval``: browsers under automatic control evaluate code as if it came from the page.
    """
    digests = (b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'unsafe-eval' {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@lru_cache(maxsize=1)
def _vega_bundle() -> str:
    """The JavaScript that draws charts: Vega, Vega-Lite and Vega-Embed, in a scope of their own."""
    name = f"vega-lite-{static_svg.VEGA_LITE}-vl-convert-{version('vl-convert-python')}.js"
    code = cached_text(name, _make_vega_bundle)
    if "</script" in code or "<!--" in code:
        raise RuntimeError("the chart library holds text that would end its own script element")
    return f"(() => {{{code}\n}})();"


def _make_vega_bundle() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=static_svg.VEGA_LITE
    )
    return bundle


@lru_cache
def _resource(name: str) -> str:
    return files("leakgauge.report").joinpath(name).read_text(encoding="utf-8")


_FIGURE = """
<figure class="chart">
<figcaption>{{ chart.caption }}</figcaption>
{% if chart.keys|length > 1 %}
<ul class="keys">
{% for key in chart.keys %}
<li><i class="{{ key.stroke }}" style="--key: {{ key.colour }}"></i>{{ key.label }}</li>
{% endfor %}
</ul>
{% endif %}
<div class="drawing" id="{{ chart.name }}" role="img" aria-label="{{ chart.alternative }}">
<div class="static">{{ svg }}</div>
</div>
</figure>
"""


_TABLE = """
<div class="scroll" role="region" aria-label="{{ title }}" tabindex="0">
<table>
<caption>{{ caption }}</caption>
<thead><tr><th scope="col">{{ first }}</th>
{% for column, meaning in columns %}
<th scope="col" class="n"{% if meaning %} title="{{ meaning }}"{% endif %}>{{ column }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th>
{% for cell in row.cells %}
<td class="n{{ ' beyond' if loop.index0 in row.marked }}">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""


@dataclass(frozen=True)
class HtmlTableRow:
    """A row: its name, its cells as text, and the positions (0, 1, ...) of the cells that are marked."""

    name: str
    cells: tuple[str, ...]
    marked: tuple[int, ...] = ()


def html_table(
    title: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[HtmlTableRow],
    *,
    caption: str,
    first: str = "Attacker",
) -> Markup:
    """Write a table with one line per attacker; a column is its title and its meaning, which may be empty."""
    return render_html(_TABLE, title=title, columns=columns, rows=rows, caption=caption, first=first)
