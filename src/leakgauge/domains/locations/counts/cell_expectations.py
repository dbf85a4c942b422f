"""Expected outputs of a cell without the target and with it, from the noise distribution."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.domains.locations.counts.count_priors import CountPrior, Ints, count_window, log_masses

_CUT_PRECISION = 2.0**-30  # of cuts of continuous outputs, absolute or relative
_MAX_STEP = 2.0**60
_CACHE_SIZE = 2**12  # distributions of counts kept in memory
_STEP = 0.02  # of the log of a rate
_MIN_EXPECTED = 1e-4  # least expected number of people in a cell; smaller rates are treated like this one

KnownCounts: TypeAlias = Ints | int


class TailDistribution(Protocol):
    """Tail probabilities and moments of an output, given the true count; arguments broadcast."""

    @property
    def whole(self) -> bool:
        """Whether outputs are whole numbers."""
        ...

    def at_least(self, cuts: Reals, counts: Ints) -> Reals:
        """Return the probability of an output of at least the cut."""
        ...

    def moments(self, counts: Ints) -> tuple[Reals, Reals]:
        """Return mean and variance of the output."""
        ...


class TargetCases(NamedTuple):
    """A value in three cases: target not a member; member and in the cell; member and elsewhere."""

    out: Reals
    there: Reals
    away: Reals

    def member(self, weights: Reals) -> Reals:
        """Return the mean for a member who is in each cell with probability ``weights``."""
        return weights * self.there + (1 - weights) * self.away

    @property
    def steps(self) -> Reals:
        """The change if the target, a member, is in the cell."""
        return self.there - self.away


class CellMoments(NamedTuple):
    """Mean and variance of outputs."""

    mean: TargetCases
    variance: TargetCases


class CellVotes(NamedTuple):
    """The cuts of outputs, and the probability to reach them."""

    cut: Reals
    chance: TargetCases


def cell_moments(law: TailDistribution, prior: CountPrior, known: KnownCounts = 0) -> CellMoments:
    """Return mean and variance of the outputs of cells with ``known`` others, by cell or rounds x cells."""
    moments = _by_cell_kind(
        law, prior, known, lambda cell: np.stack([fact for pair in cell.moments() for fact in pair])
    )
    return CellMoments(TargetCases(*moments[:3]), TargetCases(*moments[3:]))


def cell_votes(
    law: TailDistribution, prior: CountPrior, fpr: float | None, known: KnownCounts = 0
) -> CellVotes:
    """Return cuts of cells, and the probabilities alpha' and 1 - beta' of Liu et al. (2024) to reach them.

    A cut is the midpoint of the mean outputs without the target and with it in the cell (their algorithm 5),
    or the smallest value reached without the target with probability at most ``fpr`` (algorithm 7).
    """

    def facts(cell: "_CellCases") -> Reals:
        cuts = cell.midpoints() if fpr is None else cell.cuts_at(fpr)
        return np.stack([cuts, *cell.votes(cuts)])

    votes = _by_cell_kind(law, prior, known, facts)
    return CellVotes(votes[0], TargetCases(*votes[1:]))


def _by_cell_kind(
    law: TailDistribution, prior: CountPrior, known: KnownCounts, facts: "Callable[[_CellCases], Reals]"
) -> Reals:
    """Return facts x cells or facts x rounds x cells; equal rates and coins are computed once."""
    rates = prior.rates if prior.n_out else np.zeros(prior.rates.shape)
    there = np.broadcast_to(known, np.broadcast_shapes(np.shape(known), rates.shape))
    distinct, kinds = np.unique(np.stack([rates, prior.coins]), axis=1, return_inverse=True)
    places = [np.flatnonzero(kinds.ravel() == kind) for kind in range(distinct.shape[1])]
    numbers = [np.unique(there[..., columns], return_inverse=True) for columns in places]
    n = (prior.n_in, prior.n_out)
    others = [[_other_counts(size, float(rate), int(coins)) for size in n] for rate, coins in distinct.T]
    outputs = _OutputMoments.of(law, [some for both in others for some in both], there)
    computed = []
    for columns, (own, which), (inside, outside) in zip(places, numbers, others, strict=True):
        rows = facts(_CellCases(outputs, inside, outside, own))
        computed.append(rows[:, which.reshape(*there.shape[:-1], columns.size)])
    return np.concatenate(computed, axis=-1)[..., np.argsort(np.concatenate(places))]


class _OtherCounts(NamedTuple):
    """The possible numbers of unknown people in a cell, and their probabilities."""

    counts: Ints
    chances: Reals


@lru_cache(_CACHE_SIZE)
def _other_counts(n: int, rate: float, coins: int) -> _OtherCounts:
    """Return the distribution Binomial(n, rate) + Binomial(coins, 1/2)."""
    counts = count_window(n, rate, rate, coins, 0.0, (0.0, 0.0))
    return _OtherCounts(np.asarray(counts), np.exp(log_masses(n, np.array([rate]), coins, counts)[0]))


@dataclass(frozen=True, eq=False)
class _OutputMoments:
    """Mean and variance of the outputs of counts from ``first`` on."""

    law: TailDistribution
    first: int
    mean: Reals
    variance: Reals

    @classmethod
    def of(cls, law: TailDistribution, others: list[_OtherCounts], known: Ints) -> "_OutputMoments":
        """Compute them for all counts that can occur."""
        first = int(known.min() + min(some.counts[0] for some in others))
        last = int(known.max() + max(some.counts[-1] for some in others)) + 1  # and the target
        return cls(law, first, *law.moments(np.arange(first, last + 1)))


@dataclass(frozen=True, eq=False)
class _CellCases:
    """A cell with each of several numbers of known people, and the distributions of the others."""

    outputs: _OutputMoments
    inside: _OtherCounts  # if the target is a member
    outside: _OtherCounts  # if it is not
    known: Ints

    def moments(self) -> CellMoments:
        mean = self._average(lambda counts: self.outputs.mean[counts - self.outputs.first])
        square = self._average(lambda counts: self._squares[counts - self.outputs.first])
        variance = (np.maximum(s - m**2, 0.0) for s, m in zip(square, mean, strict=True))
        return CellMoments(mean, TargetCases(*variance))

    def midpoints(self) -> Reals:
        mean = self._average(lambda counts: self.outputs.mean[counts - self.outputs.first])
        return np.round((mean.out + mean.there) / 2, 9)  # removes rounding errors, so that ties stay ties

    def votes(self, cuts: Reals) -> TargetCases:
        return self._average(lambda counts: self.outputs.law.at_least(cuts[:, None], counts))

    def cuts_at(self, fpr: float) -> Reals:
        """Find the cuts by doubling and bisection."""
        high, step = np.ceil(self.midpoints()), 1.0
        while (short := self._alarms(high) > fpr).any() and step < _MAX_STEP:
            high, step = high + step * short, 2 * step
        low, step = high - 1, 1.0
        while (far := self._alarms(low) <= fpr).any() and step < _MAX_STEP:
            high, low, step = np.where(far, low, high), low - step * far, 2 * step
        whole = self.outputs.law.whole
        while (high - low > (1.0 if whole else _CUT_PRECISION * np.maximum(1.0, np.abs(high)))).any():
            middle = np.floor((low + high) / 2) if whole else (low + high) / 2
            kept = self._alarms(middle) <= fpr
            low, high = np.where(kept, low, middle), np.where(kept, middle, high)
        return high

    def _alarms(self, cuts: Reals) -> Reals:
        """Return the probability to reach the cuts without the target."""
        counts = self.known[:, None] + self.outside.counts
        return self.outputs.law.at_least(cuts[:, None], counts) @ self.outside.chances

    def _average(self, of_counts: Callable[[Ints], Reals]) -> TargetCases:
        """Average over the others, for each number of known people."""
        without, inside = self.known[:, None] + self.outside.counts, self.known[:, None] + self.inside.counts
        return TargetCases(
            of_counts(without) @ self.outside.chances,
            of_counts(inside + 1) @ self.inside.chances,
            of_counts(inside) @ self.inside.chances,
        )

    @cached_property
    def _squares(self) -> Reals:
        return self.outputs.variance + self.outputs.mean**2


@dataclass(frozen=True, eq=False)
class RateCurves:
    """Values by number of coins, tabulated over rates up to 1 that are evenly spaced on a log scale."""

    rows: Mapping[int, Reals]

    @classmethod
    def of_moments(cls, law: TailDistribution, n_in: int, n_out: int, coins: Ints) -> "RateCurves":
        """Tabulate mean and variance of cells for each of these numbers of coins."""
        priors = _priors(n_in, n_out, coins)
        moments = {some: cell_moments(law, prior) for some, prior in priors.items()}
        return cls({some: np.stack([*fact.mean, *fact.variance]) for some, fact in moments.items()})

    @classmethod
    def of_votes(
        cls, law: TailDistribution, n_in: int, n_out: int, coins: Ints, fpr: float | None
    ) -> "RateCurves":
        """Tabulate cuts and vote probabilities of cells for each of these numbers of coins."""
        priors = _priors(n_in, n_out, coins)
        votes = {some: cell_votes(law, prior, fpr) for some, prior in priors.items()}
        return cls({some: np.stack([fact.cut, *fact.chance]) for some, fact in votes.items()})

    def moments(self, rates: Reals, coins: Ints) -> CellMoments:
        """Interpolate mean and variance for rates of releases x cells."""
        facts = self._at(rates, coins)
        return CellMoments(TargetCases(*facts[:3]), TargetCases(*facts[3:]))

    def votes(self, rates: Reals, coins: Ints) -> CellVotes:
        """Interpolate cuts and vote probabilities for rates of releases x cells."""
        facts = self._at(rates, coins)
        return CellVotes(facts[0], TargetCases(*facts[1:]))

    def _at(self, rates: Reals, coins: Ints) -> Reals:
        n_facts, n_rates = next(iter(self.rows.values())).shape
        with np.errstate(divide="ignore"):
            places = np.clip(np.log(rates) / _STEP + n_rates - 1, 0, n_rates - 1)
        first = np.minimum(places.astype(np.intp), n_rates - 2)
        share = places - first
        interpolated = np.empty((n_facts, *rates.shape))
        for some, rows in self.rows.items():
            cells = np.flatnonzero(coins == some)
            low, part = first[:, cells], share[:, cells]
            interpolated[:, :, cells] = rows[:, low] * (1 - part) + rows[:, low + 1] * part
        return interpolated


def _priors(n_in: int, n_out: int, coins: Ints) -> dict[int, CountPrior]:
    n_steps = int(np.ceil(np.log(max(n_out, 1) / _MIN_EXPECTED) / _STEP))
    rates = np.exp(_STEP * np.arange(-n_steps, 1))
    return {
        int(some): CountPrior(rates, n_in, n_out, np.full(rates.size, some, dtype=np.int64))
        for some in np.unique(coins)
    }
