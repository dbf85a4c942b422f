"""Figure 10: how the value of the chosen neuron is spread, at the target and at others."""

import numpy as np

from leakgauge.domains.federated.picturing import ValueHistogram, value_histogram
from leakgauge.pages.charts import Bars, density_chart, paint
from leakgauge.pages.page import Chart
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.nguyen23.columns import FACES, Form, data_note
from leakgauge.papers.nguyen23.servers import without_games
from leakgauge.papers.nguyen23.setting import noise
from leakgauge.papers.nguyen23.statements import judged
from leakgauge.papers.paper import Item, Played, Scope, Shown

EPSILONS = (1, 3, 5, 10)
APART = "At both the two hardly overlap: there is nothing left to fall."


def _show(played: Played) -> Shown:
    scope = played.scope
    found = {(form, epsilon): _values(scope, form, epsilon) for form in Form for epsilon in EPSILONS}
    cells = [_cell(scope, form, epsilon, one) for (form, epsilon), one in found.items()]
    first, last = EPSILONS[0], EPSILONS[-1]
    cells += [
        judged(
            f"overlap at ε = {first} less that at ε = {last}: {FACES.words(scope, form)}",
            exactly(overlap(found[form, first]) - overlap(found[form, last])),
            Published(value=0.0, where="“less overlap”, appendix D", says=Says.ABOVE),
            APART,
        )
        for form in Form
    ]
    charts = [_chart(scope, form, epsilon, one) for (form, epsilon), one in found.items()]
    return Shown(tuple(cells), tuple(charts), (data_note(scope, (FACES,)),))


def _values(scope: Scope, form: Form, epsilon: int) -> ValueHistogram:
    staged = without_games(scope, FACES, form, noise("bitrand", epsilon))
    server, crafted = staged.craft(1)
    return value_histogram(server, crafted[0], 0, staged.rng())


def overlap(values: ValueHistogram) -> float:
    """The area that two histograms have in common: 0 if they are apart, 1 if they are the same."""
    return float(np.minimum(values.own, values.others).sum())


def _cell(scope: Scope, form: Form, epsilon: int, values: ValueHistogram) -> Cell:
    active = values.edges[:-1] >= -1e-12
    return Cell(
        setting=f"overlap of the values: {FACES.words(scope, form)}, ε = {epsilon}",
        ours=exactly(overlap(values)),
        why=f"Active at {values.own[active].sum():.3f} of the target's perturbations and at "
        f"{values.others[active].sum():.4f} of other rows.",
    )


def _chart(scope: Scope, form: Form, epsilon: int, values: ValueHistogram) -> Chart:
    bars = [
        Bars("at the target", values.edges, values.own, paint.SERIES[1]),
        Bars("at other rows", values.edges, values.others, paint.SERIES[0]),
    ]
    return density_chart(
        f"figure-10-{form}-{epsilon}".replace("_", "-"),
        bars,
        x_title="value of the chosen neuron",
        y_title="share",
        caption=f"{FACES.words(scope, form)}, BitRand at nominal ε = {epsilon}; above zero the neuron is "
        "active.",
        alternative=f"Two histograms that have {overlap(values):.1%} of their area in common.",
    )


FIGURE_10 = Item(
    title="Figure 10: values of the chosen neuron",
    about="The value of the likelihood neuron of one target at 4,000 perturbations of the target and at the "
    "perturbed rows of the adversary, under BitRand at nominal ε = 1, 3, 5 and 10. Above zero the neuron is "
    "active, and its gradient is not zero.",
    show=_show,
)
