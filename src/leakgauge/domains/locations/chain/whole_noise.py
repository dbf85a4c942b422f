"""Noise that keeps counts whole: none at all, rounded down, or geometric.

Tails are exact far below the smallest float: no two nearly equal probabilities are subtracted.
"""

from dataclasses import dataclass
from math import ceil, exp, log, log1p

import numpy as np
from numpy.random import Generator
from scipy.special import log_ndtr

from leakgauge.core.game import Reals
from leakgauge.strategies.laws import Whole

_TAIL = 1e-17  # the probability that may lie beyond the reach on either side


@dataclass(frozen=True)
class Silence:
    """No noise at all."""

    between = Whole()
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
class TwoSided:
    """Whole noise x with probabilities falling by r = e^(-1 / scale) per step on both sides.

    P(x) = up (1 - r) r^x for x >= 0 and down (1 - r) r^(-1 - x) below.
    """

    scale: float
    log_up: float
    log_down: float
    between = Whole()

    @classmethod
    def laplace(cls, scale: float) -> "TwoSided":
        """Laplace noise rounded down: up = down = 1/2; exponential variables rounded down are geometric."""
        return cls(scale, -log(2), -log(2))

    @classmethod
    def geometric(cls, scale: float) -> "TwoSided":
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
class RoundedGaussian:
    """Gaussian noise rounded down."""

    sigma: float
    between = Whole()

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
