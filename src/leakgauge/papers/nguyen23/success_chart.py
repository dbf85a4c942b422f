"""The charts of figures 5 and 11."""

from collections.abc import Mapping

import numpy as np

from leakgauge.domains.federated.utility import Utility
from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.nguyen23.columns import Column, Form
from leakgauge.papers.nguyen23.games import Games, Point, Series
from leakgauge.papers.nguyen23.setting import CLIPPED, LIKELIHOOD, TRAINED
from leakgauge.papers.paper import Scope
from leakgauge.papers.traces import Trace, dots, line, trace_chart

NAMES = {LIKELIHOOD: "likelihood neuron", CLIPPED: "with two hinges a feature", TRAINED: "trained neuron"}
COLOURS = {LIKELIHOOD: paint.SERIES[0], CLIPPED: paint.SERIES[4], TRAINED: paint.SERIES[1]}


def success_chart(
    series: Series,
    scope: Scope,
    column: Column,
    form: Form,
    games: Games,
    useful: Mapping[Point, Utility],
) -> Chart:
    """Games won in one column and form, and what an honest classifier makes of the same rows."""
    mine = [point for point in games if point.column is column and point.form is form]
    places = np.array([float(point.epsilon) for point in mine])
    traces: list[Trace] = []
    for label, colour in COLOURS.items():
        found = [(float(p.epsilon), measured.accuracy(games[p][label])) for p in mine if label in games[p]]
        traces.append(dots(f"success, {NAMES[label]}", found, colour))
    for rate, stroke in (("tpr", Stroke.DASHED), ("tnr", Stroke.DOTTED)):
        values = np.array([measured.reached(games[p][LIKELIHOOD], rate).value for p in mine])
        traces.append(line(f"{rate.upper()}, likelihood neuron", places, values, stroke, COLOURS[LIKELIHOOD]))
    right = np.array([useful[point].noisy for point in mine])
    clean = np.array([useful[point].clean for point in mine])
    traces += [
        line("honest classifier, right answers", places, right, Stroke.LINE, paint.SERIES[2]),
        line("the same without noise", places, clean, Stroke.DASHED, paint.SERIES[2]),
        line("guessing", places, np.full(places.size, 0.5), Stroke.DOTTED, paint.CHANCE),
    ]
    most = mine[-1]
    return trace_chart(
        f"{series.mechanism}-{column.name}-{form}".replace("_", "-"),
        traces,
        x_title="nominal ε",
        y_title="share",
        caption=f"{column.words(scope, form)}, batches of {column.batch}: games won, and right answers of "
        f"an honest classifier.",
        alternative=f"At nominal ε = {most.epsilon} the likelihood neuron wins "
        f"{measured.accuracy(games[most][LIKELIHOOD]).value:.3f} of games, and an honest classifier is right "
        f"{useful[most].noisy:.3f} of the time, {useful[most].clean:.3f} without noise.",
    )
