"""The places at which a table of ratios is worked out, and between which it can be read."""

from dataclasses import dataclass
from math import floor

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.laws import Between, Exponential, Smooth, Whole

_PER_SIGMA = 5  # columns per standard deviation
_EDGE = 1e-6  # so far before the last column reading ends


@dataclass(frozen=True)
class Columns:
    """Evenly spaced places, and how ratios run between them."""

    first: float
    step: float
    n: int
    between: Between

    @classmethod
    def over(cls, low: float, high: float, between: Between) -> "Columns":
        """The columns from which every place between two ends can be read."""
        match between:
            case Whole():
                return cls(low, 1.0, int(high - low) + 1, between)
            case Exponential():
                return cls(float(floor(low)), 1.0, floor(high) - floor(low) + 2, between)
            case Smooth(sigma):
                step = min(sigma, sigma**2) / _PER_SIGMA
                return cls(low - 2 * step, step, floor((high - low) / step) + 7, between)

    @property
    def places(self) -> Reals:
        return np.asarray(self.first + self.step * np.arange(self.n, dtype=np.float64))

    @property
    def ends(self) -> tuple[float, float]:
        return self.first, self.first + self.step * (self.n - 1)

    @property
    def readable(self) -> tuple[float, float]:
        """The places that can be read."""
        first, last = self.ends
        match self.between:
            case Whole():
                return first, last
            case Exponential():
                return first, last - _EDGE
            case Smooth():
                return first + 1.5 * self.step, last - 2.5 * self.step

    def part(self, first: int, last: int) -> "Columns":
        """The columns from ``first`` to ``last``, both included."""
        return Columns(self.first + first * self.step, self.step, last - first + 1, self.between)
