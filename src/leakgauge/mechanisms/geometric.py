"""Two-sided geometric noise on a vector of whole numbers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms._additive import PureNoise, largest_ratio_at_values
from leakgauge.mechanisms._count_noise import NEGLIGIBLE, CountNoise, TwoSidedGeometricNoise
from leakgauge.theory.privacy_loss import GeometricCell


@dataclass(frozen=True, kw_only=True)
class Mechanism(PureNoise):
    """Add two-sided geometric noise, P(x) falling as e^(-|x| / scale), to every count (Ghosh et al. 2012).

    The scale is ``scale``, or else ``sensitivity / epsilon``; if both are given, epsilon is only nominal.
    ``sensitivity`` is the L1 distance, a whole number, that one protected unit can move the whole vector.
    """

    lattice: ClassVar[bool] = True

    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        up, down = rng.geometric(-np.expm1(-1 / self.noise_scale), size=(2, *shape))
        return np.asarray(up - down, dtype=np.float64)

    def log_density(self, distances: Reals) -> Reals:
        level = np.log(np.tanh(0.5 / self.noise_scale))
        return np.asarray(level - np.abs(distances) / self.noise_scale)

    def log_cdf(self, distances: Reals) -> Reals:
        return TwoSidedGeometricNoise.geometric(self.noise_scale).log_at_most(np.floor(distances))

    def loss_cell(self, shift: float) -> GeometricCell:
        return GeometricCell(1 / self.noise_scale, int(shift))

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        return largest_ratio_at_values(self, low, high)

    @property
    def reach(self) -> float:
        return float(-self.noise_scale * np.log(NEGLIGIBLE))

    def rounded(self) -> CountNoise:
        return TwoSidedGeometricNoise.geometric(self.noise_scale)
