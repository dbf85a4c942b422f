"""What an adversary who knows the law of a release expects of a cell, without the target and with it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.count_priors import CountPrior, Ints, log_masses, window

_NARROW = (
    2.0**-30
)  # cuts of outputs that vary continuously are found to this part of a count or of themselves
_FAR = 2.0**60
_KEPT = 2**12  # laws of counts that are not worked out again

Known: TypeAlias = Ints | int


class CutLaw(Protocol):
    """How large an output is, given the count behind it; arguments broadcast."""

    @property
    def whole(self) -> bool:
        """Whether outputs are whole numbers."""
        ...

    def at_least(self, cuts: Reals, counts: Ints) -> Reals:
        """Chance of an output of at least the cut."""
        ...

    def moments(self, counts: Ints) -> tuple[Reals, Reals]:
        """Mean and variance of the output."""
        ...


class Worlds(NamedTuple):
    """A fact in three cases: the target is out; is in, and in the cell; is in, and elsewhere."""

    out: Reals
    there: Reals
    away: Reals

    def member(self, weights: Reals) -> Reals:
        """The mean of both where the target is in, who is in each cell with a chance of its own."""
        return weights * self.there + (1 - weights) * self.away

    @property
    def steps(self) -> Reals:
        """What the target adds to a cell that it is in."""
        return self.there - self.away


class Moments(NamedTuple):
    """Mean and variance of outputs."""

    mean: Worlds
    variance: Worlds


class Votes(NamedTuple):
    """Where outputs are cut, and how often they reach the cut."""

    cut: Reals
    chance: Worlds


def moments(law: CutLaw, prior: CountPrior, known: Known = 0) -> Moments:
    """Mean and variance of the outputs of cells; ``known`` others are in each, perhaps round by round."""
    found = _gather(
        law, prior, known, lambda cell: np.stack([fact for pair in cell.moments() for fact in pair])
    )
    return Moments(Worlds(*found[:3]), Worlds(*found[3:]))


def votes(law: CutLaw, prior: CountPrior, fpr: float | None, known: Known = 0) -> Votes:
    """Cuts of the outputs of cells, and the chances alpha' and 1 - beta' of Liu et al. (2024) to reach them.

    A cut lies halfway between the mean outputs without the target and with it there (their algorithm 5), or
    is the smallest that is reached without the target with a chance of at most ``fpr`` (algorithm 7).
    """

    def facts(cell: "_Cell") -> Reals:
        cuts = cell.midpoints() if fpr is None else cell.cuts_at(fpr)
        return np.stack([cuts, *cell.votes(cuts)])

    found = _gather(law, prior, known, facts)
    return Votes(found[0], Worlds(*found[1:]))


def _gather(law: CutLaw, prior: CountPrior, known: Known, facts: "Callable[[_Cell], Reals]") -> Reals:
    """Facts x cells, or facts x rounds x cells; cells of the same rate and coins are worked out together."""
    rates = prior.rates if prior.n_out else np.zeros(prior.rates.shape)
    there = np.broadcast_to(known, np.broadcast_shapes(np.shape(known), rates.shape))
    different, kinds = np.unique(np.stack([rates, prior.coins]), axis=1, return_inverse=True)
    places = [np.flatnonzero(kinds.ravel() == kind) for kind in range(different.shape[1])]
    numbers = [np.unique(there[..., columns], return_inverse=True) for columns in places]
    n = (prior.n_in, prior.n_out)
    others = [[_others(size, float(rate), int(coins)) for size in n] for rate, coins in different.T]
    outputs = _Outputs.of(law, [some for both in others for some in both], there)
    found = []
    for columns, (own, which), (inside, outside) in zip(places, numbers, others, strict=True):
        rows = facts(_Cell(outputs, inside, outside, own))
        found.append(rows[:, which.reshape(*there.shape[:-1], columns.size)])
    return np.concatenate(found, axis=-1)[..., np.argsort(np.concatenate(places))]


class _Others(NamedTuple):
    """How many unknown people may be in a cell, and how likely."""

    counts: Ints
    chances: Reals


@lru_cache(_KEPT)
def _others(n: int, rate: float, coins: int) -> _Others:
    """Binomial(n, rate) + Binomial(coins, 1/2) of them."""
    counts = window(n, rate, rate, coins, 0.0, (0.0, 0.0))
    return _Others(np.asarray(counts), np.exp(log_masses(n, np.array([rate]), coins, counts)[0]))


@dataclass(frozen=True, eq=False)
class _Outputs:
    """What counts from ``first`` on are published as."""

    law: CutLaw
    first: int
    mean: Reals
    variance: Reals

    @classmethod
    def of(cls, law: CutLaw, others: list[_Others], known: Ints) -> "_Outputs":
        """Of all counts that may occur."""
        first = int(known.min() + min(some.counts[0] for some in others))
        last = int(known.max() + max(some.counts[-1] for some in others)) + 1  # and the target
        return cls(law, first, *law.moments(np.arange(first, last + 1)))


@dataclass(frozen=True, eq=False)
class _Cell:
    """A cell with each of several numbers of known people, beside the others there may be."""

    outputs: _Outputs
    inside: _Others  # if the target is a member
    outside: _Others  # if it is not
    known: Ints

    def moments(self) -> Moments:
        mean = self._average(lambda counts: self.outputs.mean[counts - self.outputs.first])
        square = self._average(lambda counts: self._squares[counts - self.outputs.first])
        variance = (np.maximum(s - m**2, 0.0) for s, m in zip(square, mean, strict=True))
        return Moments(mean, Worlds(*variance))

    def midpoints(self) -> Reals:
        mean = self._average(lambda counts: self.outputs.mean[counts - self.outputs.first])
        return np.round((mean.out + mean.there) / 2, 9)  # no dust of floats: ties stay ties

    def votes(self, cuts: Reals) -> Worlds:
        return self._average(lambda counts: self.outputs.law.at_least(cuts[:, None], counts))

    def cuts_at(self, fpr: float) -> Reals:
        """By doubling and halving."""
        high, step = np.ceil(self.midpoints()), 1.0
        while (short := self._alarms(high) > fpr).any() and step < _FAR:
            high, step = high + step * short, 2 * step
        low, step = high - 1, 1.0
        while (far := self._alarms(low) <= fpr).any() and step < _FAR:
            high, low, step = np.where(far, low, high), low - step * far, 2 * step
        whole = self.outputs.law.whole
        while (high - low > (1.0 if whole else _NARROW * np.maximum(1.0, np.abs(high)))).any():
            middle = np.floor((low + high) / 2) if whole else (low + high) / 2
            kept = self._alarms(middle) <= fpr
            low, high = np.where(kept, low, middle), np.where(kept, middle, high)
        return high

    def _alarms(self, cuts: Reals) -> Reals:
        """How often cuts are reached without the target."""
        counts = self.known[:, None] + self.outside.counts
        return self.outputs.law.at_least(cuts[:, None], counts) @ self.outside.chances

    def _average(self, of_counts: Callable[[Ints], Reals]) -> Worlds:
        """Averages over the others, for each known number."""
        without, inside = self.known[:, None] + self.outside.counts, self.known[:, None] + self.inside.counts
        return Worlds(
            of_counts(without) @ self.outside.chances,
            of_counts(inside + 1) @ self.inside.chances,
            of_counts(inside) @ self.inside.chances,
        )

    @cached_property
    def _squares(self) -> Reals:
        return self.outputs.variance + self.outputs.mean**2
