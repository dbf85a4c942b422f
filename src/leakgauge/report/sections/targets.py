"""The most exposed targets, by their position in the run, never by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge.referee.estimate import Estimate
from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.charts.intervals import IntervalRow, interval_chart
from leakgauge.report.metric_text import describe_metric, interval_text, value_text
from leakgauge.report.page import Chart, Section, render_html
from leakgauge.report.run_report import JudgedRun, most_severe, omission_note
from leakgauge.verdict import Verdict

ORDER = 50
MOST_ADVERSARIES, MOST_TARGETS = 4, 20
PREFERRED = ("auc", "accuracy", "advantage", "tpr_at_fpr_0.01", "epsilon")

_TEMPLATE = """
<p>Protection is not shared out evenly: people whose data stand out are easier to recognise. Targets are
numbered by their position in the run; this report holds no name and no identifier.</p>
<p class="note">The most exposed of many targets is partly the luckiest for the adversary: each number is that
of one target by itself, not corrected for having been picked. {{ omitted }}</p>
{% for group in groups %}
<h3>{{ group.title }}</h3>
<p>{{ group.text }}</p>
{{ group.chart.figure }}
{% endfor %}
"""


def section(run: JudgedRun) -> Section | None:
    """The most exposed targets of each attacker, where rounds have several targets."""
    verdicts = run.verdicts
    concerned = [verdict for verdict in verdicts if verdict.n_targets > 1 and _metric(verdict)]
    if not concerned:
        return None
    shown = most_severe(concerned, MOST_ADVERSARIES)
    groups = [
        _group(place, name, verdict)
        for place, (name, verdict) in enumerate(
            zip(adversary_names(shown, verdicts), shown, strict=True), start=1
        )
    ]
    html = render_html(
        _TEMPLATE, groups=groups, omitted=omission_note(len(shown), len(concerned), "adversaries")
    )
    return Section("Who is exposed", html, tuple(group["chart"] for group in groups))


def _group(place: int, name: str, verdict: Verdict) -> dict[str, Any]:
    metric = _metric(verdict)
    ranked = sorted(_estimates(verdict, metric), key=lambda pair: -(pair[1].value or 0.0))
    title = describe_metric(metric).title
    top, bottom = ranked[0], ranked[-1]
    text = (
        f"{title} runs from {value_text(metric, bottom[1].value)} (target {bottom[0]}) "
        f"to {value_text(metric, top[1].value)} (target {top[0]})."
    )
    chart = _chart(place, metric, ranked[:MOST_TARGETS], len(ranked))
    return {"title": name, "text": text, "chart": chart}


def _chart(place: int, metric: str, ranked: Sequence[tuple[int, Estimate]], n_all: int) -> Chart:
    rows = [
        IntervalRow(
            label=f"target {target}",
            shown=_shown(metric, estimate),
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
        )
        for target, estimate in ranked
    ]
    title = describe_metric(metric).title
    which = (
        f"the {len(rows)} most exposed of {n_all} targets" if len(rows) < n_all else f"all {n_all} targets"
    )
    return interval_chart(
        f"targets-{place}",
        rows,
        title=title,
        caption=f"{title} of {which}",
        alternative="; ".join(f"{row.label}: {row.shown}" for row in rows),
        span=None if describe_metric(metric).is_lower_bound else _span(rows),
        chance=describe_metric(metric).chance_level,
        share=describe_metric(metric).is_share,
    )


def _shown(metric: str, estimate: Estimate) -> str:
    value = value_text(metric, estimate.value)
    return value if estimate.low is None else f"{value} ({interval_text(metric, estimate)})"


def _span(rows: Sequence[IntervalRow]) -> tuple[float, float]:
    least = min(part for row in rows for part in (row.value, row.low) if part is not None)
    return max(0.0, min(0.45, least - 0.05)), 1.01  # room for half a dot


def _metric(verdict: Verdict) -> str:
    """The metric by which targets are compared: the first that is known for any of them."""
    return next((metric for metric in PREFERRED if _estimates(verdict, metric)), "")


def _estimates(verdict: Verdict, metric: str) -> list[tuple[int, Estimate]]:
    by_target = [(row["target"], row["metrics"].get(metric)) for row in verdict.per_target]
    estimates = [(target, _estimate(given)) for target, given in by_target if given is not None]
    return [(target, estimate) for target, estimate in estimates if estimate.value is not None]


def _estimate(given: Estimate | Mapping[str, Any] | float) -> Estimate:
    """An estimate, the same as a mapping, or a bare value."""
    match given:
        case Estimate():
            return given
        case Mapping():
            return Estimate(**given)
        case _:
            return Estimate(value=given, confidence=0.0, method="not recorded")
