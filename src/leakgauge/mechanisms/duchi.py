"""One bit for the mean: each number becomes one of two numbers, at random (Duchi, Jordan and Wainwright)."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms._local_reports import LossCells, NumberReports
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.privacy_loss import ResponseCell


@dataclass(frozen=True, kw_only=True)
class Mechanism(NumberReports):
    """Report +-``bound`` / tanh(s / 2) with a mean of the value (Duchi, Jordan and Wainwright 2018).

    s is the epsilon of one value: all ``features`` of a row share epsilon equally. Values are cut to
    +-``bound``. ``log_law`` is the log probability of each output given its value.

    >>> Mechanism(epsilon=2.0, features=2).guarantee.epsilon
    2.0
    """

    @property
    def output(self) -> float:
        """The larger of the two numbers that are reported."""
        return self.bound / float(np.tanh(self.share / 2))

    @property
    def exact_epsilon(self) -> float:
        """Between rows at opposite bounds in every feature."""
        return self.features * self.share

    def variance(self, values: Reals) -> Reals:
        return self.output**2 - (self.bound * self.in_unit(values)) ** 2

    def report(self, values: Reals, rng: Generator) -> Reals:
        up = rng.random(np.shape(values)) < self._chance_up(values)
        return np.where(up, self.output, -self.output)

    def report_log_law(self, outputs: Reals, values: Reals) -> Reals:
        up, down = self._chance_up(values), self._chance_up(-values)
        with np.errstate(divide="ignore"):
            law = np.log(np.where(outputs > 0, up, down))
        return np.where(np.isclose(np.abs(outputs), self.output, rtol=1e-12, atol=0), law, -np.inf)

    def worst_cells(self) -> LossCells:
        return [(ResponseCell(self.share), self.features)]

    def cells_between(self, low: Reals, high: Reals) -> LossCells:
        pairs, counts = self._changed(low, high)
        return [(self._cell(*pair), int(n)) for pair, n in zip(pairs.tolist(), counts.tolist(), strict=True)]

    def epsilon_of_report(self, low: Reals, high: Reals) -> float:
        up, down = (
            np.log(self._chance_up(sign * high)) - np.log(self._chance_up(sign * low)) for sign in (1, -1)
        )
        return float(np.maximum(np.abs(up), np.abs(down)).sum())

    def _cell(self, low: float, high: float) -> DistributionPair | ResponseCell:
        if abs(low) == abs(high) == 1:
            return ResponseCell(self.share)
        members, others = (
            [float(self._chance_up(sign * self.bound * np.array(value))) for sign in (1, -1)]
            for value in (high, low)
        )
        return DistributionPair.of(members, others)

    def _changed(self, low: Reals, high: Reals) -> tuple[Reals, "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
        """Pairs of different values, in units of the bound, and how many of each there are."""
        both = np.stack(np.broadcast_arrays(self.in_unit(low), self.in_unit(high)), axis=-1).reshape(-1, 2)
        pairs, counts = np.unique(both[both[:, 0] != both[:, 1]], axis=0, return_counts=True)
        return pairs, counts

    def _chance_up(self, values: Reals) -> Reals:
        """Between the chances of the two bounds, which are exact however large epsilon is."""
        place = (1 + self.in_unit(values)) / 2
        return np.asarray(
            place * scipy.special.expit(self.share) + (1 - place) * scipy.special.expit(-self.share)
        )
