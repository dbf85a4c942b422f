"""Noise that varies continuously: Laplace and Gaussian, as drawn."""

from dataclasses import dataclass
from math import ceil, log, pi, sqrt

import numpy as np
from numpy.random import Generator
from scipy.special import log_ndtr

from leakgauge.core.game import Reals
from leakgauge.mechanisms import gaussian, laplace
from leakgauge.strategies.laws import Between, Exponential, Smooth

_TAIL = 1e-17  # the probability that may lie beyond the reach on either side


@dataclass(frozen=True)
class Laplace:
    """Laplace noise that is not rounded."""

    mechanism: laplace.Mechanism
    scale: float

    @property
    def between(self) -> Between:
        return Exponential(self.scale)

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
class Gaussian:
    """Gaussian noise that is not rounded."""

    mechanism: gaussian.Mechanism
    sigma: float

    @property
    def between(self) -> Between:
        return Smooth(self.sigma)

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
