"""Noise added to counts: Laplace, Gaussian or geometric, continuous or rounded down, with the exact log probability of every distance from the count."""

from dataclasses import dataclass
from math import ceil, exp, log, log1p, pi, sqrt
from typing import Protocol

import numpy as np
from numpy.random import Generator
from scipy.special import log_ndtr

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism, Reals
from leakgauge.domains.locations.counts.release_distribution import (
    DensityShape,
    GaussianDensity,
    IntegerOutputs,
    LaplaceDensity,
)
from leakgauge.mechanisms import gaussian, geometric, laplace

_TAIL = 1e-17  # the probability that may lie beyond the reach on either side


@dataclass(frozen=True)
class NoNoise:
    """No noise at all."""

    between = IntegerOutputs()
    reach = 0

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return np.array(counts, dtype=np.float64)

    def log_at(self, distances: Reals) -> Reals:
        return np.where(distances == 0, 0.0, -np.inf)

    def log_at_most(self, distances: Reals) -> Reals:
        return np.where(distances >= 0, 0.0, -np.inf)

    def log_at_least(self, distances: Reals) -> Reals:
        return np.where(distances <= 0, 0.0, -np.inf)


@dataclass(frozen=True)
class TwoSidedGeometricNoise:
    """Whole noise x with probabilities falling by r = e^(-1 / scale) per step on both sides.

    P(x) = up (1 - r) r^x for x >= 0 and down (1 - r) r^(-1 - x) below.
    """

    scale: float
    log_up: float
    log_down: float
    between = IntegerOutputs()

    @classmethod
    def laplace(cls, scale: float) -> "TwoSidedGeometricNoise":
        """Laplace noise rounded down: up = down = 1/2; exponential variables rounded down are geometric."""
        return cls(scale, -log(2), -log(2))

    @classmethod
    def geometric(cls, scale: float) -> "TwoSidedGeometricNoise":
        """Two-sided geometric noise (Ghosh et al. 2012): up = 1 / (1 + r), down = r / (1 + r)."""
        both = log1p(exp(-1 / scale))
        return cls(scale, -both, -1 / scale - both)

    @property
    def reach(self) -> int:
        return ceil(-self.scale * log(_TAIL)) + 1

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        noise = rng.standard_exponential(counts.shape)
        noise *= self.scale
        np.floor(noise, out=noise)
        np.subtract(-1.0, noise, out=noise, where=rng.random(counts.shape) >= exp(self.log_up))
        noise += counts
        return noise

    def log_at(self, distances: Reals) -> Reals:
        upper = distances >= 0
        sides = np.where(upper, self.log_up, self.log_down)
        return (
            sides
            + np.log(-np.expm1(-1 / self.scale))
            - np.where(upper, distances, -1 - distances) / self.scale
        )

    def log_at_most(self, distances: Reals) -> Reals:
        return self._log_beyond(-1 - distances, self.log_down, self.log_up)

    def log_at_least(self, distances: Reals) -> Reals:
        return self._log_beyond(distances, self.log_up, self.log_down)

    def _log_beyond(self, steps: Reals, log_side: float, log_other: float) -> Reals:
        """Log chance of at least so many steps into a side; below zero, of not too many into the other."""
        there = log_side - np.maximum(steps, 0) / self.scale
        return np.where(steps >= 0, there, np.log1p(-np.exp(log_other + np.minimum(steps, -1) / self.scale)))


@dataclass(frozen=True)
class RoundedGaussianNoise:
    """Gaussian noise rounded down."""

    sigma: float
    between = IntegerOutputs()

    @property
    def reach(self) -> int:
        return ceil(9 * self.sigma) + 1

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        noise = rng.standard_normal(counts.shape)
        noise *= self.sigma
        np.floor(noise, out=noise)
        noise += counts
        return noise

    def log_at(self, distances: Reals) -> Reals:
        """From the smaller of both tails: Phi(end) (1 - Phi(end - 1 / sigma) / Phi(end)), end <= 0."""
        end = np.where(distances >= 0, -distances, distances + 1) / self.sigma
        upper = log_ndtr(end)
        return np.asarray(upper + np.log(-np.expm1(log_ndtr(end - 1 / self.sigma) - upper)))

    def log_at_most(self, distances: Reals) -> Reals:
        return np.asarray(log_ndtr((distances + 1) / self.sigma))

    def log_at_least(self, distances: Reals) -> Reals:
        return np.asarray(log_ndtr(-distances / self.sigma))


@dataclass(frozen=True)
class ContinuousLaplaceNoise:
    """Laplace noise that is not rounded."""

    mechanism: laplace.Mechanism
    scale: float

    @property
    def between(self) -> DensityShape:
        return LaplaceDensity(self.scale)

    @property
    def reach(self) -> int:
        return ceil(-self.scale * log(_TAIL))

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return self.mechanism.sample(counts, rng)

    def log_at(self, distances: Reals) -> Reals:
        return -np.abs(distances) / self.scale - log(2 * self.scale)

    def log_at_most(self, distances: Reals) -> Reals:
        scaled = distances / self.scale
        return np.where(scaled <= 0, scaled - log(2), np.log1p(-np.exp(-np.maximum(scaled, 0)) / 2))

    def log_at_least(self, distances: Reals) -> Reals:
        return self.log_at_most(-distances)


@dataclass(frozen=True)
class ContinuousGaussianNoise:
    """Gaussian noise that is not rounded."""

    mechanism: gaussian.Mechanism
    sigma: float

    @property
    def between(self) -> DensityShape:
        return GaussianDensity(self.sigma)

    @property
    def reach(self) -> int:
        return ceil(9 * self.sigma)

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return self.mechanism.sample(counts, rng)

    def log_at(self, distances: Reals) -> Reals:
        return -((distances / self.sigma) ** 2) / 2 - log(self.sigma * sqrt(2 * pi))

    def log_at_most(self, distances: Reals) -> Reals:
        return np.asarray(log_ndtr(distances / self.sigma))

    def log_at_least(self, distances: Reals) -> Reals:
        return self.log_at_most(-distances)


# The noise of a release chain: drawn fast, and the exact law of its distance from the count.
#
# A law tells the log of the probability (or density) that the noise is a distance, at most it, or at least it.


class CountNoise(Protocol):
    """What is added to every count. Distances are outputs minus counts."""

    @property
    def between(self) -> DensityShape:
        """How the law runs between whole distances."""
        ...

    @property
    def reach(self) -> int:
        """A distance that is exceeded with a chance below 1e-17 on either side."""
        ...

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        """Fresh noisy counts; an array of its own."""
        ...

    def log_at(self, distances: Reals) -> Reals:
        """Log probability, or density, of each distance."""
        ...

    def log_at_most(self, distances: Reals) -> Reals: ...

    def log_at_least(self, distances: Reals) -> Reals: ...


def count_noise_of(mechanism: Mechanism | None, *, rounded: bool) -> CountNoise:
    """The law of a mechanism's noise on whole counts, rounded down or not; no mechanism, no noise."""
    match mechanism:
        case None:
            return NoNoise()
        case laplace.Mechanism() if rounded:
            return TwoSidedGeometricNoise.laplace(mechanism.noise_scale)
        case laplace.Mechanism():
            return ContinuousLaplaceNoise(mechanism, mechanism.noise_scale)
        case geometric.Mechanism():
            return TwoSidedGeometricNoise.geometric(mechanism.noise_scale)
        case gaussian.Mechanism() if rounded:
            return RoundedGaussianNoise(mechanism.noise_scale)
        case gaussian.Mechanism():
            return ContinuousGaussianNoise(mechanism, mechanism.noise_scale)
        case _:
            kind = type(mechanism).__module__.rpartition(".")[2]
            raise BadInput(
                f"counts per place: no noise is called {kind!r}; use laplace, gaussian or geometric"
            )


@dataclass(frozen=True)
class NoiseAtMost:
    """The noisy count is at most a place: it was clamped from below, or suppressed."""

    noise: CountNoise
    between = IntegerOutputs()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_most(distances)


@dataclass(frozen=True)
class NoiseAtLeast:
    """The noisy count is at least a place: it was clamped from above."""

    noise: CountNoise
    between = IntegerOutputs()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_least(distances)
