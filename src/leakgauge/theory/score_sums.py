"""How well an attacker who adds up scores identifies each of many targets, by characteristic functions.

The score of a target is the sum of the independent scores of its cells, so the logarithm of its
characteristic function is the sum of theirs: one sparse product for all targets. Targets are divided into
parts that do not depend on the workers, and a worker gets the cells of one part at a time.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from os import cpu_count
from typing import overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Reals
from leakgauge.support.parallel import map_on_workers_or_threads, threaded_map
from leakgauge.theory.characteristic_functions import (
    FPR,
    CharacteristicTable,
    Resolution,
    ScoreLaws,
    SummedScores,
)

TAIL_EXPONENT = 16.0  # a probability of e^-16 = 1e-7 may lie outside of a period
PERIOD_RATIO = float(np.sqrt(2.0))  # periods are its powers: targets of about the same spread share one
MARGIN = 0.025  # of a period, left free at both of its ends: few frequencies blur an atom
SMOOTH, LUMPY = Resolution(96, 4, 5), Resolution(384, 2, 2)
FEWEST_SMOOTH = 5  # with fewer cells a score is never smooth
LARGEST_THRESHOLD = 500.0  # of thresholds that are common to all targets
_DENSE, _THRESHOLDS = 0.05, 161  # they are even up to here; how many they are
_SLOPES = np.concatenate([side * np.geomspace(0.05, 50.0, 13) for side in (-1.0, 1.0)])
_LEAST = 1e-6  # width of a period
_BLOCK = 2**21  # numbers in memory at once
_THREADS = 8  # at most; every block of targets is computed by itself
PART = 2**14  # targets of a part, which is computed by one worker
FEW_TARGETS = 2**11  # not worth sending to workers
_ROWS = 2**16  # rows that are summed at once
Part = tuple[csr_array, Reals | None]  # cells, and a number beside each row


@dataclass(frozen=True, eq=False)
class RowParts(Sequence[Part]):
    """Some rows of a matrix, ``size`` to a part, with a number beside each row, if there are any.

    Parts are made one at a time, so that a worker holds only its own.
    """

    matrix: csr_array
    rows: npt.NDArray[np.intp]
    size: int
    numbers: Reals | None = None

    def __len__(self) -> int:
        return (self.rows.size + self.size - 1) // self.size

    @overload
    def __getitem__(self, part: int) -> Part: ...

    @overload
    def __getitem__(self, part: slice) -> Sequence[Part]: ...

    def __getitem__(self, part: int | slice) -> Part | Sequence[Part]:
        if isinstance(part, slice):
            return [self[i] for i in range(*part.indices(len(self)))]
        if not 0 <= part < len(self):
            raise IndexError(part)
        own = slice(part * self.size, (part + 1) * self.size)
        return self._cells(self.rows[own]), None if self.numbers is None else self.numbers[own]

    def rows_of_parts(self) -> Iterator[npt.NDArray[np.intp]]:
        """The rows of each part."""
        for first in range(0, self.rows.size, self.size):
            yield self.rows[first : first + self.size]

    def columns(self) -> Iterator[npt.NDArray[np.integer]]:
        """The columns that occur in the rows of each part, with repetitions."""
        for rows in self.rows_of_parts():
            yield self._cells(rows).indices

    def _cells(self, rows: npt.NDArray[np.intp]) -> csr_array:
        """Some rows, in rising order: cut out of those around them, whose data are few bytes if shared."""
        first, last = int(rows[0]), int(rows[-1]) + 1
        starts = self.matrix.indptr[first : last + 1]
        own = slice(int(starts[0]), int(starts[-1]))
        shape = (last - first, self.matrix.shape[1])
        around = csr_array((self.matrix.data[own], self.matrix.indices[own], starts - starts[0]), shape=shape)
        return around[rows - first]


def row_sums(matrix: csr_array) -> npt.NDArray[np.int64]:
    """The sum of each row, without a copy of all entries in 64 bits."""
    sums = np.empty(matrix.shape[0], dtype=np.int64)
    for first in range(0, matrix.shape[0], _ROWS):
        starts = matrix.indptr[first : first + _ROWS + 1]
        totals = np.concatenate([[0], np.cumsum(matrix.data[starts[0] : starts[-1]], dtype=np.int64)])
        sums[first : first + _ROWS] = np.diff(totals[starts - starts[0]])
    return sums


@dataclass(frozen=True, eq=False)
class AttackRates:
    """How well an attacker identifies each target: accuracy at the best threshold, AUC, TPR at 1 % FPR.

    ``at_zero`` is the accuracy at a threshold of zero, which an attacker uses who cannot fit one; a score of
    exactly zero is right half of the time.
    """

    accuracy: Reals
    auc: Reals
    tpr: Reals
    at_zero: Reals | None = None
    tails: "CommonTails | None" = None

    @classmethod
    def of_chance(cls, n: int) -> "AttackRates":
        """The rates of ``n`` targets about whom nothing is learned."""
        return cls(np.full(n, 0.5), np.full(n, 0.5), np.full(n, FPR), np.full(n, 0.5))

    def fill(
        self,
        targets: npt.NDArray[np.intp],
        table: CharacteristicTable,
        cells: csr_array,
        starts: Reals,
        which: Bits,
        block: int = _BLOCK,
        threads: int = _THREADS,
        *,
        skip_lumpy: bool = False,
    ) -> Bits:
        """Compute the rates of the targets that ``which`` selects, whose scores lie above ``starts``.

        ``block`` is how many numbers are in memory at once, in each of the threads. With ``skip_lumpy``,
        targets for whom the frequencies of the table are too few are left out. Returns the targets that were
        selected and left out.
        """
        places, left_out = np.flatnonzero(which), np.zeros(which.size, dtype=bool)
        size = max(1, block // table.columns.shape[1])

        def fill_block(first: int) -> None:
            part = places[first : first + size]
            logs = np.asarray(cells[part].astype(table.columns.dtype) @ table.columns)
            if skip_lumpy and (lumpy := table.lumpy(logs)).any():
                left_out[part[lumpy]] = True
                part, logs = part[~lumpy], logs[~lumpy]
            rows = targets[part]
            sums = SummedScores.of(table, logs)
            self.accuracy[rows], self.auc[rows], self.tpr[rows], at_zero = sums.rates(starts[part])
            if self.at_zero is not None:
                self.at_zero[rows] = at_zero
            if self.tails is not None:
                self.tails.tpr[rows], self.tails.fpr[rows] = sums.tails(starts[part], self.tails.thresholds)

        with ThreadPoolExecutor(min(cpu_count() or 1, threads)) as pool:
            for _ in pool.map(fill_block, range(0, places.size, size)):
                pass
        return left_out

    def put(self, rows: npt.NDArray[np.intp], part: "AttackRates") -> None:
        """Set the rates of some targets."""
        self.accuracy[rows], self.auc[rows], self.tpr[rows] = part.accuracy, part.auc, part.tpr
        if self.at_zero is not None and part.at_zero is not None:
            self.at_zero[rows] = part.at_zero
        if self.tails is not None and part.tails is not None:
            self.tails.tpr[rows], self.tails.fpr[rows] = part.tails.tpr, part.tails.fpr


@dataclass(frozen=True, eq=False)
class CommonTails:
    """TPR and FPR of all targets at the same thresholds: targets x thresholds."""

    thresholds: Reals
    tpr: npt.NDArray[np.float32]
    fpr: npt.NDArray[np.float32]

    @classmethod
    def of_chance(cls, n: int) -> "CommonTails":
        """Those of ``n`` targets whose score is always zero."""
        reach = np.arcsinh(LARGEST_THRESHOLD / _DENSE)
        thresholds = _DENSE * np.sinh(np.linspace(-reach, reach, _THRESHOLDS))
        row = (thresholds <= 0).astype(np.float32)
        return cls(thresholds, *(np.tile(row, (n, 1)) for _ in range(2)))

    @property
    def pooled_fpr(self) -> Reals:
        """The FPR of all targets together at each threshold."""
        return np.asarray(self.fpr.mean(axis=0, dtype=np.float64))

    def rates(self, pooled_fpr: Reals | None = None) -> tuple[Reals, Reals]:
        """The AUC and the TPR at 1 % FPR of each target with one threshold for all of them.

        Members are compared with the non-members among all targets, or with those of ``pooled_fpr``, not with
        the same target as a non-member: an attacker knows no threshold of its own for each of them.
        """
        pooled = self.pooled_fpr if pooled_fpr is None else pooled_fpr
        fpr = np.minimum.accumulate(np.concatenate([[1.0], pooled, [0.0]]))
        ends = (np.ones((len(self.tpr), 1), np.float32), np.zeros((len(self.tpr), 1), np.float32))
        tpr = np.hstack([ends[0], self.tpr, ends[1]])
        auc = (tpr[:, :-1] + tpr[:, 1:]).astype(np.float64) @ (fpr[:-1] - fpr[1:]) / 2
        place = int(np.searchsorted(-fpr, -FPR, side="right"))  # the first threshold with an FPR below 1 %
        more, fewer = fpr[place - 1], fpr[place]
        share = (FPR - fewer) / max(more - fewer, 1e-300)
        return auc, (tpr[:, place] + share * (tpr[:, place - 1] - tpr[:, place])).astype(np.float64)


def score_sum_rates(
    laws: ScoreLaws, cells: csr_array, *, finer: int = 1, common: bool = False
) -> AttackRates:
    """The rates of an attacker who adds up scores, against targets who move these cells.

    ``cells`` are targets x kinds: how many of each kind. ``finer`` multiplies the number of frequencies. With
    ``common``, the tails at common thresholds are computed as well.
    """
    rates = _rates_of_chance(cells.shape[0], common)
    numbers = row_sums(cells)
    some = np.flatnonzero(numbers)
    if not some.size:
        return rates
    parts = RowParts(cells, some, PART)
    spread = map_on_workers_or_threads if some.size > FEW_TARGETS else threaded_map
    found = spread(ScoreRanges.of(laws), parts)
    starts, widths = (np.concatenate(column) for column in zip(*found))
    powers = np.ceil(np.log(widths) / np.log(PERIOD_RATIO)).astype(np.int64)
    for power in np.unique(powers):
        chosen = np.flatnonzero(powers == power)
        parts = RowParts(cells, some[chosen], PART, starts[chosen])
        kinds, places = _needed(laws, parts)
        work = PeriodRates(kinds, places, PERIOD_RATIO**power, finer, common)
        spread = map_on_workers_or_threads if chosen.size > FEW_TARGETS else threaded_map
        for rows, part in zip(parts.rows_of_parts(), spread(work, parts)):
            rates.put(rows, part)
    return rates


def _rates_of_chance(n: int, common: bool) -> AttackRates:
    rates = AttackRates.of_chance(n)
    return replace(rates, tails=CommonTails.of_chance(n)) if common else rates


@dataclass(frozen=True, eq=False)
class PeriodRates:
    """Computes the rates of targets whose scores fit into the same period."""

    laws: ScoreLaws  # of the kinds that occur
    places: npt.NDArray[np.int32]  # of each kind among those that occur
    period: float
    finer: int
    common: bool

    @cached_property
    def smooth(self) -> CharacteristicTable:
        return CharacteristicTable.of(self.laws, self.period, SMOOTH.finer(self.finer))

    @cached_property
    def lumpy(self) -> CharacteristicTable:
        """For scores that are concentrated on few values."""
        return CharacteristicTable.of(self.laws, self.period, LUMPY.finer(self.finer))

    def __call__(self, part: Part) -> AttackRates:
        """The rates of the targets of a part, whose scores lie above the numbers beside their cells."""
        cells, starts = part
        assert starts is not None
        shape = (cells.shape[0], self.laws.n_kinds)
        cells = csr_array((cells.data, self.places[cells.indices], cells.indptr), shape=shape)
        rates = _rates_of_chance(shape[0], self.common)
        every, lumps = np.arange(shape[0]), row_sums(cells) < FEWEST_SMOOTH
        lumps |= rates.fill(every, self.smooth, cells, starts, ~lumps, threads=1, skip_lumpy=True)
        if lumps.any():
            rates.fill(every, self.lumpy, cells, starts, lumps, threads=1)
        return rates


def _needed(laws: ScoreLaws, parts: RowParts) -> tuple[ScoreLaws, npt.NDArray[np.int32]]:
    """The kinds that occur in these rows, and the place of each kind among them."""
    occurs = np.zeros(laws.n_kinds, dtype=bool)
    for kinds in parts.columns():
        occurs[kinds] = True
    return laws.only(occurs), np.cumsum(occurs, dtype=np.int32) - np.int32(1)


@dataclass(frozen=True, eq=False)
class ScoreRanges:
    """Computes where the scores of targets lie in either world, except for a probability of e^-16.

    (Chernoff 1952.)
    """

    log_moments: tuple[Reals, Reals]  # of members and of others: kinds x slopes

    @classmethod
    def of(cls, laws: ScoreLaws) -> "ScoreRanges":
        return cls((_log_moments(laws.nodes, laws.members), _log_moments(laws.nodes, laws.others)))

    def __call__(self, part: Part) -> tuple[Reals, Reals]:
        """The lowest score of each target, and the width of the range."""
        cells, _ = part
        (low1, high1), (low0, high0) = (_ends(cells @ logs) for logs in self.log_moments)
        low, high = np.minimum(low1, low0), np.maximum(high1, high0)
        widths = np.maximum(high - low, _LEAST) * (1 + 2 * MARGIN)  # no score may be finite at all
        return low - MARGIN * widths, widths


def _ends(logs: Reals) -> tuple[Reals, Reals]:
    """The lowest and the highest score, given logs of the mean of e^(slope score)."""
    reach = (TAIL_EXPONENT + logs) / _SLOPES
    low, high = reach[:, _SLOPES < 0].max(axis=1), reach[:, _SLOPES > 0].min(axis=1)
    return low - 1e-6, high + 1e-6


def _log_moments(nodes: Reals, world: Reals) -> Reals:
    """Logarithms of the mean of e^(slope score) over finite scores: kinds x slopes."""
    exponents = np.multiply.outer(nodes[1:-1], _SLOPES)
    top = exponents.max(axis=0)
    with np.errstate(divide="ignore"):
        logs = top + np.log(world[:, 1:-1] @ np.exp(exponents - top))
    return np.where(np.isfinite(logs), logs, 0.0)
