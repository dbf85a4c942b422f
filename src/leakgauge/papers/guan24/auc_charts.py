"""Charts of the AUC of each attack, beside the exact optimum of an informed one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.papers import metric_intervals
from leakgauge.papers.guan24 import plans, statements
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory.loss_composition import best_attack
from leakgauge.theory.privacy_loss import LaplaceCell
from leakgauge.verdict import Verdict

OPTIMUM_NOTE = (
    "The exact optimum is that of an attacker who knows everybody else, when a target is added or removed "
    "and the noise is not rounded. These games replace the target by somebody else, so it is drawn for "
    "orientation and is not an upper bound; an attacker may also notice who was added instead."
)


def target_visits(place: plans.LocationDataSet, verdict: Verdict) -> Ints:
    """How many cells each target of a game visits, after the daily cap."""
    return _visits(place, int(verdict.parameters["challenger"]["targets"]["n"]), verdict.seed)


def optimal_mean_auc(release: plans.ReleaseSetting, per_day: int, visits: Ints) -> float:
    """The exact AUC of the best informed attack under Laplace noise, the mean over targets."""
    if release.epsilon is None:
        raise ValueError("without noise the optimum depends on the counts, and not on the cells alone")
    per_cell = release.epsilon / (1 if release.unit == "event" else per_day)
    numbers = Counter(visits.tolist())
    total = sum(times * _optimal_auc(per_cell, n) for n, times in numbers.items())
    return float(total / visits.size)


@lru_cache(maxsize=4096)
def _optimal_auc(per_cell: float, n: int) -> float:
    return float(np.mean(best_attack([(LaplaceCell(per_cell), n)]).auc))


@lru_cache(maxsize=16)
def _visits(place: plans.LocationDataSet, targets: int, seed: int) -> Ints:
    from leakgauge.domains.locations.challenger import build

    challenger = build(
        data=dict(place.data.table),
        challenger=place.challenger_table(targets),
        mechanism={"name": "raw"},
        folder=Path(),
        seed=seed,
    )
    return challenger.traces.n_visits[challenger.people.targets]


@dataclass(frozen=True, kw_only=True)
class ReleaseAxis:
    """The horizontal axis of a chart, and the position of each release on it."""

    title: str
    places: Sequence[tuple[float, plans.ReleaseSetting]]
    log: bool = False


def auc_series(
    label: str, points: Sequence[tuple[float, Verdict]], colour: str, stroke: Stroke
) -> list[ChartSeries]:
    """A line through the measured values, with their intervals."""
    if not points:
        return []
    points_with_aucs = [(x, statements.auc(verdict)) for x, verdict in points]
    xs, values = (
        np.array([x for x, _ in points_with_aucs]),
        np.array([ours.value for _, ours in points_with_aucs]),
    )
    return [
        line_series(label, xs, values, stroke, colour),
        dot_series(f"{label}, simulated", points_with_aucs, colour),
    ]


def auc_chart(
    name: str,
    verdicts: plans.GameVerdicts,
    place: plans.LocationDataSet,
    axis: ReleaseAxis,
    variants: Sequence[plans.AttackVariant],
    caption: str,
    alternative: str,
) -> list[Chart]:
    """The mean AUC of each simulated variant along an axis, and the exact optimum where there is noise."""
    traces: list[ChartSeries] = []
    seen: list[Verdict] = []
    for variant in variants:
        points = [
            (x, verdict)
            for x, release in axis.places
            if (verdict := verdicts.find(place, release, variant)) is not None
        ]
        seen += [verdict for _, verdict in points]
        stroke = Stroke.LINE if variant.attack == "shadow_logistic" else Stroke.DASHED
        traces += auc_series(variant.description, points, variant.colour, stroke)
    if not seen:
        return []
    traces = [*_optimum_series(place, axis, seen[0]), *traces]
    chart = series_chart(
        name,
        traces,
        x_title=axis.title,
        y_title="mean AUC",
        caption=caption,
        alternative=alternative,
        log=axis.log,
        played=f"simulated, {metric_intervals.confidence_text(seen)} interval",
    )
    return [chart]


def _optimum_series(place: plans.LocationDataSet, axis: ReleaseAxis, verdict: Verdict) -> list[ChartSeries]:
    if any(release.epsilon is None for _, release in axis.places):
        return []
    visits = target_visits(place, verdict)
    xs = np.array([x for x, _ in axis.places])
    values = np.array([optimal_mean_auc(release, place.per_day, visits) for _, release in axis.places])
    return [
        line_series(
            "exact optimum, informed, target added or removed", xs, values, Stroke.DOTTED, chart_style.PROMISE
        )
    ]
