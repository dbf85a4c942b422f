"""The page of ``leakgauge tune``: the answer, risk against utility, and all settings that were tried."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.domain import Term
from leakgauge.report import number_format, page
from leakgauge.report.answers import limit_text
from leakgauge.report.charts.lines import ChartLine, ChartPoint, line_chart
from leakgauge.report.metric_text import value_text
from leakgauge.report.sections.risk_utility import utility_value
from leakgauge.risk import ANY_ATTACKER

MOST_ROWS, MOST_LINES = 80, 8
CONFIRMED, RECOGNISED = "confirmed", "recognised"
_HOW = {
    "any attacker": "computed for any attacker from the noise distribution",
    "computed": "computed for the strongest attacker of the plan, as leakgauge expose does",
    "simulated": "estimated from simulated releases; risks are upper bounds",
}

_OPENING = """
<p class="answer"><strong>{{ lines[0] }}</strong></p>
{% for parts in lines[1:] %}
<p>{% for part in parts %}{% if part.startswith("--") %}<code class="flag">{{ part }}</code>{% else %}{{ part
}}{% endif %}{% endfor %}</p>
{% endfor %}
"""
_FLAG = re.compile(r"(--[a-z][a-z-]*)")
_CHART = """
<p>Each point is a setting of the search: to the right, {{ across|lower }}; upwards, {{ metric }} by the
strongest attacker, {{ how }}.
{% if bound %}
The confirmed setting is drawn at the bound for the best possible attack on the target that the noise protects
least, so it is above the curve.
{% endif %}
</p>
{{ chart.figure }}
"""
_MEANING = """
<ul>
<li>The search chose settings on random numbers of its own. The setting above was then run with others,
so nothing that was looked at in the search counts for it.</li>
<li>“Confirmed” is about the attackers and targets of this plan and the limits above. It is not a statement
that the release is private.</li>
<li>If you search again after you have seen this result, use another seed.</li>
</ul>
"""


def write_tune_page(content: Mapping[str, Any], path: Path) -> Path:
    """Write the page of a search from the content of ``tune.json``."""
    first, *others = content["lines"]
    lines = [first, *map(_FLAG.split, others)]
    opening = page.Section("Answer", page.render_html(_OPENING, lines=lines))
    sections = [*_chart_sections(content), _table_section(content), _meaning_section()]
    title = f"Settings under your limit: {content['audit']}"
    return page.write_page(title, sections, path, opening=opening)


def _chart_sections(content: Mapping[str, Any]) -> list[page.Section]:
    """Risk against utility, or against the number that was varied; nothing where there is neither."""
    tried = content["tried"]
    term, key = _utility_term(content), _number_key(content)
    if not tried or (term is None and key is None):
        return []
    across = term.title if term is not None else (key or "").rpartition(".")[2]
    chart = _chart(content, term, key, across)
    metric = metric_title(tried[0]["metric"])
    html = page.render_html(
        _CHART,
        chart=chart,
        across=across,
        metric=metric,
        how=_HOW[tried[0]["basis"]],
        bound=_is_bound(content) and tried[0]["basis"] == "computed",
    )
    title = "Risk and utility" if term is not None else f"Risk and {across}"
    return [page.Section(title, html, (chart,))]


def _chart(content: Mapping[str, Any], term: Term | None, key: str | None, across: str) -> page.Chart:
    first = content["tried"][0]
    name, limit = first["metric"], first["limit"]
    same = [one for one in content["tried"] if one["metric"] == name]
    lines = _lines(same, content, term, key)
    words = "; ".join(
        f"{line.label}: {value_text(name, point.value)} at {across.lower()} {_across_text(term, point.x)}"
        for line in lines
        for point in line.points
    )
    return line_chart(
        "risk-against-utility",
        lines,
        x_title=across.lower(),
        y_title=metric_title(name),
        caption=f"Risk against {'utility' if term is not None else across}, and your limit.",
        alternative=f"{words}; your limit: {limit_text(name, limit)}",
        share=_is_share(name),
        x_share=term is not None and term.is_share,
        x_measured=True,
        limit=("your limit", limit),
    )


def _lines(
    tried: Sequence[Mapping[str, Any]], content: Mapping[str, Any], term: Term | None, key: str | None
) -> list[ChartLine]:
    """One line for each combination of the other keys; the confirmed setting alone is the last one."""
    groups: dict[str, list[ChartPoint]] = {}
    for one in tried:
        x = _across(one["setting"], one["utility"], content, term, key)
        if x is not None:
            label = _label({name: value for name, value in one["setting"].items() if name != key})
            groups.setdefault(label, []).append(ChartPoint(x=x, value=_risk(one)))
    lines = [
        ChartLine(label, tuple(sorted(points, key=lambda point: point.x))) for label, points in groups.items()
    ][:MOST_LINES]
    risk, setting = content["risk"], content["setting"]
    if risk is None or risk["metric"] == RECOGNISED:
        return lines
    x = _across(setting, content["utility"], content, term, key)
    if x is None:
        return lines
    value = risk["high"] if risk["value"] is None else risk["value"]
    high = None if risk["low"] is None else risk["high"]
    return [*lines, ChartLine(CONFIRMED, (ChartPoint(x=x, value=value, low=risk["low"], high=high),))]


def _is_bound(content: Mapping[str, Any]) -> bool:
    """Whether the confirmed setting rests on the best possible attack."""
    return content["risk"] is not None and content["risk"]["scope"] == ANY_ATTACKER


def _label(others: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in others.items()) or "search"


def _across(
    setting: Mapping[str, Any],
    utility: Mapping[str, float] | None,
    content: Mapping[str, Any],
    term: Term | None,
    key: str | None,
) -> float | None:
    if term is not None:
        return (utility or {}).get(content["compared_by"])
    return None if key is None else float(setting[key])


def _risk(one: Mapping[str, Any]) -> float:
    """What is drawn: the value, or the upper bound of simulated releases."""
    simulated = one["basis"] == "simulated"
    return float(min(1.0, one["value"] + one["error"]) if simulated else one["value"])


def _table_section(content: Mapping[str, Any]) -> page.Section:
    terms = _terms(content)
    tried = content["tried"]
    rows = [
        page.HtmlTableRow(
            _setting(one["setting"]),
            (
                value_text(one["metric"], _risk(one)),
                limit_text(one["metric"], one["limit"]),
                *(utility_value(term, (one["utility"] or {}).get(name)) for name, term in terms.items()),
            ),
            marked=(0,) if one["excess"] >= 0 else (),
        )
        for one in tried[:MOST_ROWS]
    ]
    columns = [("Risk", ""), ("Limit", ""), *((term.title, term.meaning) for term in terms.values())]
    left_out = f" {len(tried) - MOST_ROWS} settings are left out." if len(tried) > MOST_ROWS else ""
    basis = _HOW[tried[0]["basis"]] if tried else "nothing could be tried"
    table = page.html_table(
        "Settings tried",
        columns,
        rows,
        first="Setting",
        caption=f"All settings of the search, the most useful first: {basis}.{left_out}",
    )
    return page.Section("Settings tried", page.render_html("{{ table }}", table=table))


def _meaning_section() -> page.Section:
    return page.Section("What this means", page.render_html(_MEANING))


def _terms(content: Mapping[str, Any]) -> dict[str, Term]:
    domain = catalog.find_domain(content["domain"])
    known = {name for one in content["tried"] for name in one["utility"] or {}}
    return {} if domain is None else {name: term for name, term in domain.utility.items() if name in known}


def _utility_term(content: Mapping[str, Any]) -> Term | None:
    """The number by which settings were compared, where it is known of every setting."""
    term = _terms(content).get(content["compared_by"] or "")
    complete = all((one["utility"] or {}).get(content["compared_by"]) is not None for one in content["tried"])
    return term if complete else None


def _number_key(content: Mapping[str, Any]) -> str | None:
    """The key that was varied over a range."""
    if not content["tried"]:
        return None
    setting = content["tried"][0]["setting"]
    return next((key for key, value in setting.items() if isinstance(value, float)), None)


def _setting(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in setting.items())


def metric_title(name: str) -> str:
    """What a limit is on, inside a sentence; people recognised are no metric.

    >>> metric_title("accuracy"), metric_title("auc"), metric_title("recognised")
    ('correct identifications', 'AUC', 'people recognised')
    """
    if name == RECOGNISED:
        return "people recognised"
    described = catalog.metric_descriptions()[name]
    return "correct identifications" if name.startswith("accuracy") else described.title_in_sentence


def bound_text(name: str, value: float | None, limit: float | None) -> str:
    """An upper bound on a metric, with enough digits to see that it is below its limit."""
    write = number_format.upper_percent if _is_share(name) else number_format.upper
    return write(value, below=limit)


def _is_share(name: str) -> bool:
    described = catalog.metric_descriptions().get(name)
    return described is None or described.is_share


def _across_text(term: Term | None, x: float) -> str:
    return number_format.number(x) if term is None else utility_value(term, x)
