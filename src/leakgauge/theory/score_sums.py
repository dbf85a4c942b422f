"""How well many targets at once can be told in or out: laws of sums of scores by characteristic functions.

The score of a target is the sum of the independent scores of its cells, so the logarithm of its
characteristic function is the sum of theirs: one sparse product for all targets.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

_TAIL = 16.0  # a probability of e^-16 = 1e-7 may lie outside of a period
_SLOPES = np.concatenate([side * np.geomspace(0.05, 50.0, 13) for side in (-1.0, 1.0)])
_LADDER = float(np.sqrt(2.0))  # of periods: targets of about the same spread share one
_LEAST = 1e-6  # width of a period
_MARGIN = 0.025  # of a period, at both of its ends: few frequencies blur a lump
_BLOCK = 2**21  # numbers in memory at once
_ROWS = 2**16  # targets at once where little is computed
_THREADS = 8  # at most; every block of targets is computed by itself

_SMOOTH, _LUMPY = Resolution(96, 4, 5), Resolution(384, 2, 2)
_MANY = 5  # cells from which on scores may be smooth


@dataclass(frozen=True, eq=False)
class AttackRates:
    """What an adversary reaches against each target: accuracy at the best threshold, AUC, TPR at 1 % FPR."""

    accuracy: Reals
    auc: Reals
    tpr: Reals


def score_sum_rates(laws: ScoreLaws, cells: csr_array, *, finer: int = 1) -> AttackRates:
    """What adding up scores reaches against targets who move these cells: targets x kinds, how many of each.

    ``finer`` multiplies the number of frequencies.
    """
    n = cells.shape[0]
    found = AttackRates(np.full(n, 0.5), np.full(n, 0.5), np.full(n, FPR))
    numbers = np.asarray(cells.sum(axis=1)).ravel()
    some = np.flatnonzero(numbers)
    if not some.size:
        return found
    starts, widths = _ranges(laws, cells[some])
    rungs = np.ceil(np.log(widths) / np.log(_LADDER)).astype(np.int64)
    smooth, lumpy = _SMOOTH.finer(finer), _LUMPY.finer(finer)
    for rung in np.unique(rungs):
        chosen = np.flatnonzero(rungs == rung)
        kinds, own = _needed(laws, cells[some[chosen]])
        table = CharacteristicTable.of(kinds, _LADDER**rung, smooth)
        lumps = (numbers[some[chosen]] < _MANY) | table.lumpy(own)
        _fill(found, some[chosen], table, own, starts[chosen], ~lumps)
        if lumps.any():
            _fill(
                found,
                some[chosen],
                CharacteristicTable.of(kinds, table.period, lumpy),
                own,
                starts[chosen],
                lumps,
            )
    return found


def _needed(laws: ScoreLaws, cells: csr_array) -> tuple[ScoreLaws, csr_array]:
    """The kinds that occur in these cells, and the cells counted by those."""
    occurs = np.zeros(laws.n_kinds, dtype=bool)
    occurs[cells.indices] = True
    places = np.cumsum(occurs, dtype=cells.indices.dtype) - 1
    shape = (cells.shape[0], int(places[-1]) + 1)
    return laws.only(occurs), csr_array((cells.data, places[cells.indices], cells.indptr), shape=shape)


def _ranges(laws: ScoreLaws, cells: csr_array) -> tuple[Reals, Reals]:
    """Where the scores of each target start in either world, and how wide they are.

    All but e^-16 of them (Chernoff 1952).
    """
    worlds = [_log_moments(laws.nodes, world) for world in (laws.members, laws.others)]
    starts, widths = np.empty(cells.shape[0]), np.empty(cells.shape[0])
    for first in range(0, cells.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        (low1, high1), (low0, high0) = (_ends(cells[rows] @ logs) for logs in worlds)
        low, high = np.minimum(low1, low0), np.maximum(high1, high0)
        widths[rows] = np.maximum(high - low, _LEAST) * (1 + 2 * _MARGIN)  # no score may be finite at all
        starts[rows] = low - _MARGIN * widths[rows]
    return starts, widths


def _ends(logs: Reals) -> tuple[Reals, Reals]:
    """The lowest and the highest score, given logs of the mean of e^(slope score)."""
    reach = (_TAIL + logs) / _SLOPES
    low, high = reach[:, _SLOPES < 0].max(axis=1), reach[:, _SLOPES > 0].min(axis=1)
    return low - 1e-6, high + 1e-6


def _log_moments(nodes: Reals, world: Reals) -> Reals:
    """Logarithms of the mean of e^(slope score) over finite scores: kinds x slopes."""
    exponents = np.multiply.outer(nodes[1:-1], _SLOPES)
    top = exponents.max(axis=0)
    with np.errstate(divide="ignore"):
        logs = top + np.log(world[:, 1:-1] @ np.exp(exponents - top))
    return np.where(np.isfinite(logs), logs, 0.0)


def _fill(
    found: AttackRates,
    targets: npt.NDArray[np.intp],
    table: CharacteristicTable,
    cells: csr_array,
    starts: Reals,
    which: Bits,
) -> None:
    """Write what is reached against some targets, whose scores lie above ``starts``."""
    places = np.flatnonzero(which)
    size = max(1, _BLOCK // table.columns.shape[1])

    def fill(first: int) -> None:
        block = places[first : first + size]
        sums = SummedScores.of(table, np.asarray(cells[block].astype(table.columns.dtype) @ table.columns))
        rows = targets[block]
        found.accuracy[rows], found.auc[rows], found.tpr[rows] = sums.reach(starts[block])

    with ThreadPoolExecutor(min(cpu_count() or 1, _THREADS)) as pool:
        for _ in pool.map(fill, range(0, places.size, size)):
            pass
