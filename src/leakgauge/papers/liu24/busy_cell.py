"""What attacks reach where others hide the target too: exact, for cells that people visit independently.

The cell of figure 7: a group is drawn from a population, a share of which visits the cell. The adversary
knows that share and the noise, not who is in the group.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.papers.liu24.setting import SCALE
from leakgauge.theory import cell_attacks, count_attacks, votes
from leakgauge.theory.losses import Best
from leakgauge.theory.pair_sums import best_attack
from leakgauge.theory.pairs import Pair

_RARE = 1e-18  # counts less likely than this are left out
_REACH = 60  # beyond all counts, in cells: noise as large occurs once in e^30
_FINE = 16  # outputs per count that the best attack tells apart


@dataclass(frozen=True)
class BusyCell:
    """A group of so many, drawn from so many people, of whom this share visits each of the cells."""

    group: int
    people: int
    rate: float

    @property
    def usual(self) -> float:
        """How many of the others are usually in a cell."""
        return self.group * self.rate

    @cached_property
    def law(self) -> Reals:
        """How likely 0, 1, ... of the others are in a cell."""
        law = count_attacks.count_law(self.group, self.rate, self.people)
        return law[: int(np.flatnonzero(law > _RARE)[-1]) + 1]

    @property
    def variance(self) -> float:
        """Of the count of the others in a cell."""
        return count_attacks.group_variance(self.group, self.rate * (1 - self.rate), self.people)

    @cached_property
    def vote_chances(self) -> tuple[float, float]:
        """How likely a cell votes, cut midway: without the target, and with it."""
        return count_attacks.vote_chances(self.law, noise_at_least)

    def density(self, places: Reals, *, member: bool) -> Reals:
        """The density of what is published of one cell."""
        counts = np.arange(self.law.size) + member
        return np.exp(-np.abs(places[:, None] - counts) / SCALE) / (2 * SCALE) @ self.law

    def one_threshold(self, n: int) -> float:
        """Accuracy of the sum of n cells, cut midway between its two means; no normal approximation."""
        total = _power(self.law, n)
        likely = np.flatnonzero(total > 1e-12)
        beyond: Reals = (n * self.usual + n / 2 - likely.astype(np.float64)) / SCALE
        return float(1 - _sum_errors(beyond, n) @ total[likely])

    def two_threshold(self, n: int) -> float:
        """Accuracy of the votes of n cells; the votes needed lie midway between their usual numbers."""
        alarm, hit = self.vote_chances
        return float(votes.accuracy([alarm] * n, [hit] * n))

    def optimum(self, n: int) -> Best:
        """The best attack on n cells; outputs of a sixteenth of a count are taken together."""
        return _optimum(self, n)

    @cached_property
    def pair(self) -> Pair:
        """One cell in both worlds."""
        low, high = int(np.flatnonzero(self.law > _RARE)[0]), self.law.size - 1
        inner = np.arange((low - _REACH) * _FINE, (high + _REACH + 1) * _FINE + 1) / _FINE
        edges = np.concatenate([[-np.inf], inner, [np.inf]])
        above = noise_at_least(edges - np.arange(low, high + 2)[:, None])
        given_count = above[:, :-1] - above[:, 1:]
        likely = self.law[low:]
        return Pair.of(likely @ given_count[1:], likely @ given_count[:-1])


def noise_at_least(x: Reals) -> Reals:
    """Chance that the Laplace noise of a cell is at least so large."""
    tail = np.exp(-np.abs(x) / SCALE) / 2
    return np.where(x > 0, tail, 1 - tail)


@lru_cache(maxsize=64)
def _optimum(cell: BusyCell, n: int) -> Best:
    return best_attack([(cell.pair, n)])


def _sum_errors(beyond: Reals, n: int) -> Reals:
    """The mean of both worlds' chances of error, where the counts leave so much of the cut to the noise.

    Without the target noise beyond it is an error; with it, n / scale nearer, noise that stays below.
    """
    alarms = _sum_at_least(beyond, n)
    misses = 1 - _sum_at_least(beyond - n / SCALE, n)
    return (alarms + misses) / 2


def _sum_at_least(x: Reals, n: int) -> Reals:
    tails = np.array([cell_attacks.laplace_sum_above(abs(float(each)), n) for each in x])
    return np.where(x > 0, tails, 1 - tails)


def _power(law: Reals, n: int) -> Reals:
    """The law of the sum of n independent counts."""
    size = n * (law.size - 1) + 1
    return np.maximum(np.fft.irfft(np.fft.rfft(law, size) ** n, size), 0.0)
