"""The piecewise mechanism: a number near the true one is likelier, by two constant densities."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.mechanisms._local_reports import LossCells, NumberReports
from leakgauge.theory.privacy_loss import TernaryCell

LARGEST_SHARE = 4000.0  # epsilon of one value; beyond it no density can be computed
_ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True, kw_only=True)
class Mechanism(NumberReports):
    """Report a number whose density is e^s times larger in a short interval around the value than elsewhere.

    (Wang et al. 2019.) s is the epsilon of one value: all ``features`` of a row share epsilon equally. In
    units of ``bound``, to which values are cut, outputs lie within +-C with C = 1 / tanh(s / 4), and the
    interval has the length C - 1. The mean of a report is the value. ``log_law`` is the log density of each
    output given its value.

    >>> round(float(Mechanism(epsilon=2.0).reach), 4)
    2.164
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share > LARGEST_SHARE:
            raise BadInput(
                f"piecewise: epsilon must be at most {LARGEST_SHARE:g} for each feature, got "
                f"{self.share:g}, which hides nothing"
            )

    @property
    def reach(self) -> float:
        """The largest number that is reported."""
        return self.bound / float(np.tanh(self.share / 4))

    @property
    def exact_epsilon(self) -> float:
        """Between rows at opposite bounds in every feature."""
        return self.features * self.share

    def variance(self, values: Reals) -> Reals:
        """(v^2 + (e^(s/2) + 3) / (3 (e^(s/2) - 1))) / (e^(s/2) - 1), in units of the bound."""
        less = np.expm1(self.share / 2) if self.share < 2 * np.log(np.finfo(float).max) else np.inf
        value = self.in_unit(values)
        return np.asarray(self.bound**2 * (value**2 / less + (1 / less + 4 / less / less) / 3))

    def report(self, values: Reals, rng: Generator) -> Reals:
        start, width = self._interval(values)
        near = rng.random(start.shape) < self._chance_near
        place = rng.random(start.shape)
        # Elsewhere has the length C + 1: left of the interval, then right of it.
        far = -1 - width + place * (2 + width)
        far = np.where(far < start, far, far + width)
        return self.bound * np.where(near, start + place * width, far)

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        start, width = self._interval(values)
        seen = outputs / self.bound
        near = (seen >= start - _ROUNDING * (1 + width)) & (seen <= start + width + _ROUNDING * (1 + width))
        possible = np.abs(seen) <= (1 + width) * (1 + _ROUNDING)
        log_near = self.share / 2 + np.log(np.tanh(self.share / 4) / 2) - np.log(self.bound)
        return np.where(possible, np.where(near, log_near, log_near - self.share), -np.inf)

    def worst_cells(self) -> LossCells:
        return [(TernaryCell(self.share, self._chance_near), self.features)]

    def cells_between(self, low: Reals, high: Reals) -> LossCells:
        """Losses are not zero where the two intervals do not overlap."""
        moved = np.abs(self.in_unit(high) - self.in_unit(low))
        (_, width) = self._interval(low)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(width > 0, np.minimum(moved * (1 + width / 2) / width, 1.0), moved > 0)
        parts, counts = np.unique(apart[apart > 0], return_counts=True)
        return [
            (TernaryCell(self.share, part * self._chance_near), n)
            for part, n in zip(parts.tolist(), counts.tolist(), strict=True)
        ]

    def epsilon_of_report(self, low: Reals, high: Reals) -> float:
        changed: Bits = self.in_unit(low) != self.in_unit(high)
        return self.share * int(changed.sum())

    @property
    def _chance_near(self) -> float:
        return float(scipy.special.expit(self.share / 2))

    def _interval(self, values: Reals) -> tuple[Reals, float]:
        """The start and the length C - 1 of the interval around each value, in units of the bound."""
        width = 2 * float(np.exp(-self.share / 2) / -np.expm1(-self.share / 2))
        value = self.in_unit(values)
        return value + width / 2 * (value - 1), width
