"""Figure 10: how the value of the chosen neuron is spread, at the target and at others."""

import numpy as np

from leakgauge.domains.federated.neurons.projections import ValueHistogram, value_histogram
from leakgauge.papers import comparison, paper
from leakgauge.papers.nguyen23.data import FACES, FeatureForm, data_note
from leakgauge.papers.nguyen23.plans import noise_table
from leakgauge.papers.nguyen23.server import setup_without_games
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import HistogramBars, density_chart
from leakgauge.report.page import Chart

EPSILONS = (1, 3, 5, 10)


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    values = {(form, epsilon): _values(scope, form, epsilon) for form in FeatureForm for epsilon in EPSILONS}
    cells = [_cell(scope, form, epsilon, one) for (form, epsilon), one in values.items()]
    first, last = EPSILONS[0], EPSILONS[-1]
    cells += [
        comparison.ComparedNumber(
            setting=f"overlap at ε = {first} minus that at ε = {last}: {FACES.description(scope, form)}",
            ours=comparison.exact_number(overlap(values[form, first]) - overlap(values[form, last])),
            why="“Less overlap” (appendix D) is said of a trained neuron.",
        )
        for form in FeatureForm
    ]
    charts = [_chart(scope, form, epsilon, one) for (form, epsilon), one in values.items()]
    return paper.ItemResult(tuple(cells), tuple(charts), (data_note(scope, (FACES,)),))


def _values(scope: paper.Scope, form: FeatureForm, epsilon: int) -> ValueHistogram:
    setup = setup_without_games(scope, FACES, form, noise_table("bitrand", epsilon))
    server, crafted = setup.craft(1)
    return value_histogram(server, crafted[0], 0, setup.rng())


def overlap(values: ValueHistogram) -> float:
    """The area that two histograms have in common: 0 if they are apart, 1 if they are the same."""
    return float(np.minimum(values.own, values.others).sum())


def _cell(
    scope: paper.Scope, form: FeatureForm, epsilon: int, values: ValueHistogram
) -> comparison.ComparedNumber:
    active = values.edges[:-1] >= -1e-12
    return comparison.ComparedNumber(
        setting=f"overlap of the values: {FACES.description(scope, form)}, ε = {epsilon}",
        ours=comparison.exact_number(overlap(values)),
        why=f"Active at {values.own[active].sum():.3f} of the target's perturbations and at "
        f"{values.others[active].sum():.4f} of other rows.",
    )


def _chart(scope: paper.Scope, form: FeatureForm, epsilon: int, values: ValueHistogram) -> Chart:
    bars = [
        HistogramBars("at the target", values.edges, values.own, chart_style.SERIES[1]),
        HistogramBars("at other rows", values.edges, values.others, chart_style.SERIES[0]),
    ]
    return density_chart(
        f"figure-10-{form}-{epsilon}".replace("_", "-"),
        bars,
        x_title="value of the chosen neuron",
        y_title="share",
        caption=f"{FACES.description(scope, form)}, BitRand at nominal ε = {epsilon}; above zero the neuron "
        "is "
        "active.",
        alternative=f"Two histograms that have {overlap(values):.1%} of their area in common.",
    )


FIGURE_10 = paper.PaperItem(
    title="Figure 10: values of the chosen neuron",
    about="The value of the likelihood neuron of one target at 4,000 perturbations of the target and at the "
    "perturbed rows of the attacker, under BitRand at nominal ε = 1, 3, 5 and 10. Above zero the neuron is "
    "active, and its gradient is not zero.",
    show=_show,
)
