"""The charts of figure 13."""

from collections.abc import Mapping

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.nguyen23.averaging import WANTED
from leakgauge.papers.nguyen23.gradient_shares import CHOSEN, DELTAS, EPSILONS, needed
from leakgauge.papers.traces import line, trace_chart


def by_delta(found: Mapping[int, Reals]) -> Chart:
    """One chosen neuron, for several delta."""
    places = np.array(EPSILONS)
    middle = {delta: _line(found[1], delta) for delta in DELTAS}
    return trace_chart(
        "figure-13-delta",
        [
            line(f"δ = {delta:g}", places, middle[delta], Stroke.LINE, colour)
            for delta, colour in zip(DELTAS, paint.SERIES, strict=False)
        ],
        x_title="ε of one iteration",
        y_title="iterations",
        caption=f"Iterations until {WANTED} of games about the median target are won; one chosen neuron.",
        alternative=f"At δ = 0.01 they fall from {middle[0.01][0]:.0f} to {middle[0.01][-1]:.0f}.",
    )


def by_neurons(found: Mapping[int, Reals]) -> Chart:
    """Several chosen neurons, beside what dividing by their number would give."""
    places = np.array(EPSILONS)
    middle = {chosen: _line(found[chosen], DELTAS[0]) for chosen in CHOSEN}
    return trace_chart(
        "figure-13-neurons",
        [
            trace
            for chosen, colour in zip(CHOSEN, paint.SERIES, strict=False)
            for trace in (
                line(f"{chosen} chosen", places, middle[chosen], Stroke.LINE, colour),
                line(f"1 chosen, over {chosen}", places, middle[1] / chosen, Stroke.DOTTED, colour),
            )
            if chosen > 1 or trace.stroke is Stroke.LINE
        ],
        x_title="ε of one iteration",
        y_title="iterations",
        caption="The same with copies of the chosen neuron, δ = 0.01; dotted, what dividing would give.",
        alternative=f"At ε = 10 they are {', '.join(f'{middle[k][-1]:.0f} with {k}' for k in CHOSEN)}.",
    )


def _line(shares: Reals, delta: float) -> Reals:
    return np.array([float(needed(shares, epsilon, delta)[0]) for epsilon in EPSILONS])
