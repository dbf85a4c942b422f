"""Likelihood ratios as a neuron: sums over features of functions that a few ReLUs can draw."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.federated.data.dataset import Ints
from leakgauge.domains.federated.neurons.feature_distributions import FeatureDistribution, FeatureMoments
from leakgauge.domains.federated.neurons.network import CraftedNeuron

RIDGE = 1e-6  # of the mean variance: hinges side by side are almost the same function


@dataclass(frozen=True, eq=False)
class ReluScore:
    """A sum over features of functions drawn with hinges: features x hinges of weights x max(x - knot, 0)."""

    features: Ints  # which
    knots: Reals
    weights: Reals

    @property
    def clips(self) -> bool:
        """Whether every function is a value cut to what is between two knots, up to scale and constant."""
        return self.knots.size == 2 and bool((self.weights[:, 0] == -self.weights[:, 1]).all())

    def function(self, values: Reals) -> Reals:
        """Features x values: what a value adds to the score."""
        return self.weights @ np.maximum(values - self.knots[:, None], 0)

    def neuron(self, threshold: float, n_features: int) -> CraftedNeuron:
        """The neuron that is active where the score exceeds the threshold: a unit for each hinge."""
        of_unit = np.repeat(self.features, self.knots.size)
        first = np.zeros((of_unit.size, n_features), dtype=np.float32)
        first[np.arange(of_unit.size), of_unit] = 1.0
        biases = -np.tile(self.knots, self.features.size).astype(np.float32)
        return CraftedNeuron(first, biases, self.weights.ravel().astype(np.float32), -float(threshold))


@dataclass(frozen=True)
class ClippedBasis:
    """One function of a feature: the value cut to -reach .. reach, as two hinges."""

    reach: float

    def __call__(self, values: Reals) -> Reals:
        return np.clip(values, -self.reach, self.reach)[:, None]

    @property
    def knots(self) -> Reals:
        return np.array([-self.reach, self.reach])

    def on_hinges(self, weights: Reals) -> Reals:
        """Weights of hinges that draw the weighted function, up to a constant."""
        return weights * np.array([1.0, -1.0])


@dataclass(frozen=True)
class HingeBasis:
    """As many functions of a feature as there are hinges, at equal distances."""

    least: float
    most: float
    n: int

    def __call__(self, values: Reals) -> Reals:
        return np.maximum(values[:, None] - self.knots, 0)

    @property
    def knots(self) -> Reals:
        return np.linspace(self.least, self.most, self.n, endpoint=False)

    def on_hinges(self, weights: Reals) -> Reals:
        """The weights themselves."""
        return weights


def best_relu_score(
    own: FeatureDistribution, others: dict[ClippedBasis | HingeBasis, FeatureMoments], units: int
) -> ReluScore:
    """The linear discriminant (Fisher 1936) of each feature, with the functions that tell most.

    Weights are the difference of the means over the mean of the two covariances. At most ``units`` hinges:
    then the features that tell most are kept. With a hinge at every level this is, up to scale and constant,
    tanh(L / 2) with L the exact log-likelihood ratio: L itself where it is small, cut off where it is large.
    """
    found: list[tuple[float, ClippedBasis | HingeBasis, Ints, Reals]] = []
    for basis, of_others in others.items():
        apart, weights = _discriminant(own.moments(basis), of_others)
        kept = np.sort(np.argsort(-apart, kind="stable")[: max(units // basis.knots.size, 1)])
        found.append((float(apart[kept].sum()), basis, kept, weights[kept]))
    _, basis, kept, weights = max(found, key=lambda one: one[0])
    return ReluScore(kept, basis.knots, basis.on_hinges(weights))


def _discriminant(one: FeatureMoments, other: FeatureMoments) -> tuple[Reals, Reals]:
    """How far two laws are apart in each feature, and the weights that show it."""
    difference, pooled = one.means - other.means, (one.covariances + other.covariances) / 2
    n = pooled.shape[1]
    size = np.trace(pooled, axis1=1, axis2=2) / n
    ridge = RIDGE * size + max(RIDGE * float(size.mean()), np.finfo(np.float64).tiny)
    spread = pooled + ridge[:, None, None] * np.eye(n)
    weights = np.linalg.solve(spread, difference[:, :, None])[:, :, 0]
    return (weights * difference).sum(axis=1), weights
