"""Distributions of single features of a perturbed target, and of rows from the same source.

Their likelihood ratios, approximated by sums over features of piecewise linear functions, are neurons.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.game import Mechanism
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Floats

FunctionBasis: TypeAlias = Callable[[Reals], Reals]  # values -> values x functions
DRAWS = 2_000  # of a target, if the distribution is sampled
GRID = 512  # values at which a stated density is computed
RIDGE = 1e-6  # of the mean variance, because neighbouring hinges are almost the same function


class LevelEncoding(Protocol):
    """An encoding of numbers by a few levels."""

    @property
    def levels(self) -> Reals: ...

    def places(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]: ...


@runtime_checkable
class TabulatedNoise(Protocol):
    """Noise on features with few possible outputs and a table of their probabilities."""

    @property
    def encoding(self) -> LevelEncoding: ...

    def table(self, feature: int = 0) -> Reals:
        """Return log probabilities of output levels (columns) given input levels (rows)."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Means (features x functions) and covariances (features x functions x functions)."""

    means: Reals
    covariances: Reals


class FeatureDistribution(Protocol):
    """The distribution of perturbed rows, feature by feature."""

    def moments(self, basis: FunctionBasis) -> FeatureMoments: ...


@dataclass(frozen=True, eq=False)
class ExactFeatureDistribution:
    """Probabilities of the levels of each feature."""

    levels: Reals
    probabilities: Reals  # features x levels

    def moments(self, basis: FunctionBasis) -> FeatureMoments:
        values = basis(self.levels)
        n = values.shape[1]
        means = self.probabilities @ values
        products = (values[:, :, None] * values[:, None, :]).reshape(len(values), n * n)
        seconds = (self.probabilities @ products).reshape(-1, n, n)
        return FeatureMoments(means, seconds - means[:, :, None] * means[:, None, :])


@dataclass(frozen=True, eq=False)
class SampledFeatureDistribution:
    """Rows drawn from the distribution; or rows with ``weights``, values x features, that sum to one."""

    rows: Reals
    weights: Reals | None = None

    def moments(self, basis: FunctionBasis) -> FeatureMoments:
        means, covariances = [], []
        for feature, column in enumerate(self.rows.T):
            values = basis(column)
            weights = 1 / len(values) if self.weights is None else self.weights[:, [feature]]
            means.append((weights * values).sum(axis=0))
            away = values - means[-1]
            covariances.append((weights * away).T @ away)
        return FeatureMoments(np.array(means), np.array(covariances))


@runtime_checkable
class StatedDensity(Protocol):
    """Noise whose owner states its density, value by value, or does not (``law`` is then None)."""

    @property
    def law(self) -> Callable[[Reals, Reals], object] | None: ...

    def require_fit(self, rows: Reals, rng: Generator) -> None: ...

    def sample(self, values: Reals, rng: Generator) -> Reals: ...

    def log_law(self, outputs: Reals, values: Reals) -> Reals: ...


def stated_distribution(row: Floats, noise: StatedDensity, rng: Generator) -> SampledFeatureDistribution:
    """Return the distribution of one row after perturbation, by its stated density on a grid of values.

    The grid spans the draws of each feature; where there are few different ones, it is those.
    """
    true = row.astype(np.float64)
    drawn = noise.sample(np.tile(true, (DRAWS, 1)), rng)
    grid = np.linspace(drawn.min(axis=0), drawn.max(axis=0), GRID)
    for feature, column in enumerate(drawn.T):
        if (levels := np.unique(column)).size <= GRID:
            grid[:, feature] = np.resize(levels, GRID)  # repeated: equally often, but for the last few
    law = noise.log_law(grid, np.broadcast_to(true, grid.shape))
    weights = np.exp(law - law.max(axis=0)) / _repeats(grid)
    return SampledFeatureDistribution(grid, weights / weights.sum(axis=0))


def _repeats(grid: Reals) -> Reals:
    """How often each value stands in its column."""
    counts = np.empty(grid.shape)
    for feature, column in enumerate(grid.T):
        _, place, often = np.unique(column, return_inverse=True, return_counts=True)
        counts[:, feature] = often[place]
    return counts


def feature_distribution(rows: Floats, mechanism: Mechanism | None, rng: Generator) -> FeatureDistribution:
    """Return the distribution of equally likely rows after perturbation; exact for tabulated noise."""
    if isinstance(mechanism, TabulatedNoise):
        return ExactFeatureDistribution(mechanism.encoding.levels, _level_probabilities(rows, mechanism))
    if mechanism is None:
        return SampledFeatureDistribution(rows.astype(np.float64))
    if len(rows) == 1 and isinstance(mechanism, StatedDensity) and mechanism.law is not None:
        return stated_distribution(rows, mechanism, rng)
    often = max(1, DRAWS // len(rows))
    return SampledFeatureDistribution(
        np.concatenate([mechanism.sample(rows.astype(np.float64), rng) for _ in range(often)])
    )


def _level_probabilities(rows: Floats, mechanism: TabulatedNoise) -> Reals:
    """Return features x levels of probabilities; features with the same table are computed together."""
    places, n_levels = mechanism.encoding.places(rows), mechanism.encoding.levels.size
    probabilities = np.empty((rows.shape[1], n_levels))
    tables = [mechanism.table(feature) for feature in range(rows.shape[1])]
    for logs in {id(table): table for table in tables}.values():
        same = np.array([feature for feature, table in enumerate(tables) if table is logs])
        if len(rows) == 1:
            probabilities[same] = np.exp(logs[places[0, same]])
            continue
        counts = np.stack([np.bincount(places[:, feature], minlength=n_levels) for feature in same])
        probabilities[same] = counts @ np.exp(logs) / len(rows)
    return probabilities


@dataclass(frozen=True, eq=False)
class ReluScore:
    """A sum over features and hinges of weight x max(value - knot, 0)."""

    features: Ints  # indices
    knots: Reals
    weights: Reals

    @property
    def clips(self) -> bool:
        """Whether every function clips a value to the range between two knots, up to scale and constant."""
        return self.knots.size == 2 and bool((self.weights[:, 0] == -self.weights[:, 1]).all())

    def function(self, values: Reals) -> Reals:
        """Return features x values: the contribution of each value to the score."""
        return self.weights @ np.maximum(values - self.knots[:, None], 0)

    def neuron(self, threshold: float, n_features: int) -> CraftedNeuron:
        """Return the neuron that is active if the score exceeds the threshold, with one unit per hinge."""
        of_unit = np.repeat(self.features, self.knots.size)
        first = np.zeros((of_unit.size, n_features), dtype=np.float32)
        first[np.arange(of_unit.size), of_unit] = 1.0
        biases = -np.tile(self.knots, self.features.size).astype(np.float32)
        return CraftedNeuron(first, biases, self.weights.ravel().astype(np.float32), -float(threshold))


@dataclass(frozen=True)
class ClippedBasis:
    """One function of a feature: the value clipped to -reach .. reach, as two hinges."""

    reach: float

    def __call__(self, values: Reals) -> Reals:
        return np.clip(values, -self.reach, self.reach)[:, None]

    @property
    def knots(self) -> Reals:
        return np.array([-self.reach, self.reach])

    def on_hinges(self, weights: Reals) -> Reals:
        """Return the hinge weights of the weighted function, up to a constant."""
        return weights * np.array([1.0, -1.0])


@dataclass(frozen=True)
class HingeBasis:
    """One function per hinge of a feature, with hinges at equal distances."""

    least: float
    most: float
    n: int

    def __call__(self, values: Reals) -> Reals:
        return np.maximum(values[:, None] - self.knots, 0)

    @property
    def knots(self) -> Reals:
        return np.linspace(self.least, self.most, self.n, endpoint=False)

    def on_hinges(self, weights: Reals) -> Reals:
        """Return the weights unchanged."""
        return weights


def best_relu_score(
    own: FeatureDistribution, others: dict[ClippedBasis | HingeBasis, FeatureMoments], units: int
) -> ReluScore:
    """Return the linear discriminants (Fisher 1936) of the features, with the basis that separates best.

    Weights are the difference of the means over the mean of the two covariances. If more than ``units``
    hinges are needed, the most informative features are kept. With a hinge at every level this is, up to
    scale and constant, tanh(L / 2) with L the exact log-likelihood ratio: about L / 2 if small, bounded if
    large.
    """
    candidates: list[tuple[float, ClippedBasis | HingeBasis, Ints, Reals]] = []
    for basis, of_others in others.items():
        apart, weights = _discriminant(own.moments(basis), of_others)
        kept = np.sort(np.argsort(-apart, kind="stable")[: max(units // basis.knots.size, 1)])
        candidates.append((float(apart[kept].sum()), basis, kept, weights[kept]))
    _, basis, kept, weights = max(candidates, key=lambda one: one[0])
    return ReluScore(kept, basis.knots, basis.on_hinges(weights))


def _discriminant(first: FeatureMoments, other: FeatureMoments) -> tuple[Reals, Reals]:
    """Return the separation of two distributions in each feature, and the discriminant weights."""
    difference, pooled = first.means - other.means, (first.covariances + other.covariances) / 2
    n = pooled.shape[1]
    size = np.trace(pooled, axis1=1, axis2=2) / n
    ridge = RIDGE * size + max(RIDGE * float(size.mean()), np.finfo(np.float64).tiny)
    spread = pooled + ridge[:, None, None] * np.eye(n)
    weights = np.linalg.solve(spread, difference[:, :, None])[:, :, 0]
    return (weights * difference).sum(axis=1), weights
