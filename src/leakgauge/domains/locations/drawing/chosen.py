"""Who of the visitors is in each group of a block: as bits for compiled loops, as bytes for numpy."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.domains.locations.drawing import compiled
from leakgauge.domains.locations.drawing.counting import ranges
from leakgauge.domains.locations.drawing.entry import Words

Counts = npt.NDArray[np.int32]
Whole = npt.NDArray[Any]


class Chosen(Protocol):
    """The members among the visitors, 64 rounds to a word."""

    def counts(self) -> Counts:
        """How many members visit each column: a row for each round."""
        ...

    def turn(self, need: Whole, rounds: Whole, tries: Whole, counts: Counts) -> None:
        """Let visitors in where a round's need is above zero, out where it is below; update need and counts.

        Column i of ``tries`` names the visitors to try, in turn, in ``rounds[i]``. One who is in, or out,
        already is passed over.
        """
        ...


def chosen(words: Words, visits: csr_array, by_column: csr_array) -> Chosen:
    """The members that the words name, a row for each visitor; ``by_column`` are the visits, transposed."""
    if loops := compiled.kernels():
        return Packed(words, visits, by_column, loops)
    bits = np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
    return Unpacked(bits, visits, by_column)


@dataclass(frozen=True, eq=False)
class Packed:
    """A bit for each visitor and round."""

    words: Words
    visits: csr_array
    by_column: csr_array
    loops: compiled.Kernels

    def counts(self) -> Counts:
        counts = np.zeros((64 * self.words.shape[1], self.by_column.shape[0]), np.int32)
        self.loops.tally(self.words, self.by_column.indptr, self.by_column.indices, counts)
        return counts

    def turn(self, need: Whole, rounds: Whole, tries: Whole, counts: Counts) -> None:
        visits = self.visits
        self.loops.turn(self.words, need, rounds, tries, visits.indptr, visits.indices, counts)


@dataclass(frozen=True, eq=False)
class Unpacked:
    """A byte for each visitor and round."""

    bits: npt.NDArray[np.uint8]
    visits: csr_array
    by_column: csr_array

    def counts(self) -> Counts:
        return np.ascontiguousarray((self.by_column @ self.bits).T, dtype=np.int32)

    def turn(self, need: Whole, rounds: Whole, tries: Whole, counts: Counts) -> None:
        wanted, flat = need[rounds], self.bits.reshape(-1)
        where = tries * np.int64(self.bits.shape[1]) + rounds
        fit = (flat[where] == (wanted < 0)) & _first_time(where)
        turned = fit & (np.cumsum(fit, axis=0, dtype=np.int32) <= np.abs(wanted))
        k, i = np.nonzero(turned)
        flat[where[k, i]] ^= 1
        steps = np.sign(wanted)
        need[rounds] -= steps * turned.sum(axis=0)
        starts = self.visits.indptr[tries[k, i]]
        lengths = self.visits.indptr[tries[k, i] + 1] - starts
        cells = self.visits.indices[ranges(starts, lengths)] + np.repeat(rounds[i] * counts.shape[1], lengths)
        np.add.at(counts.reshape(-1), cells, np.repeat(steps[i].astype(np.int32), lengths))


def _first_time(where: Whole) -> npt.NDArray[np.bool_]:
    """Whether a number has not been seen higher up in its column."""
    n = len(where)
    in_order = np.sort(where * n + np.arange(n)[:, None], axis=0)
    k, i = np.nonzero(in_order[1:] // n == in_order[:-1] // n)
    first = np.ones(where.shape, np.bool_)
    first[in_order[1:][k, i] % n, i] = False
    return first
