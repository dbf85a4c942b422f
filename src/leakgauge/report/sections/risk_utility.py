"""Risk and utility: how well an attacker does, and how useful the release still is."""

from leakgauge.referee.estimate import Estimate
from leakgauge.report import metric_text, number_format, page, run_report
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.charts.lines import ChartLine, ChartPoint, line_chart
from leakgauge.verdict import Verdict

ORDER = 42
MOST_ROWS, MOST_LINES = 80, 8

_TEMPLATE = """
<p>Noise protects people and makes data less useful. Each point is an audit: to the right, how often an honest
user of the release is right; upwards, how often an attacker is. A good setting is far to the right and
low.</p>
{% if chart %}{{ chart.figure }}{% endif %}
{{ table }}
"""


def section(run: run_report.JudgedRun) -> page.Section | None:
    """One point for each attacker of an audit whose utility is known."""
    known = [verdict for verdict in run.verdicts if _main_utility(verdict) is not None]
    if not known:
        return None
    shown = run_report.most_severe(known, MOST_ROWS)
    columns = {
        name: term
        for domain in run_report.domains_of(shown)
        for name, term in domain.utility.items()
        if any(name in (verdict.utility or {}) for verdict in shown)
    }
    chart = _chart(shown)
    rows = [
        page.HtmlTableRow(
            name,
            (number_format.percent(_risk(verdict).value), *(_useful(verdict, column) for column in columns)),
        )
        for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True)
    ]
    table = page.html_table(
        "Risk and utility",
        [("Attacker right", ""), *((term.title, term.meaning) for term in columns.values())],
        rows,
        caption="Right answers of an honest user, and correct identifications of each attacker. "
        + run_report.omission_note(len(shown), len(known), "attackers"),
    )
    html = page.render_html(_TEMPLATE, chart=chart, table=table)
    return page.Section("Risk and utility", html, (chart,) if chart else ())


def _chart(verdicts: list[Verdict]) -> page.Chart | None:
    labels = list(dict.fromkeys(verdict.label for verdict in verdicts))[:MOST_LINES]
    lines = []
    for label in labels:
        mine = sorted((v for v in verdicts if v.label == label), key=lambda v: _main_utility(v) or 0.0)
        lines.append(ChartLine(clip(label), tuple(map(_point, mine))))
    if not any(point.value is not None for line in lines for point in line.points):
        return None
    return line_chart(
        "risk-and-utility",
        lines,
        x_title="right answers of an honest user",
        y_title="correct identifications",
        caption="Risk against utility; whiskers are intervals.",
        alternative="; ".join(
            f"{line.label}: "
            f"{number_format.NOTHING if point.value is None else number_format.percent(point.value)} "
            f"where an honest user is right {number_format.percent(point.x)} of the time"
            for line in lines
            for point in line.points
        ),
        share=True,
        x_share=True,
    )


def _point(verdict: Verdict) -> ChartPoint:
    risk = _risk(verdict)
    return ChartPoint(x=_main_utility(verdict) or 0.0, value=risk.value, low=risk.low, high=risk.high)


def _main_utility(verdict: Verdict) -> float | None:
    """How useful the release is, by the first known of the measures that its domain prefers."""
    known = verdict.utility or {}
    preferred = (name for domain in run_report.domains_of([verdict]) for name in domain.main_utility)
    return next((known[name] for name in preferred if name in known), None)


def _useful(verdict: Verdict, name: str) -> str:
    return number_format.percent((verdict.utility or {}).get(name))


def _risk(verdict: Verdict) -> Estimate:
    return verdict.metrics[metric_text.leading_name(verdict)]
