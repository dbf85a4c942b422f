"""Distributions of single features of a perturbed target, and of rows from the same source."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.game import Mechanism, Reals
from leakgauge.domains.federated.neurons.network import Floats

FunctionBasis: TypeAlias = Callable[[Reals], Reals]  # values -> values x functions
DRAWS = 2_000  # of a target, if the distribution is sampled


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
    """Rows drawn from the distribution."""

    rows: Reals

    def moments(self, basis: FunctionBasis) -> FeatureMoments:
        means, covariances = [], []
        for column in self.rows.T:
            values = basis(column)
            means.append(values.mean(axis=0))
            away = values - means[-1]
            covariances.append(away.T @ away / len(values))
        return FeatureMoments(np.array(means), np.array(covariances))


def feature_distribution(rows: Floats, mechanism: Mechanism | None, rng: Generator) -> FeatureDistribution:
    """Return the distribution of equally likely rows after perturbation; exact for tabulated noise."""
    if isinstance(mechanism, TabulatedNoise):
        return ExactFeatureDistribution(mechanism.encoding.levels, _level_probabilities(rows, mechanism))
    if mechanism is None:
        return SampledFeatureDistribution(rows.astype(np.float64))
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
