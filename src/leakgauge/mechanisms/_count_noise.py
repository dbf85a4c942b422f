"""Noise on whole counts: drawn fast, with the exact log probability of every distance from the count."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, exp, log, log1p
from typing import Protocol, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals

NEGLIGIBLE = 1e-17  # the probability that may lie beyond the reach of noise, on either side
_PER_WIDTH = 5  # points per width of the function that a cubic approximates
_FINER = 4  # times the step may be halved before a density counts as rough
_INTERPOLATED = 1e-5  # the largest error of interpolation


@dataclass(frozen=True)
class IntegerOutputs:
    """All outputs are whole numbers."""


@dataclass(frozen=True)
class PiecewiseExponential:
    """Between whole numbers the density is a e^(x / scale) + b e^(-x / scale): Laplace noise on counts."""

    scale: float


@dataclass(frozen=True)
class SmoothDensity:
    """The log density is smooth: a cubic through points one ``step`` apart has an error of about 1e-5."""

    scale: float
    step: float


@dataclass(frozen=True)
class RoughDensity:
    """A density that is evaluated wherever it is needed, because it cannot be interpolated."""

    scale: float


DensityShape: TypeAlias = IntegerOutputs | PiecewiseExponential | SmoothDensity | RoughDensity


class SymmetricNoise(Protocol):
    """The distribution of noise, symmetric about zero. Distances are outputs minus values."""

    @property
    def noise_scale(self) -> float: ...

    @property
    def reach(self) -> float:
        """A distance that is exceeded with a probability below 1e-17 on either side."""
        ...

    @property
    def density(self) -> DensityShape:
        """How a continuous density may be interpolated."""
        ...

    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        """Draw the noise alone."""
        ...

    def sample(self, values: Reals, rng: Generator) -> Reals:
        """Draw outputs."""
        ...

    def log_density(self, distances: Reals) -> Reals: ...

    def log_cdf(self, distances: Reals) -> Reals:
        """Log probability of noise of at most each distance."""
        ...

    def log_sf(self, distances: Reals) -> Reals:
        """Log probability of noise above each distance."""
        ...


class CountNoise(Protocol):
    """What is added to every count. Distances are outputs minus counts."""

    @property
    def between(self) -> DensityShape:
        """What the distribution looks like between whole distances."""
        ...

    @property
    def reach(self) -> int:
        """A distance that is exceeded with a probability below 1e-17 on either side."""
        ...

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        """Return noisy counts in a new array."""
        ...

    def log_at(self, distances: Reals) -> Reals:
        """Log probability, or density, of each distance."""
        ...

    def log_at_most(self, distances: Reals) -> Reals: ...

    def log_at_least(self, distances: Reals) -> Reals: ...


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
        return ceil(-self.scale * log(NEGLIGIBLE)) + 1

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
        """Log probability of at least ``steps`` to one side; if negative, of fewer to the other."""
        there = log_side - np.maximum(steps, 0) / self.scale
        return np.where(steps >= 0, there, np.log1p(-np.exp(log_other + np.minimum(steps, -1) / self.scale)))


@dataclass(frozen=True)
class LatticeNoise:
    """Noise that takes only whole values."""

    mechanism: SymmetricNoise
    between = IntegerOutputs()

    @cached_property
    def reach(self) -> int:
        return ceil(self.mechanism.reach) + 1

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return self.mechanism.draw(counts.shape, rng) + counts

    def log_at(self, distances: Reals) -> Reals:
        return self.mechanism.log_density(distances)

    def log_at_most(self, distances: Reals) -> Reals:
        return self.mechanism.log_cdf(distances)

    def log_at_least(self, distances: Reals) -> Reals:
        return self.mechanism.log_sf(np.ceil(distances) - 1)


@dataclass(frozen=True)
class RoundedNoise:
    """Continuous noise rounded down to whole numbers."""

    mechanism: SymmetricNoise
    between = IntegerOutputs()

    @cached_property
    def reach(self) -> int:
        return ceil(self.mechanism.reach) + 1

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        noise = self.mechanism.draw(counts.shape, rng)
        np.floor(noise, out=noise)
        noise += counts
        return noise

    def log_at(self, distances: Reals) -> Reals:
        """From the smaller of both tails, to avoid cancellation far out; the noise is symmetric."""
        near = np.where(distances >= 0, distances, -1 - distances)
        upper = self.mechanism.log_sf(near)
        with np.errstate(divide="ignore", invalid="ignore"):  # beyond all numbers: -inf
            inside = upper + np.log(-np.expm1(self.mechanism.log_sf(near + 1) - upper))
        return np.where(np.isneginf(upper), -np.inf, inside)

    def log_at_most(self, distances: Reals) -> Reals:
        return self.mechanism.log_cdf(distances + 1)

    def log_at_least(self, distances: Reals) -> Reals:
        return self.mechanism.log_sf(distances)


@dataclass(frozen=True)
class UnroundedNoise:
    """Continuous noise that is published as it is."""

    mechanism: SymmetricNoise

    @cached_property
    def between(self) -> DensityShape:
        return self.mechanism.density

    @cached_property
    def reach(self) -> int:
        return ceil(self.mechanism.reach)

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return self.mechanism.sample(counts, rng)

    def log_at(self, distances: Reals) -> Reals:
        return self.mechanism.log_density(distances)

    def log_at_most(self, distances: Reals) -> Reals:
        return self.mechanism.log_cdf(distances)

    def log_at_least(self, distances: Reals) -> Reals:
        return self.mechanism.log_sf(distances)


@lru_cache(maxsize=64)
def density_shape(noise: SymmetricNoise) -> DensityShape:
    """Find a step at which a cubic follows the log density, and the step from one count to the next.

    The log density of a mixture over counts bends where the likelier count changes: as quickly as the slopes
    of the log densities one apart differ. Where even small steps are not enough, for example at kinks,
    nothing is interpolated.
    """
    scale = noise.noise_scale
    places = np.linspace(-noise.reach, noise.reach, 20_001)
    with np.errstate(invalid="ignore"):
        slopes = np.gradient(noise.log_density(places), places)
        apart = np.interp(places - 1, places, slopes) - slopes
    steepest = float(np.max(np.abs(apart[np.isfinite(apart)]), initial=0.0))
    step = min(scale, 1 / max(steepest, 1e-300)) / _PER_WIDTH
    for _ in range(_FINER + 1):
        if _cubic_error(noise, step) <= _INTERPOLATED:
            return SmoothDensity(scale, step)
        step /= 2
    return RoughDensity(scale)


def _cubic_error(noise: SymmetricNoise, step: float) -> float:
    """The largest error of a cubic through four points, half-way between the inner two."""
    middles = np.unique(np.concatenate([np.linspace(-noise.reach, noise.reach, 4_001), [0.0]]))
    points = [noise.log_density(middles + offset * step) for offset in (-1.5, -0.5, 0.5, 1.5)]
    with np.errstate(invalid="ignore"):
        read = (9 * (points[1] + points[2]) - points[0] - points[3]) / 16
        error = np.abs(read - noise.log_density(middles))
    return float(np.max(np.where(np.isnan(error), np.inf, error)))
