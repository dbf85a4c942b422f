"""How well an attacker who adds up scores identifies each of many targets, by characteristic functions.

The score of a target is the sum of the independent scores of its cells, so the logarithm of its
characteristic function is the sum of theirs: one sparse product for all targets.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.game import Bits, Reals
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
_ROWS = 2**16  # targets at once where little is computed
_THREADS = 8  # at most; every block of targets is computed by itself


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
    ) -> None:
        """Compute the rates of the targets that ``which`` selects, whose scores lie above ``starts``.

        ``block`` is how many numbers are in memory at once.
        """
        places = np.flatnonzero(which)
        size = max(1, block // table.columns.shape[1])

        def fill_block(first: int) -> None:
            part = places[first : first + size]
            logs = np.asarray(cells[part].astype(table.columns.dtype) @ table.columns)
            rows = targets[part]
            sums = SummedScores.of(table, logs)
            self.accuracy[rows], self.auc[rows], self.tpr[rows], at_zero = sums.rates(starts[part])
            if self.at_zero is not None:
                self.at_zero[rows] = at_zero
            if self.tails is not None:
                self.tails.tpr[rows], self.tails.fpr[rows] = sums.tails(starts[part], self.tails.thresholds)

        with ThreadPoolExecutor(min(cpu_count() or 1, _THREADS)) as pool:
            for _ in pool.map(fill_block, range(0, places.size, size)):
                pass


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
    rates = AttackRates.of_chance(cells.shape[0])
    if common:
        rates = replace(rates, tails=CommonTails.of_chance(cells.shape[0]))
    numbers = np.asarray(cells.sum(axis=1)).ravel()
    some = np.flatnonzero(numbers)
    if not some.size:
        return rates
    starts, widths = _ranges(laws, cells[some])
    powers = np.ceil(np.log(widths) / np.log(PERIOD_RATIO)).astype(np.int64)
    smooth, lumpy = SMOOTH.finer(finer), LUMPY.finer(finer)
    for power in np.unique(powers):
        chosen = np.flatnonzero(powers == power)
        kinds, own = _needed(laws, cells[some[chosen]])
        table = CharacteristicTable.of(kinds, PERIOD_RATIO**power, smooth)
        lumps = (numbers[some[chosen]] < FEWEST_SMOOTH) | table.lumpy(own)
        rates.fill(some[chosen], table, own, starts[chosen], ~lumps)
        if lumps.any():
            fine = CharacteristicTable.of(kinds, table.period, lumpy)
            rates.fill(some[chosen], fine, own, starts[chosen], lumps)
    return rates


def _needed(laws: ScoreLaws, cells: csr_array) -> tuple[ScoreLaws, csr_array]:
    """The kinds that occur in these cells, and the cells with only those columns."""
    occurs = np.zeros(laws.n_kinds, dtype=bool)
    occurs[cells.indices] = True
    places = np.cumsum(occurs, dtype=cells.indices.dtype) - 1
    shape = (cells.shape[0], int(places[-1]) + 1)
    return laws.only(occurs), csr_array((cells.data, places[cells.indices], cells.indptr), shape=shape)


def _ranges(laws: ScoreLaws, cells: csr_array) -> tuple[Reals, Reals]:
    """The lowest score of each target in either world, and the width of the range, except for e^-16.

    (Chernoff 1952.)
    """
    worlds = [_log_moments(laws.nodes, world) for world in (laws.members, laws.others)]
    starts, widths = np.empty(cells.shape[0]), np.empty(cells.shape[0])
    for first in range(0, cells.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        (low1, high1), (low0, high0) = (_ends(cells[rows] @ logs) for logs in worlds)
        low, high = np.minimum(low1, low0), np.maximum(high1, high0)
        widths[rows] = np.maximum(high - low, _LEAST) * (1 + 2 * MARGIN)  # no score may be finite at all
        starts[rows] = low - MARGIN * widths[rows]
    return starts, widths


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
