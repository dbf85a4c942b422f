"""Privacy losses of cells of any kind on lattices: characteristic functions and epsilon at a delta."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from leakgauge.core.arrays import Reals
from leakgauge.theory.characteristic_functions import Waves
from leakgauge.theory.privacy_loss import NoisyCell

POINTS = 4096  # of a lattice above zero: losses are off by at most 1 / 2048 of the largest one
ORDERS = 1 + np.geomspace(0.02, 1000.0, 48)  # of the Renyi divergences by which answers are composed
_RARE = 1e-9  # members with a larger loss than this share are left out of the range of a sum
PART, _PARTS = 64, POINTS // 64 + 1  # losses whose waves are computed together, and how many such parts
_NUMBERS = 2**21  # in memory at once
_ROWS = 2**14  # sums at once
_TAIL = 1e-17  # probability beyond the last loss of a table


@dataclass(frozen=True, eq=False)
class LossTables:
    """Kinds of cells, a row each: the probabilities, for a member, of the losses 0, step, 2 step, ...

    Losses below zero follow: P(-l) = e^-l P(l). No table reveals less than its cell.
    """

    cells: tuple[NoisyCell, ...]
    steps: Reals
    above: Reals

    @classmethod
    def of(cls, cells: Sequence[NoisyCell]) -> "LossTables":
        """Tabulate cells; those with a largest loss of about the same size share a step."""
        steps, above = np.empty(len(cells)), np.zeros((len(cells), PART * _PARTS))
        for row, cell in enumerate(cells):
            steps[row] = np.exp2(np.ceil(np.log2(cell.largest))) / POINTS
            law = cell.pessimistic_lattice(float(steps[row]))
            above[row, : law.size] = law
        return cls(tuple(cells), steps, above)

    def only(self, kinds: Sequence[int]) -> "LossTables":
        """Some of the kinds."""
        return LossTables(tuple(self.cells[i] for i in kinds), self.steps[kinds], self.above[kinds])

    @property
    def largest(self) -> Reals:
        """The largest loss of each kind that is not rare: 1e-9 of all members have a larger one."""
        tails = np.cumsum(self.above[:, ::-1], axis=1)[:, ::-1]
        return self.steps * np.maximum(np.count_nonzero(tails >= _RARE, axis=1) - 1, 1)

    @property
    def mean(self) -> Reals:
        """The mean of a member's loss."""
        return np.asarray(((self.above - self._below) * self._losses).sum(axis=1))

    @property
    def variance(self) -> Reals:
        """The variance of a member's loss."""
        squares = ((self.above + self._below) * self._losses**2).sum(axis=1)
        return np.asarray(np.maximum(squares - self.mean**2, 0.0))

    def waves(self, frequencies: Reals) -> Waves:
        """Characteristic functions of a member's loss: kinds x frequencies.

        A loss is (PART i + j) steps, and its wave the product of that of PART i steps and that of j steps.
        """
        values = np.empty((len(self.cells), frequencies.size), dtype=np.complex128)
        below, size = self._below, max(1, _NUMBERS // (_PARTS * frequencies.size))
        for step in np.unique(self.steps).tolist():
            near = np.exp(1j * step * np.multiply.outer(np.arange(PART), frequencies))
            far = np.exp(1j * step * PART * np.multiply.outer(np.arange(_PARTS), frequencies))
            rows = np.flatnonzero(self.steps == step)
            for first in range(0, rows.size, size):
                some = rows[first : first + size]
                values[some] = _summed(self.above[some], near, far)
                values[some] += np.conj(_summed(below[some], near, far))
        return values

    def epsilons(self, counts: csr_array, mu_squared: Reals, delta: float) -> Reals:
        """An epsilon that holds at a delta for each row of counts of cells, with Gaussian noise besides."""
        return renyi_epsilons(self.log_moments, counts, mu_squared, delta, self.tails)

    @property
    def tails(self) -> Reals:
        """The probability that may lie beyond the last loss of each table."""
        return np.full(len(self.cells), _TAIL)

    @cached_property
    def log_moments(self) -> Reals:
        """The log of the mean of e^((order - 1) loss) for a member: kinds x orders."""
        with np.errstate(divide="ignore"):
            up, down = np.log(self.above), np.log(self._below)
        logs = np.empty((len(self.cells), ORDERS.size))
        for place, order in enumerate(ORDERS.tolist()):
            rise = (order - 1) * self._losses
            logs[:, place] = logsumexp(np.hstack([up + rise, down - rise]), axis=1)
        return np.maximum(logs, 0.0)

    @property
    def _losses(self) -> Reals:
        return self.steps[:, None] * np.arange(self.above.shape[1])

    @property
    def _below(self) -> Reals:
        below = self.above * np.exp(-self._losses)
        below[:, 0] = 0.0
        return below


def renyi_epsilons(
    log_moments: Reals, counts: csr_array, mu_squared: Reals, delta: float, tails: Reals
) -> Reals:
    """An epsilon that holds at a delta for each row of counts of kinds, with Gaussian noise besides.

    Renyi divergences add up (Mironov 2017). At every order a they give a sound epsilon, that of Canonne,
    Kamath and Steinke (2020, proposition 12), and the least of them is returned. ``log_moments`` are kinds x
    orders; ``tails`` is the probability that each kind adds to delta.
    """
    paid = (ORDERS - 1) * np.log1p(-1 / ORDERS) - np.log(ORDERS)
    numbers = np.diff(counts.indptr)
    beyond = np.zeros(counts.shape[0]) if not tails.any() else counts.astype(np.float64) @ tails
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(delta > beyond, np.log(delta - beyond), -np.inf)
    least = np.zeros(numbers.size)
    for first in range(0, numbers.size, _ROWS):
        some = slice(first, first + _ROWS)
        total = counts[some].astype(np.float64) @ log_moments
        total += np.multiply.outer(mu_squared[some] / 2, ORDERS * (ORDERS - 1))
        least[some] = np.min((total - left[some, None] + paid) / (ORDERS - 1), axis=1)
    return np.where((numbers > 0) | (mu_squared > 0), np.maximum(least, 0.0), 0.0)


def _summed(probabilities: Reals, near: Waves, far: Waves) -> Waves:
    """Sum probabilities times waves: kinds x frequencies."""
    parts = probabilities.reshape(-1, PART)
    inner = (parts @ near.real + 1j * (parts @ near.imag)).reshape(len(probabilities), *far.shape)
    return np.asarray((inner * far).sum(axis=1))
