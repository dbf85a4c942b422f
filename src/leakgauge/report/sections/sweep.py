"""Audits of a sweep, compared along the parameter that was swept."""

from collections.abc import Sequence
from dataclasses import dataclass

from leakgauge.report import judged_run, metric_text, page
from leakgauge.report.adversary_names import clip
from leakgauge.report.charts.lines import ChartLine, ChartPoint, line_chart
from leakgauge.report.sections.metrics import LARGEST_DRAWN
from leakgauge.verdict import Verdict

ORDER = 40
MOST_SWEEPS, MOST_LINES = 3, 8
PROMISED = "promised"

_TEMPLATE = """
<p>The same audit at several settings, with the same random numbers: differences are more precise than single
points.</p>
<p class="note">{{ omitted }}</p>
{% for title, charts in sweeps %}
<h3>{{ title }}</h3>
<div class="pair">
{% for chart in charts %}
{{ chart.figure }}
{% endfor %}
</div>
{% endfor %}
"""


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """One attacker at one setting: the swept parameter, and all other settings as a label."""

    x: float
    label: str
    verdict: Verdict


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """One pair of charts for each sweep; nothing where no numeric parameter was swept."""
    verdicts = run.verdicts
    bases = dict.fromkeys(verdict.audit.partition("@")[0] for verdict in verdicts if "@" in verdict.audit)
    sweeps = [
        (clip(f"{base}, by {axis}"), axis, points)
        for base in bases
        for axis, points in [_sweep_points([v for v in verdicts if v.audit.partition("@")[0] == base])]
        if axis
    ]
    if not sweeps:
        return None
    pairs = [
        (title, _charts(place, axis, points))
        for place, (title, axis, points) in enumerate(sweeps[:MOST_SWEEPS])
    ]
    lines = max(len({point.label for point in points}) for _, _, points in sweeps[:MOST_SWEEPS])
    omitted = " ".join(
        filter(
            None,
            [
                judged_run.omission_note(min(len(sweeps), MOST_SWEEPS), len(sweeps), "sweeps"),
                f"At most {MOST_LINES} lines are drawn in a chart." if lines > MOST_LINES else "",
            ],
        )
    )
    html = page.render_html(_TEMPLATE, sweeps=pairs, omitted=omitted)
    return page.Section("Settings compared", html, tuple(chart for _, charts in pairs for chart in charts))


def settings(audit: str) -> dict[str, str]:
    """The settings in the name of a sweep point.

    >>> settings("city@epsilon=0.5,suppress=1")
    {'epsilon': '0.5', 'suppress': '1'}
    """
    parts = (part.partition("=") for part in audit.partition("@")[2].split(","))
    return {key: value for key, equals, value in parts if equals}


def _sweep_points(verdicts: Sequence[Verdict]) -> tuple[str, list[SweepPoint]]:
    """The numeric parameter with the most values, and every verdict placed along it."""
    values: dict[str, set[float | None]] = {}
    for verdict in verdicts:
        for key, value in settings(verdict.audit).items():
            values.setdefault(key, set()).add(_number(value))
    numeric = {
        key: len(different)
        for key, different in values.items()
        if None not in different and len(different) > 1
    }
    if not numeric:
        return "", []
    axis = max(numeric, key=lambda key: numeric[key])
    points = []
    for verdict in verdicts:
        point = settings(verdict.audit)
        x = _number(point.pop(axis, ""))
        if x is not None:
            rest = ", ".join(f"{key}={value}" for key, value in point.items() if len(values[key]) > 1)
            points.append(SweepPoint(x, clip(" · ".join(filter(None, [verdict.label, rest])), 44), verdict))
    return axis, sorted(points, key=lambda point: point.x)


def _charts(place: int, axis: str, points: Sequence[SweepPoint]) -> list[page.Chart]:
    labels = list(dict.fromkeys(point.label for point in points))[:MOST_LINES]
    kept = [point for point in points if point.label in labels]
    charts = []
    if any(metric_text.leading_name(point.verdict) in point.verdict.metrics for point in kept):
        charts.append(_chart(f"sweep-{place}-accuracy", axis, kept, labels, "accuracy"))
    bounds = [point.verdict.bounds.get("epsilon") for point in kept]
    if not charts or all(bound is not None and bound <= LARGEST_DRAWN for bound in bounds):
        charts.append(_chart(f"sweep-{place}-epsilon", axis, kept, labels, "epsilon"))
    return charts


def _chart(
    name: str, axis: str, points: Sequence[SweepPoint], labels: Sequence[str], metric: str
) -> page.Chart:
    lines = [
        ChartLine(label, tuple(_point(p, metric) for p in points if p.label == label)) for label in labels
    ]
    bounded = [(p.x, _bound(p.verdict, metric)) for p in points]
    is_share = metric_text.describe_metric(metric).is_share
    limiting = [(x, bound) for x, bound in bounded if bound is not None]
    allowed = {(x, bound) for x, bound in limiting if not is_share or bound <= metric_text.LARGEST_LIMIT}
    one_each = len({x for x, _ in allowed}) == len(allowed)
    bounds = (
        [ChartLine(PROMISED, tuple(ChartPoint(x=x, value=bound) for x, bound in sorted(allowed)))]
        if allowed
        else []
    )
    names = {_shown_metric(p.verdict, metric) for p in points}
    title = metric_text.describe_metric(names.pop() if len(names) == 1 else metric).title
    title += " (lower bound)" if metric_text.describe_metric(metric).is_lower_bound else ""
    read = "; ".join(
        f"{axis} {p.x:g}, {p.label}: {metric_text.interval_text(metric, estimate)}"
        for p in points
        if (estimate := p.verdict.metrics.get(_shown_metric(p.verdict, metric)))
    )
    return line_chart(
        name,
        lines,
        allowed=bounds if one_each else [],
        x_title=clip(axis, 44),
        y_title=title,
        caption=f"{title} against {clip(axis, 44)}",
        alternative=clip(read, 2000),
        share=is_share,
    )


def _bound(verdict: Verdict, metric: str) -> float | None:
    return verdict.bounds.get(_shown_metric(verdict, metric), verdict.bounds.get(metric))


def _shown_metric(verdict: Verdict, metric: str) -> str:
    return metric_text.leading_name(verdict) if metric == "accuracy" else metric


def _point(point: SweepPoint, metric: str) -> ChartPoint:
    estimate = point.verdict.metrics.get(_shown_metric(point.verdict, metric))
    if estimate is None:
        return ChartPoint(x=point.x, value=None)
    if metric_text.describe_metric(metric).is_lower_bound:
        return ChartPoint(x=point.x, value=estimate.low)
    return ChartPoint(x=point.x, value=estimate.value, low=estimate.low, high=estimate.high)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
