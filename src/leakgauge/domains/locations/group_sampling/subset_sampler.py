"""Draw uniform random subsets of a given size, 64 rounds at a time, and count their visits.

First each visitor enters each group independently, with a probability that takes few random bits. Given its
size, such a set is uniform among the sets of that size. It stays uniform while uniformly chosen visitors are
added or removed, until the group has the number of visitors wanted for the round. This number is
hypergeometric; it is drawn as the quantile of that distribution that belongs to the size of the first set, so
that few visitors are added or removed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import erf, exp, log, log1p, pi, sqrt
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array, vstack
from scipy.special import gammaln

from leakgauge.domains.locations.group_sampling import count_kernels

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int32]
Array = npt.NDArray[Any]
Whole = npt.NDArray[Any]  # of integers

_MOST_COINS = 6
# Approximate nanoseconds: a random bit of a visitor, counting a visitor, a try to add or remove a visitor.
_COIN, _COUNT, _TRY = 0.05, 0.1, 12.0
_ROUNDED = 0.5  # visitors added or removed because numbers are whole
_WORDS = 1 << 16  # in a block, if that is 8 to 64 words per visitor: they fit into the processor's cache
_BYTES = 1 << 26  # visitors x rounds in a block, at most, unless 64 rounds take more
_TRIES = 256  # of a round, drawn at a time


@dataclass(frozen=True, order=True)
class BernoulliEntry:
    """Every visitor enters every group independently with probability ``wins / 2**coins``."""

    coins: int
    wins: int

    @property
    def chance(self) -> float:
        return self.wins / 2**self.coins

    def words(self, shape: tuple[int, int], rng: Generator) -> Words:
        """Words of 64 independent bits, each set with the probability of entry.

        A random binary fraction is below the probability with exactly that probability. The fractions are
        compared from the last binary digit to the first, 64 at a time.

        >>> BernoulliEntry(1, 1).words((1, 1), np.random.default_rng(0)).dtype
        dtype('uint64')
        """
        if self.coins == 0:
            return np.full(shape, 2**64 - 1 if self.wins else 0, np.uint64)
        words = np.zeros(shape, np.uint64)
        for place in range(self.coins):
            tosses = rng.integers(0, 2**64 - 1, size=shape, dtype=np.uint64, endpoint=True)
            if self.wins >> place & 1:
                words |= tosses
            else:
                words &= tosses
        return words

    def nanoseconds(self, n_visitors: int, share: float) -> float:
        """The approximate time to draw one group with this share of the visitors."""
        spread = sqrt(n_visitors * share * (1 - share)) + 1e-9
        if self.coins:  # the number wanted follows the number who entered
            spread = _ROUNDED + abs(spread - sqrt(n_visitors * self.chance * (1 - self.chance)))
        lack = n_visitors * (share - self.chance)
        density = exp(-0.5 * (lack / spread) ** 2) / sqrt(2 * pi)
        n_to_add = lack * (1 + erf(lack / spread / sqrt(2))) / 2 + spread * density
        tries = n_to_add / max(1 - share, 1e-9) + (n_to_add - lack) / max(share, 1e-9)
        return n_visitors * (_COUNT + _COIN * self.coins) * (self.coins > 0) + _TRY * tries


@dataclass(frozen=True, eq=False)
class WantedVisitors:
    """Numbers of visitors in groups of ``size`` of all ``n_people``, given those who entered."""

    n_people: int
    n_visitors: int
    size: int
    entry: BernoulliEntry

    def draw(self, entered: Whole, rng: Generator) -> Whole:
        """Draw hypergeometric numbers: the larger the number who entered, the larger the number wanted."""
        if not self.entry.coins:
            rest = self.n_people - self.n_visitors
            return rng.hypergeometric(self.n_visitors, rest, self.size, entered.size)
        (first, fewer), (least, levels) = self._entering, self._wanted
        places = (entered - first).clip(0, fewer.size - 2)
        ranks = fewer[places] + rng.random(entered.size) * np.diff(fewer)[places]
        return least + np.searchsorted(levels[1:-1], ranks, side="right")

    @cached_property
    def _entering(self) -> tuple[int, Array]:
        """The least number who may enter, and the chances of fewer than it, than one more, ..."""
        n, chance = self.n_visitors, self.entry.chance
        numbers = _likely(n, chance, 0, n)
        return int(numbers[0]), _levels(_log_ways(n, numbers) + numbers * (log(chance) - log1p(-chance)))

    @cached_property
    def _wanted(self) -> tuple[int, Array]:
        """The same of the numbers wanted."""
        n, rest = self.n_visitors, self.n_people - self.n_visitors
        numbers = _likely(n, self.size / self.n_people, max(0, self.size - rest), min(n, self.size))
        logs = _log_ways(n, numbers) + _log_ways(rest, self.size - numbers)
        return int(numbers[0]), _levels(logs)


def _likely(n: int, share: float, least: int, most: int) -> Whole:
    """The numbers, of those possible, that binomial numbers leave with a chance of less than e^-70."""
    reach = 12 * sqrt(n * share * (1 - share)) + 50
    return np.arange(max(least, int(n * share - reach)), min(most, int(n * share + reach)) + 1)


def _log_ways(n: int, numbers: Whole) -> Array:
    """The logs of numbers of ways to choose so many of n, up to a constant."""
    return -gammaln(numbers + 1) - gammaln(n - numbers + 1)


def _levels(logs: Array) -> Array:
    """The chances of less than each value, from 0 to 1, given the logs of chances up to a constant."""
    chances = np.cumsum(np.exp(logs - logs.max()))
    return np.append(0.0, chances / chances[-1])


def fastest_entry(n_visitors: int, share: float) -> BernoulliEntry:
    """The entry with which groups of this share of the visitors are drawn fastest."""
    options = [BernoulliEntry(0, 0), BernoulliEntry(0, 1)]
    rounded = (BernoulliEntry(coins, round(share * 2**coins)) for coins in range(1, _MOST_COINS + 1))
    options += [entry for entry in rounded if 0 < entry.chance < 1]
    return min(options, key=lambda entry: (entry.nanoseconds(n_visitors, share), entry))


class MembershipBits(Protocol):
    """The members among the visitors, 64 rounds to a word."""

    def counts(self) -> Counts:
        """How many members visit each column: a row for each round."""
        ...

    def flip_members(self, need: Whole, rounds: Whole, tries: Whole, counts: Counts) -> None:
        """Add visitors if a round's need is positive, remove them if it is negative; update need and counts.

        Column i of ``tries`` lists the visitors to try in ``rounds[i]``, in order. Those already in, or out,
        are skipped.
        """
        ...


def membership_bits(words: Words, visits: csr_array, by_column: csr_array) -> MembershipBits:
    """Membership by the bits of ``words``, a row for each visitor; ``by_column`` is ``visits`` transposed."""
    if loops := count_kernels.kernels():
        return PackedMembershipBits(words, visits, by_column, loops)
    bits = np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
    return UnpackedMembershipBits(bits, visits, by_column)


@dataclass(frozen=True, eq=False)
class PackedMembershipBits:
    """A bit for each visitor and round."""

    words: Words
    visits: csr_array
    by_column: csr_array
    loops: count_kernels.Kernels

    def counts(self) -> Counts:
        counts = np.zeros((64 * self.words.shape[1], self.by_column.shape[0]), np.int32)
        self.loops.tally(self.words, self.by_column.indptr, self.by_column.indices, counts)
        return counts

    def flip_members(self, need: Whole, rounds: Whole, tries: Whole, counts: Counts) -> None:
        visits = self.visits
        self.loops.flip_members(self.words, need, rounds, tries, visits.indptr, visits.indices, counts)


@dataclass(frozen=True, eq=False)
class UnpackedMembershipBits:
    """A byte for each visitor and round."""

    bits: npt.NDArray[np.uint8]
    visits: csr_array
    by_column: csr_array

    def counts(self) -> Counts:
        return np.ascontiguousarray((self.by_column @ self.bits).T, dtype=np.int32)

    def flip_members(self, need: Whole, rounds: Whole, tries: Whole, counts: Counts) -> None:
        wanted, flat = need[rounds], self.bits.reshape(-1)
        where = tries * np.int64(self.bits.shape[1]) + rounds
        fit = (flat[where] == (wanted < 0)) & _first_occurrence(where)
        flipped = fit & (np.cumsum(fit, axis=0, dtype=np.int32) <= np.abs(wanted))
        k, i = np.nonzero(flipped)
        flat[where[k, i]] ^= 1
        steps = np.sign(wanted)
        need[rounds] -= steps * flipped.sum(axis=0)
        starts = self.visits.indptr[tries[k, i]]
        lengths = self.visits.indptr[tries[k, i] + 1] - starts
        cells = self.visits.indices[count_kernels.ranges(starts, lengths)] + np.repeat(
            rounds[i] * counts.shape[1], lengths
        )
        np.add.at(counts.reshape(-1), cells, np.repeat(steps[i].astype(np.int32), lengths))


def _first_occurrence(where: Whole) -> npt.NDArray[np.bool_]:
    """Whether a number does not occur above in its column."""
    n = len(where)
    in_order = np.sort(where * n + np.arange(n)[:, None], axis=0)
    k, i = np.nonzero(in_order[1:] // n == in_order[:-1] // n)
    first = np.ones(where.shape, np.bool_)
    first[in_order[1:][k, i] % n, i] = False
    return first


@dataclass(frozen=True, eq=False)
class SubsetBlock:
    """Some rounds of a draw, and their groups."""

    rows: slice
    counts: Counts  # the last column counts the visitors in the group
    chosen: MembershipBits


@dataclass(frozen=True, eq=False)
class SubsetSampler:
    """Draws groups from ``n_people`` people; only the visitors, a row each of ``visits``, are counted."""

    n_people: int
    visits: csr_array

    def groups(self, n_rounds: int, size: int, rng: Generator) -> Counts:
        """Counts of random groups."""
        counts = np.empty((n_rounds, self.visits.shape[1]), np.int32)
        for block in self._blocks(n_rounds, size, rng):
            counts[block.rows] = block.counts[: len(counts[block.rows]), :-1]
        return counts

    def pairs(self, n_rounds: int, size: int, rng: Generator) -> tuple[Counts, csr_array]:
        """Counts of random groups, and the visits of one further person for each."""
        counts = np.empty((n_rounds, self.visits.shape[1]), np.int32)
        further = []
        for block in self._blocks(n_rounds, size, rng):
            n = len(counts[block.rows])
            counts[block.rows] = block.counts[:n, :-1]
            left = self._n_visitors - block.counts[:, -1]
            one = (rng.integers(0, self.n_people - size, left.size) < left).astype(np.int64)
            extra = np.zeros_like(block.counts)
            self._adjust_sizes(block.chosen, one, extra, rng)
            further.append(csr_array(extra[:n, :-1].astype(np.uint8)))
        return counts, vstack(further, format="csr")

    @property
    def _n_visitors(self) -> int:
        return int(self.visits.shape[0])

    @cached_property
    def _with_all(self) -> csr_array:
        """The visits, with a last column that all visitors visit."""
        visits, n = self.visits, self._n_visitors
        columns = np.insert(visits.indices, visits.indptr[1:], visits.shape[1])
        ones, starts = np.ones(columns.size, np.uint8), visits.indptr + np.arange(n + 1)
        return csr_array((ones, columns, starts), shape=(n, visits.shape[1] + 1))

    @cached_property
    def _by_column(self) -> csr_array:
        """``_with_all`` transposed, in a type that can hold any count."""
        by_column = self._with_all.T.tocsr()  # a conversion of its type would merge cells listed twice
        most = np.diff(by_column.indptr).max(initial=1)
        ones = np.ones(by_column.nnz, dtype=np.min_scalar_type(int(most)))
        return csr_array((ones, by_column.indices, by_column.indptr), shape=by_column.shape)

    def _blocks(self, n_rounds: int, size: int, rng: Generator) -> Iterator[SubsetBlock]:
        n = self._n_visitors
        entry = fastest_entry(n, size / self.n_people)
        wanted = WantedVisitors(self.n_people, n, size, entry)
        most = max(1, min(64, max(8, _WORDS // n), _BYTES // (64 * n)))
        for first in range(0, n_rounds, 64 * most):
            n_words = min(most, -(-(n_rounds - first) // 64))
            group = membership_bits(entry.words((n, n_words), rng), self._with_all, self._by_column)
            counts = self._counts_at_entry(entry, group, 64 * n_words)
            entered = counts[:, -1].astype(np.int64)
            self._adjust_sizes(group, wanted.draw(entered, rng) - entered, counts, rng)
            yield SubsetBlock(slice(first, first + 64 * n_words), counts, group)

    def _counts_at_entry(self, entry: BernoulliEntry, group: MembershipBits, n_rounds: int) -> Counts:
        if entry.coins:
            return group.counts()
        all_in = np.diff(self._by_column.indptr).astype(np.int32) * np.int32(entry.wins)
        return np.tile(all_in, (n_rounds, 1))

    def _adjust_sizes(
        self, group: MembershipBits, need: npt.NDArray[np.int64], counts: Counts, rng: Generator
    ) -> None:
        """Add and remove random visitors until every group has its number of visitors."""
        small = np.uint16 if self._n_visitors < 2**16 else np.uint32
        rounds = np.flatnonzero(need)
        while rounds.size:
            n_tries = min(_TRIES, max(8 + 2 * int(np.abs(need[rounds]).mean()), 8192 // rounds.size))
            tries = rng.integers(0, self._n_visitors, size=(n_tries, rounds.size), dtype=small)
            group.flip_members(need, rounds, tries, counts)
            rounds = rounds[need[rounds] != 0]
