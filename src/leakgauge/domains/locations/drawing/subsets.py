"""Groups drawn person by person, many rounds at once.

Every visitor enters every group by a few coins. Given its size, such a set is uniform among the sets of that
size; it remains so while uniformly chosen visitors are let in, or out, until the group has as many of them as
the round asks for: a hypergeometric number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array, hstack, vstack

from leakgauge.domains.locations.drawing.chosen import Chosen, Counts, chosen
from leakgauge.domains.locations.drawing.entry import Entry, quickest

_WORDS = (
    1 << 16
)  # in a block, where that is 8 to 64 words for each visitor: they stay in the processor's cache
_BYTES = 1 << 26  # visitors x rounds in a block, at most, unless 64 rounds take more
_TRIES = 256  # of a round, drawn at a time


@dataclass(frozen=True, eq=False)
class Block:
    """Some rounds of a draw, and the state in which it left the groups."""

    rows: slice
    counts: Counts  # the last column counts the visitors in the group
    chosen: Chosen


@dataclass(frozen=True, eq=False)
class Subsets:
    """Draws from a crowd of ``n_people`` of whom only the visitors, a row each of ``visits``, are counted."""

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
            self._settle(block.chosen, one, extra, rng)
            further.append(csr_array(extra[:n, :-1].astype(np.uint8)))
        return counts, vstack(further, format="csr")

    @property
    def _n_visitors(self) -> int:
        return int(self.visits.shape[0])

    @cached_property
    def _with_all(self) -> csr_array:
        """The visits and a last column that everybody visits."""
        everybody = csr_array(np.ones((self._n_visitors, 1), np.uint8))
        return csr_array(hstack([self.visits, everybody], format="csr"))

    @cached_property
    def _by_column(self) -> csr_array:
        """The same by column, in a type that can hold any count."""
        return csr_array(self._with_all.T, dtype=np.min_scalar_type(self._n_visitors))

    def _blocks(self, n_rounds: int, size: int, rng: Generator) -> Iterator[Block]:
        n = self._n_visitors
        entry = quickest(n, size / self.n_people)
        most = max(1, min(64, max(8, _WORDS // n), _BYTES // (64 * n)))
        for first in range(0, n_rounds, 64 * most):
            n_words = min(most, -(-(n_rounds - first) // 64))
            wanted = rng.hypergeometric(n, self.n_people - n, size, 64 * n_words)
            group = chosen(entry.words((n, n_words), rng), self._with_all, self._by_column)
            counts = self._at_entry(entry, group, wanted.size)
            self._settle(group, wanted - counts[:, -1], counts, rng)
            yield Block(slice(first, first + wanted.size), counts, group)

    def _at_entry(self, entry: Entry, group: Chosen, n_rounds: int) -> Counts:
        if entry.coins:
            return group.counts()
        all_in = np.diff(self._by_column.indptr).astype(np.int32) * np.int32(entry.wins)
        return np.tile(all_in, (n_rounds, 1))

    def _settle(self, group: Chosen, need: npt.NDArray[np.int64], counts: Counts, rng: Generator) -> None:
        """Let visitors in and out, in random order, until nothing is needed."""
        small = np.uint16 if self._n_visitors < 2**16 else np.uint32
        rounds = np.flatnonzero(need)
        while rounds.size:
            n_tries = min(_TRIES, max(8 + 2 * int(np.abs(need[rounds]).mean()), 8192 // rounds.size))
            tries = rng.integers(0, self._n_visitors, size=(n_tries, rounds.size), dtype=small)
            group.turn(need, rounds, tries, counts)
            rounds = rounds[need[rounds] != 0]
