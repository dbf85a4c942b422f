"""How far crafted weights differ from those of an honest server, as a client could test."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Layer, honest_layer

MAX_WEIGHTS = 50_000  # weights that are compared at most; of more, this many are drawn
DENSITY_BINS = 1_024  # for a kernel density estimate


@dataclass(frozen=True, kw_only=True)
class Stealth:
    """Comparison of a crafted layer with one that PyTorch initialises, biases included.

    ``statistic`` is the largest distance of the two distribution functions (Kolmogorov and Smirnov): 0 if
    they are equal, 1 if a single weight shows which layer it is from.
    """

    statistic: float
    p_value: float
    norm: float
    honest_norm: float
    zeros: float  # share of weights that are zero; none in an honest layer

    @property
    def times_honest(self) -> float:
        """The norm in units of the honest one."""
        return self.norm / self.honest_norm


def first_layer_stealth(crafted: CraftedNeuron, rng: Generator) -> Stealth:
    """Compare the first layer with an honest one."""
    units, features = crafted.first.shape
    return compare_weights(
        flat_weights((crafted.first, crafted.first_bias)),
        flat_weights(honest_layer(features, units, rng)),
        rng,
    )


def chosen_neuron_stealth(crafted: CraftedNeuron, rng: Generator) -> Stealth:
    """Compare the chosen neuron with an honest one."""
    return compare_weights(
        chosen_neuron_weights(crafted), flat_weights(honest_layer(crafted.units, 1, rng)), rng
    )


def chosen_neuron_weights(crafted: CraftedNeuron) -> Reals:
    """Return the weights and the bias of the chosen neuron."""
    return np.append(crafted.second.astype(np.float64), crafted.bias)


def flat_weights(layer: Layer) -> Reals:
    """Return the weights and biases of a layer as one vector."""
    return np.concatenate([part.ravel() for part in layer]).astype(np.float64)


def compare_weights(crafted: Reals, usual: Reals, rng: Generator) -> Stealth:
    """Compare crafted weights with honest ones."""
    from scipy.stats import ks_2samp

    test = ks_2samp(_subsample(crafted, rng), _subsample(usual, rng), method="asymp")
    return Stealth(
        statistic=float(test.statistic),
        p_value=float(test.pvalue),
        norm=float(np.linalg.norm(crafted)),
        honest_norm=float(np.linalg.norm(usual)),
        zeros=float(np.mean(crafted == 0)),
    )


def mean_stealth(crafted: Sequence[CraftedNeuron], rng: Generator) -> dict[str, float]:
    """Return the distances of first layer and chosen neuron, averaged over targets, by name."""
    distances = [
        (first_layer_stealth(neuron, rng).statistic, chosen_neuron_stealth(neuron, rng).statistic)
        for neuron in crafted
    ]
    first, second = np.mean(distances, axis=0).tolist()
    return {"stealth_first": first, "stealth_second": second}


@dataclass(frozen=True, eq=False)
class WeightDensities:
    """Two sets of weights on one axis: histograms (figure 14) and smooth curves (figure 8), as densities."""

    edges: Reals  # of the bins
    crafted_bars: Reals
    honest_bars: Reals
    points: Reals  # of the curves
    crafted_curve: Reals
    honest_curve: Reals


def weight_densities(crafted: Reals, usual: Reals, bins: int = 60, points: int = 241) -> WeightDensities:
    """Return histograms and kernel density estimates over the range of both."""
    least, most = (float(end) for end in (min(crafted.min(), usual.min()), max(crafted.max(), usual.max())))
    room = (most - least) / 10 or 1.0
    edges = np.linspace(least - room, most + room, bins + 1)
    places = np.linspace(least - room, most + room, points)
    bars = [np.histogram(weights, edges, density=True)[0] for weights in (crafted, usual)]
    curves = [kernel_density(weights, places) for weights in (crafted, usual)]
    return WeightDensities(edges, bars[0], bars[1], places, curves[0], curves[1])


def kernel_density(values: Reals, points: Reals) -> Reals:
    """Return the Gaussian kernel density estimate at some points, with Silverman's width (1986, eq. 3.31).

    Values are first counted in narrow bins, so that the cost does not grow with their number. If most values
    are equal the width would be 0, so it is at least the distance of two points.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    spread = min(x for x in (float(np.std(values)), float(high - low) / 1.34, np.inf) if x > 0)
    step = float(points[1] - points[0])
    width = max(0.9 * spread * values.size**-0.2 if np.isfinite(spread) else 0.0, step)
    counts, edges = np.histogram(values, DENSITY_BINS)
    away = (points[:, None] - (edges[1:] + edges[:-1]) / 2) / width
    heights = np.exp(-(away**2) / 2) @ counts
    return heights / (values.size * width * np.sqrt(2 * np.pi))


def _subsample(weights: Reals, rng: Generator) -> Reals:
    return weights if weights.size <= MAX_WEIGHTS else weights[rng.integers(weights.size, size=MAX_WEIGHTS)]
