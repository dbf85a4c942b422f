"""Laplace noise on a vector of values."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms import _count_noise as count_noise
from leakgauge.mechanisms._additive import PureNoise, largest_ratio_at_values
from leakgauge.theory.privacy_loss import LaplaceCell


@dataclass(frozen=True, kw_only=True)
class Mechanism(PureNoise):
    """Add Laplace noise to every value (Dwork et al. 2006).

    The scale is ``scale``, or else ``sensitivity / epsilon``; if both are given, epsilon is only nominal.
    ``sensitivity`` is the L1 distance that one protected unit can move the whole vector.

    >>> Mechanism(epsilon=1.0, scale=0.5).guarantee.epsilon
    2.0
    """

    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        return rng.laplace(scale=self.noise_scale, size=shape)

    def log_density(self, distances: Reals) -> Reals:
        return -np.abs(distances) / self.noise_scale - np.log(2 * self.noise_scale)

    def log_cdf(self, distances: Reals) -> Reals:
        scaled = distances / self.noise_scale
        return np.where(scaled <= 0, scaled - np.log(2), np.log1p(-np.exp(-np.maximum(scaled, 0)) / 2))

    def partial_moments(self, distances: Reals) -> tuple[Reals, Reals, Reals]:
        scale = self.noise_scale
        tail = np.exp(-np.abs(distances) / scale) / 2
        below = np.minimum(distances, 0.0)  # E (X - x)+ = E (x - X)+ - x, and likewise for squares
        chance = np.where(distances > 0, tail, 1 - tail)
        return chance, scale * tail - below, chance * 2 * scale**2 + below**2

    def loss_cell(self, shift: float) -> LaplaceCell:
        return LaplaceCell(shift / self.noise_scale)

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        return largest_ratio_at_values(self, low, high)

    @property
    def reach(self) -> float:
        return float(-self.noise_scale * np.log(count_noise.NEGLIGIBLE))

    @property
    def density(self) -> count_noise.PiecewiseExponential:
        return count_noise.PiecewiseExponential(self.noise_scale)

    def rounded(self) -> count_noise.CountNoise:
        return count_noise.TwoSidedGeometricNoise.laplace(self.noise_scale)
