"""Charts of accuracy or AUC by the number of cells: exact lines where known, and measured values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.papers import comparison, metric_intervals
from leakgauge.papers.liu24 import exact_values, plans
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.number_format import count
from leakgauge.report.page import Chart, Stroke
from leakgauge.verdict import Verdict

EXACT = ("one_threshold", "two_threshold", "likelihood")  # attacks whose lines can be computed
CEILING = "optimum of the informed"
_NETWORKS = {2_000: chart_style.SERIES[3], 20_000: chart_style.SERIES[5], 200_000: chart_style.SERIES[5]}


@dataclass(frozen=True)
class MeasuredQuantity:
    """A quantity measured in a verdict, and its exact value for an informed attacker."""

    name: str
    measure: Callable[[Verdict], comparison.OurNumber]
    exact: Callable[[str, str, Reals], Reals]
    exact_for: tuple[str, ...] = EXACT

    def of(self, verdicts: Sequence[Verdict]) -> comparison.OurNumber:
        """The mean over targets."""
        return metric_intervals.mean([self.measure(verdict) for verdict in verdicts])


ACCURACY = MeasuredQuantity("accuracy", metric_intervals.accuracy, exact_values.accuracy)
AUC = MeasuredQuantity("AUC", partial(metric_intervals.metric, metric="auc"), exact_values.auc)


def variant_label(variant: plans.CellAttackVariant) -> str:
    """What a line is called."""
    if variant.attack != plans.NETWORK:
        return variant.attack
    units = f", {plans.HUNDRED} units" if variant.hidden else ""
    return f"network{units}, {count(variant.shadows or 0)} shadows"


def variant_colour(variant: plans.CellAttackVariant) -> str:
    """The colour of an attack; that of a network depends on its number of shadows."""
    return (
        _NETWORKS[variant.shadows or 0] if variant.attack == plans.NETWORK else plans.COLOURS[variant.attack]
    )


def cells_chart(
    name: str,
    quantity: MeasuredQuantity,
    noise: str,
    knowledge: str,
    games: plans.VerdictsByVariant,
    *,
    bound: bool = False,
) -> Chart:
    """Draw all variants of one knowledge; ``bound`` adds the bound for any mechanism with this promise."""
    mine = {variant: found for variant, found in games.items() if variant.knowledge == knowledge}
    lines = exact_lines(quantity, noise) if knowledge == plans.INFORMED else ceiling_line(quantity, noise)
    if bound:
        kov = exact_values.any_mechanism(noise, plans.CELLS)
        lines.insert(
            0,
            line_series(
                "KOV bound: any cells of ε = 0.5", plans.CELLS, kov, Stroke.DASHED, chart_style.PROMISE
            ),
        )
    series: dict[str, list[tuple[plans.CellAttackVariant, comparison.OurNumber]]] = {}
    for variant, found in mine.items():
        series.setdefault(variant_label(variant), []).append((variant, quantity.of(found)))
    exact = EXACT if knowledge == plans.INFORMED else ()
    joined = [_joined(label, measured) for label, measured in series.items() if label not in exact]
    points = [
        dot_series(
            f"{label}, simulated", [(p.n, ours) for p, ours in measured], variant_colour(measured[0][0])
        )
        for label, measured in series.items()
    ]
    verdicts = [verdict for found in mine.values() for verdict in found]
    return series_chart(
        name,
        [*lines, *joined, *points],
        x_title="positive observations (cells)",
        y_title=quantity.name,
        caption=f"{noise.capitalize()} noise, {knowledge} attacker: {quantity.name}.",
        alternative=_alternative_text(quantity, series),
        played=f"simulated, {metric_intervals.confidence_text(verdicts)} interval",
    )


def exact_lines(quantity: MeasuredQuantity, noise: str) -> list[ChartSeries]:
    """The best attack and both rules, exact for an informed attacker."""
    best = quantity.exact(noise, "likelihood", plans.FEW_CELLS)
    lines = [
        line_series("likelihood = optimum", plans.FEW_CELLS, best, Stroke.LINE, plans.COLOURS["likelihood"])
    ]
    strokes = {"two_threshold": Stroke.LINE, "one_threshold": _stroke_of_one(noise)}
    for attack, stroke in strokes.items():
        lines.append(
            line_series(
                attack, plans.CELLS, quantity.exact(noise, attack, plans.CELLS), stroke, plans.COLOURS[attack]
            )
        )
    return lines


def ceiling_line(quantity: MeasuredQuantity, noise: str) -> list[ChartSeries]:
    """The optimum of the informed attacker, which no attacker who knows less exceeds."""
    best = quantity.exact(noise, "likelihood", plans.FEW_CELLS)
    return [line_series(CEILING, plans.FEW_CELLS, best, Stroke.DASHED, chart_style.PROMISE)]


def _stroke_of_one(noise: str) -> Stroke:
    """Under Gaussian noise it equals the optimum, which must stay visible."""
    return Stroke.LINE if noise == "laplace" else Stroke.DASHED


def _joined(
    label: str, numbers: Sequence[tuple[plans.CellAttackVariant, comparison.OurNumber]]
) -> ChartSeries:
    """Measured values, joined by a line: there is no exact one."""
    places = np.array([float(variant.n) for variant, _ in numbers])
    values = np.array([ours.value for _, ours in numbers])
    return line_series(label, places, values, Stroke.DOTTED, variant_colour(numbers[0][0]))


def _alternative_text(
    quantity: MeasuredQuantity, series: dict[str, list[tuple[plans.CellAttackVariant, comparison.OurNumber]]]
) -> str:
    most = max(variant.n for measured in series.values() for variant, _ in measured)
    texts = ", ".join(
        f"{ours.value:.3f} for {label}"
        for label, measured in series.items()
        for variant, ours in measured
        if variant.n == most
    )
    return f"{quantity.name} rises with the number of cells; at {most} cells it is {texts}"
