"""Figures 8 and 14: crafted weights beside honest ones."""

from dataclasses import dataclass
from functools import cache

from leakgauge.core.arrays import Reals
from leakgauge.domains.federated.attacks.trained_neuron import Attack
from leakgauge.domains.federated.neurons import network, neuron_training, stealth
from leakgauge.papers import paper
from leakgauge.papers.comparison import ComparedNumber, exact_number
from leakgauge.papers.nguyen23.data import FACES, FeatureForm, data_note
from leakgauge.papers.nguyen23.plans import LIKELIHOOD, NEURONS, TRAINED, noise_table
from leakgauge.papers.nguyen23.server import setup_without_games
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import DensityCurve, HistogramBars, density_chart
from leakgauge.report.page import Chart, Stroke

EPSILONS = (2, 3, 5)
NAMES = {TRAINED: "trained neuron", LIKELIHOOD: "likelihood neuron"}
SMALL_CHANGE = (
    "Training changed the weights only a little; this is not visible, but a test of 50,000 weights detects "
    "it."
)
LARGER = "The few weights of the chosen neuron itself grow in training, and are scaled."
NO_DISGUISE = (
    "Built without training, these weights are conspicuous: each unit uses one feature, and all its other "
    "weights are zero."
)


@dataclass(frozen=True, eq=False)
class CraftedWeights:
    """The crafted weights for one target, and how they differ from honest ones."""

    first: Reals
    honest: Reals
    of_first: stealth.Stealth
    of_second: stealth.Stealth


@cache
def _weights(scope: paper.Scope, label: str, epsilon: int) -> CraftedWeights:
    setup = setup_without_games(scope, FACES, FeatureForm.NON_NEGATIVE, noise_table("bitrand", epsilon))
    rng = setup.rng()
    if label == LIKELIHOOD:
        crafted: network.CraftedNeuron = setup.craft(1)[1][0]
    else:
        options = Attack(neurons=NEURONS).options(noisy=True)
        crafted = neuron_training.NeuronTrainer.of(setup.server, options, rng)(
            (0, int(rng.integers(2**63)))
        ).neuron
    units, features = crafted.first.shape
    return CraftedWeights(
        stealth.flat_weights((crafted.first, crafted.first_bias)),
        stealth.flat_weights(network.honest_layer(features, units, rng)),
        stealth.first_layer_stealth(crafted, rng),
        stealth.chosen_neuron_stealth(crafted, rng),
    )


def _densities(scope: paper.Scope, epsilon: int) -> stealth.WeightDensities:
    weights = _weights(scope, TRAINED, epsilon)
    return stealth.weight_densities(weights.first, weights.honest)


def _figure_8(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    cells = [
        _cell(scope, label, epsilon, layer) for label in NAMES for epsilon in EPSILONS for layer in (1, 2)
    ]
    densities = {epsilon: _densities(scope, epsilon) for epsilon in EPSILONS}
    curves = [
        DensityCurve(f"trained at ε = {epsilon}", one.points, one.crafted_curve, Stroke.LINE, colour)
        for (epsilon, one), colour in zip(densities.items(), chart_style.SERIES[1:], strict=False)
    ]
    usual = densities[EPSILONS[0]]
    curves.append(
        DensityCurve("honest", usual.points, usual.honest_curve, Stroke.DASHED, chart_style.SERIES[0])
    )
    chart = density_chart(
        "figure-8",
        [],
        curves,
        x_title="weight of the first layer",
        y_title="density",
        caption="Kernel density estimates of crafted and honest weights of the first layer.",
        alternative="Flat densities between minus and plus one over the root of the features, which nearly "
        "coincide.",
    )
    return paper.ItemResult(tuple(cells), (chart,), (data_note(scope, (FACES,)),))


def _cell(scope: paper.Scope, label: str, epsilon: int, layer: int) -> ComparedNumber:
    weights = _weights(scope, label, epsilon)
    comparison = weights.of_first if layer == 1 else weights.of_second
    part = "first layer" if layer == 1 else "chosen neuron"
    why = NO_DISGUISE if label == LIKELIHOOD else SMALL_CHANGE if layer == 1 else LARGER
    return ComparedNumber(
        setting=f"p-value of crafted against honest weights, {NAMES[label]}, {part}, ε = {epsilon}",
        ours=exact_number(comparison.p_value),
        drawn=label == TRAINED,  # “indistinguishable”, section 7, without a test
        why=f"{why} Largest distance of the distribution functions (Kolmogorov and Smirnov): "
        f"{comparison.statistic:.3f}; norm {comparison.times_honest:.2f} times the honest; "
        f"{comparison.zeros:.1%} zeros.",
    )


def _figure_14(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    charts = [_histogram(scope, epsilon) for epsilon in EPSILONS]
    cells = [
        ComparedNumber(
            setting=f"distance of the distribution functions, trained neuron, first layer, ε = {epsilon}",
            ours=exact_number(_weights(scope, TRAINED, epsilon).of_first.statistic),
            why="“Largely resemble one another” (section 7): this is as much as a histogram can show.",
        )
        for epsilon in EPSILONS
    ]
    return paper.ItemResult(tuple(cells), tuple(charts), (data_note(scope, (FACES,)),))


def _histogram(scope: paper.Scope, epsilon: int) -> Chart:
    densities = _densities(scope, epsilon)
    return density_chart(
        f"figure-14-{epsilon}",
        [
            HistogramBars("crafted", densities.edges, densities.crafted_bars, chart_style.SERIES[1]),
            HistogramBars("honest", densities.edges, densities.honest_bars, chart_style.SERIES[0]),
        ],
        [
            DensityCurve(
                "crafted, smooth",
                densities.points,
                densities.crafted_curve,
                Stroke.LINE,
                chart_style.SERIES[1],
            )
        ],
        x_title="weight of the first layer",
        y_title="density",
        caption=f"Trained under BitRand at nominal ε = {epsilon}.",
        alternative="Two histograms that nearly cover one another.",
    )


FIGURE_8 = paper.PaperItem(
    title="Figure 8: densities of crafted and honest weights",
    about="The first layer that was trained for one target under BitRand at nominal ε = 2, 3 and 5, beside "
    "one as PyTorch initialises it, by kernel density estimates; and a test of Kolmogorov and Smirnov, "
    "which a client could run. The likelihood neuron needs no training, but its weights are conspicuous.",
    show=_figure_8,
)
FIGURE_14 = paper.PaperItem(
    title="Figure 14: histograms of crafted and honest weights",
    about="The same as histograms.",
    show=_figure_14,
)
