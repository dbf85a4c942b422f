"""The charts of figures 7 and 12."""

from collections.abc import Callable, Sequence

import numpy as np

from leakgauge.domains.federated.certificate import Certificate
from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Ours
from leakgauge.papers.nguyen23.columns import Column, Form
from leakgauge.papers.nguyen23.games import Games, Series
from leakgauge.papers.nguyen23.proofs import Found, average
from leakgauge.papers.nguyen23.setting import LIKELIHOOD
from leakgauge.papers.paper import Scope
from leakgauge.papers.traces import dots, line, trace_chart

RED, BLUE = paint.SERIES[1], paint.SERIES[0]
BOUNDS: tuple[tuple[str, Callable[[Certificate], float], Stroke], ...] = (
    ("certified, Clopper and Pearson", lambda one: one.success, Stroke.LINE),
    ("certified, rows of a batch dependent", lambda one: one.success_of_any, Stroke.DASHED),
    ("certified, Hoeffding", lambda one: one.hoeffding_success, Stroke.DOTTED),
)


def panel_charts(
    series: Series, scope: Scope, panel: tuple[Column, Form], found: Found, games: Games
) -> list[Chart]:
    """Values with their bounds, and success that is certified beside success that was measured."""
    column, form = panel
    mine = [point for point in found if (point.column, point.form) == panel]
    if not mine:
        return []
    name = f"certified-{series.mechanism}-{column.name}-{form}".replace("_", "-")
    places = np.array([float(point.epsilon) for point in mine])
    values = [
        dots("at the target", [(p.epsilon, _middle([x.target for x in found[p]])) for p in mine], RED),
        dots("at other rows", [(p.epsilon, _middle([x.others for x in found[p]])) for p in mine], BLUE),
        line("zero", places, np.zeros(places.size), Stroke.DOTTED, paint.CHANCE),
    ]
    last = found[mine[-1]]
    shares = [
        line(label, places, np.array([average(found[p], of) for p in mine]), stroke, RED)
        for label, of, stroke in BOUNDS
    ]
    won = [(float(p.epsilon), measured.accuracy(games[p][LIKELIHOOD])) for p in mine]
    return [
        trace_chart(
            name,
            values,
            x_title="nominal ε",
            y_title="value of the chosen neuron",
            caption=f"{column.words(scope, form)}: mean value and bounds that hold but for δ = 1e-8, by a "
            "range known beforehand.",
            alternative=f"At ε = {mine[-1].epsilon} the mean at the target is "
            f"{_middle([x.target for x in last]).value:.2f}, at others "
            f"{_middle([x.others for x in last]).value:.2f}.",
        ),
        trace_chart(
            f"{name}-success",
            [*shares, dots("measured", won, BLUE)],
            x_title="nominal ε",
            y_title="success",
            caption=f"{column.words(scope, form)}, batches of {column.batch}: success that is certified, "
            "and success that was measured.",
            alternative=f"At ε = {mine[-1].epsilon} {average(last, lambda one: one.success):.3f} is "
            f"certified and {won[-1][1].value:.3f} was measured.",
        ),
    ]


def _middle(found: Sequence[Ours]) -> Ours:
    """The mean over targets of a mean and of its bounds."""
    value, low, high = np.mean([(one.value, one.low, one.high) for one in found], axis=0).tolist()
    return Ours(value=value, low=low, high=high)
