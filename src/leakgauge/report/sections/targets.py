"""The most exposed targets, by their position in the run, never by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge.referee.estimate import Estimate
from leakgauge.report import judged_run, metric_text, page
from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.charts.intervals import IntervalRow, interval_chart
from leakgauge.summary import is_control
from leakgauge.verdict import Verdict

ORDER = 50
MOST_COMPARED, MOST_TARGETS = 80, 10
PREFERRED = ("accuracy_own", "accuracy", "auc", "advantage", "tpr_at_fpr_0.01", "epsilon")

_TEMPLATE = """
<p>Targets are numbered by their position in the run; this report holds no name and no identifier. The
top-ranked target is partly chance: an interval that holds for all targets together is in “The numbers”.</p>
{{ chart.figure }}
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """The most exposed targets of the strongest attacker, where rounds have several targets."""
    verdicts = run.verdicts
    concerned = [verdict for verdict in verdicts if verdict.n_targets > 1 and _metric(verdict)]
    if not concerned:
        return None
    shown = judged_run.most_severe(concerned, MOST_COMPARED)
    names = adversary_names(shown, verdicts)
    ranks = [_ranked(verdict) for verdict in shown]
    worst = max(range(len(shown)), key=lambda place: (not is_control(shown[place]), ranks[place][0][1].value))
    chart = _chart(names[worst], _metric(shown[worst]), ranks[worst])
    return page.Section("Who is exposed", page.render_html(_TEMPLATE, chart=chart), (chart,))


def _ranked(verdict: Verdict) -> list[tuple[int, Estimate]]:
    return sorted(_estimates(verdict, _metric(verdict)), key=lambda pair: -(pair[1].value or 0.0))


def _chart(who: str, metric: str, everybody: Sequence[tuple[int, Estimate]]) -> page.Chart:
    ranked, n_all = everybody[:MOST_TARGETS], len(everybody)
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
    title = metric_text.describe_metric(metric).title
    which = (
        f"the {len(rows)} most exposed of {n_all} targets" if len(rows) < n_all else f"all {n_all} targets"
    )
    return interval_chart(
        "targets",
        rows,
        title=title,
        caption=f"{title} of {who} against {which}",
        alternative="; ".join(f"{row.label}: {row.shown}" for row in rows),
        span=None if metric_text.describe_metric(metric).is_lower_bound else _span(rows),
        chance=metric_text.describe_metric(metric).chance_level,
        share=metric_text.describe_metric(metric).is_share,
        step=17,
    )


def _shown(metric: str, estimate: Estimate) -> str:
    value = metric_text.value_text(metric, estimate.value)
    return value if estimate.low is None else f"{value} ({metric_text.interval_text(metric, estimate)})"


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
