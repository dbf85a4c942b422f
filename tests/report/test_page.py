import base64
import hashlib
import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import jinja2
import pytest
from markupsafe import Markup

import leakgauge.report
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.report.page import Chart, LegendEntry, Section, Stroke, json_in_html, render_html, write_page
from leakgauge.support.visible_text import visible
from leakgauge.version import VERSION

NASTY = [
    "\ud800",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "a & b",
    "]]>",
    "\u2028",
    "{{ 7 * 7 }}",
    "'\"",
]


@pytest.mark.parametrize("text", NASTY)
def test_embedded_data_round_trip_without_html(text):
    written = json_in_html({text: [text]})
    assert json.loads(written) == {visible(text): [visible(text)]}
    assert not {"<", ">", "&", "\u2028"} & set(written)


@pytest.mark.parametrize("text", NASTY)
def test_values_are_escaped(text):
    written = render_html("{{ text }}", text=text)
    assert "<" not in written
    assert "49" not in written


def test_markup_is_not_escaped():
    assert render_html("{{ text }}", text=Markup("<b>")) == "<b>"


def test_missing_template_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        render_html("{{ missing }}")


def test_nan_in_json_is_an_error():
    with pytest.raises(ValueError):
        json_in_html(float("nan"))


SPEC = {
    "data": {"values": [{"x": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "x", "type": "quantitative"}},
}


def chart(name="dots", **changes):
    return Chart(**{"name": name, "caption": "A <dot>", "alternative": 'one "dot"', "spec": SPEC} | changes)


def written(tmp_path, *sections, **more):
    return write_page("Title & more", sections, tmp_path / "page.html", **more).read_text(encoding="utf-8")


def test_page_without_charts_has_no_script(tmp_path):
    html = written(tmp_path, Section("One", "<p>Hello</p>"), lead="Lead")
    assert "<script" not in html
    assert "sha256" not in html
    assert "<h1>Title &amp; more</h1>" in html
    assert f"leakgauge {VERSION}" in html


def test_content_security_policy_allows_own_scripts_only(tmp_path):
    html = written(tmp_path, Section("One", "", (chart(),)))
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    allowed = re.findall(r"sha256-([\w+/=]+)", html.replace("&#43;", "+"))
    assert len(scripts) == 2
    assert [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts] == allowed


def test_chart_is_at_its_placeholder_or_at_the_end(tmp_path):
    placed, left = chart("placed"), chart("left")
    html = written(tmp_path, Section("One", f"<p>a</p>{placed.figure}<p>b</p>", (placed, left)))
    positions = [html.index(part) for part in ("<p>a</p>", 'id="placed"', "<p>b</p>", 'id="left"')]
    assert positions == sorted(positions)
    assert html.count('id="placed"') == 1


def test_chart_has_text_alternative(tmp_path):
    key = LegendEntry("who <b>", "var(--series-1)", Stroke.DASHED), LegendEntry("other", "red", Stroke.DOT)
    figure = chart(keys=key).figure
    assert 'role="img" aria-label="one &#34;dot&#34;"' in figure
    assert "A &lt;dot&gt;" in figure
    assert "who &lt;b&gt;" in figure
    assert 'class="dashed"' in figure


def test_chart_names_are_unique(tmp_path):
    with pytest.raises(BadInput, match="dots"):
        write_page(
            "T", [Section("One", "", (chart(),)), Section("Two", "", (chart(),))], tmp_path / "page.html"
        )


@pytest.mark.parametrize("name", ["", "Upper", "a b", '"><script>', "1st"])
def test_chart_names_are_plain(name):
    with pytest.raises(BadInput, match="lower-case"):
        chart(name)


def test_failed_write_keeps_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(IncompleteRun, match=r"page\.html"):
        write_page("T", [Section("One", "")], path)
    assert path.read_text() == "old"


def test_page_files_are_packaged():
    folder = Path(leakgauge.report.__file__).parent
    project = tomllib.loads((folder.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]["leakgauge"]
    needed = [f"report/{file.name}" for file in folder.iterdir() if file.is_file() and file.suffix != ".py"]
    assert needed
    assert [file for file in needed if not any(fnmatch(file, pattern) for pattern in shipped)] == []
