"""Risk and utility: how well an attacker does, and how useful the release still is."""

from collections.abc import Mapping, Sequence

from leakgauge import catalog
from leakgauge.core.domain import Term
from leakgauge.referee.estimate import Estimate
from leakgauge.report import judged_run, metric_text, number_format, page
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.answers import limit_text
from leakgauge.report.charts.lines import ChartLine, ChartPoint, line_chart
from leakgauge.verdict import Verdict

ORDER = 42
MOST_ROWS, MOST_LINES = 80, 8

_TEMPLATE = """
<p>Noise protects people and makes data less useful.
{% if chart %}Each point is an attacker in one audit: to the right, {{ term.title|lower }}
({{ term.meaning or "utility" }}); upwards, how often an attacker is right. A good setting is far to the
{{ "left" if term.lower_is_better else "right" }} and low{{ ", below your limit" if limited }}.{% endif %}</p>
{% if chart %}{{ chart.figure }}{% endif %}
<details>
<summary>All numbers on utility</summary>
{{ table }}
<ul class="note">
{% for one in terms %}
<li>{{ one.title }}: {{ one.meaning }}.</li>
{% endfor %}
</ul>
</details>
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """One point for each attacker of an audit whose utility is known."""
    known = [verdict for verdict in run.verdicts if _main_utility(verdict) is not None]
    if not known:
        return None
    shown = judged_run.most_severe(known, MOST_ROWS)
    columns = {
        name: term
        for domain in judged_run.domains_of(shown)
        for name, term in domain.utility.items()
        if any(name in (verdict.utility or {}) for verdict in shown)
    }
    main = _main_utility(shown[0])
    drawn = [one for one in shown if _main_utility(one) == main]
    chart = None if main is None else _chart(drawn, *main, run.summary.limits.get("accuracy"))
    rows = [
        page.HtmlTableRow(
            name,
            (
                number_format.percent(_risk(verdict).value),
                *(utility_value(term, (verdict.utility or {}).get(one)) for one, term in columns.items()),
            ),
        )
        for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True)
    ]
    table = page.html_table(
        "Risk and utility",
        [("Attacker right", ""), *((term.title, term.meaning) for term in columns.values())],
        rows,
        caption="Correct identifications of each attacker, and how useful the release is. "
        + judged_run.omission_note(len(shown), len(known), "attackers"),
    )
    described = [term for term in columns.values() if term.meaning]
    html = page.render_html(
        _TEMPLATE,
        chart=chart,
        table=table,
        term=main and main[1],
        terms=described,
        limited="accuracy" in run.summary.limits,
    )
    return page.Section("Risk and utility", html, (chart,) if chart else ())


def utility_rows(verdicts: Sequence[Verdict]) -> tuple[list[str], list[list[str]]]:
    """A table for the terminal: the numbers of each audit that the domains have sentences for."""
    audits = {verdict.audit: verdict for verdict in verdicts if verdict.utility}
    terms = {
        name: term
        for domain in judged_run.domains_of(list(audits.values()))
        for name, term in domain.utility.items()
        if term.sentence and any(name in (verdict.utility or {}) for verdict in audits.values())
    }
    one_sweep = len({audit.partition("@")[0] for audit in audits}) == 1
    rows = [
        [
            clip(audit.partition("@")[2] if one_sweep and "@" in audit else audit),
            *(utility_value(term, (verdict.utility or {}).get(name)) for name, term in terms.items()),
        ]
        for audit, verdict in audits.items()
    ]
    return [term.title for term in terms.values()], rows if terms else []


def utility_sentence(domain: str, utility: Mapping[str, float] | None) -> str:
    """What a release is still good for, in the words of its domain; empty where nothing is known."""
    found = catalog.find_domain(domain)
    parts = [
        term.sentence.format(value=utility_value(term, (utility or {})[name]))
        for name, term in (found.utility.items() if found is not None else ())
        if term.sentence and name in (utility or {})
    ]
    return f"{', '.join(parts)}." if parts else ""


def utility_value(term: Term, value: float | None) -> str:
    """A number about utility as text."""
    if term.is_count and value is not None:
        return number_format.count(round(value))
    return number_format.percent(value) if term.is_share else number_format.measured(value)


def _chart(verdicts: list[Verdict], name: str, term: Term, limit: float | None) -> page.Chart | None:
    """Risk against the main number; nothing where all audits are equally useful."""

    def useful(verdict: Verdict) -> float:
        return (verdict.utility or {})[name]

    labels = list(dict.fromkeys(verdict.label for verdict in verdicts))[:MOST_LINES]
    lines = []
    for label in labels:
        mine = sorted((verdict for verdict in verdicts if verdict.label == label), key=useful)
        lines.append(ChartLine(clip(label), tuple(_point(verdict, useful(verdict)) for verdict in mine)))
    if not any(point.value is not None for line in lines for point in line.points):
        return None
    against = "error" if term.lower_is_better else "utility"
    stated = "" if limit is None else f"; your limit: {limit_text('accuracy', limit)}"
    return line_chart(
        "risk-and-utility",
        lines,
        x_title=term.title.lower(),
        y_title="correct identifications",
        caption=f"Risk against {against}; whiskers are intervals, where there are any.",
        alternative="; ".join(
            f"{line.label}: "
            f"{number_format.NOTHING if point.value is None else number_format.percent(point.value)} "
            f"at {term.title.lower()} {utility_value(term, point.x)}"
            for line in lines
            for point in line.points
        )
        + stated,
        share=True,
        x_share=term.is_share,
        x_measured=True,
        limit=None if limit is None else ("your limit", limit),
    )


def _point(verdict: Verdict, x: float) -> ChartPoint:
    risk = _risk(verdict)
    return ChartPoint(x=x, value=risk.value, low=risk.low, high=risk.high)


def _main_utility(verdict: Verdict) -> tuple[str, Term] | None:
    """The first known of the measures that the domain of a verdict prefers."""
    known = verdict.utility or {}
    preferred = (
        (name, domain.utility[name])
        for domain in judged_run.domains_of([verdict])
        for name in domain.main_utility
    )
    return next(((name, term) for name, term in preferred if name in known), None)


def _risk(verdict: Verdict) -> Estimate:
    return verdict.metrics[metric_text.leading_name(verdict)]
