"""Kinds of answers with Laplace noise, where records contribute many different values: shifts in scales.

Rounded ratios are whole multiples of a step on a logarithmic scale, so that a pair of query and record finds
its kind in an array, without a search.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.incidence import Incidence
from leakgauge.domains.queries.log.noise_families import LossForm
from leakgauge.domains.queries.log.tabulated_kinds import CERTAIN

_LOWEST = -745.0  # the logarithm of the smallest number above zero


@dataclass(frozen=True, eq=False)
class RatioKinds:
    """All ratios that occur, in rising order, and how those of pairs are found."""

    ratios: Reals
    rates: Reals  # of each answer: 1 / scale, or 0 where its noise is not Laplace
    step: float  # of rounding up; 0 for none
    places: npt.NDArray[np.int32]  # the kind of each multiple of the step; empty without rounding

    def positions(self, queries: npt.NDArray[np.integer], sizes: Reals) -> npt.NDArray[np.int32]:
        """Return the kind of answers that a record shifts by some size, -1 where there is none."""
        ratios = _ratios(self.rates, queries, sizes)
        if self.step:
            return np.where(ratios > 0, self.places[_multiples(ratios, self.step)], np.int32(-1))
        found = np.searchsorted(self.ratios, ratios).astype(np.int32)
        found[ratios <= 0] = -1
        return found


def ratio_kinds(answers: LoggedAnswers, sparse: Incidence, most: int, step: float) -> RatioKinds:
    """Find all kinds; with more than ``most``, ratios are rounded up by at most the share ``step``."""
    laplace = ~(answers.has_form(LossForm.GAUSSIAN) | answers.has_form(LossForm.TABULATED))
    rates = np.where(laplace, 1 / answers.scale, 0.0)
    exact = np.zeros(0)
    for ratios in _blocks(rates, sparse):
        near = np.searchsorted(exact, ratios)
        new = ratios[(near == exact.size) | (np.append(exact, np.nan)[near] != ratios)]
        exact = np.union1d(exact, new[new > 0])
        if exact.size > most:
            break
    else:
        return RatioKinds(exact, rates, 0.0, np.zeros(0, dtype=np.int32))
    occurs = np.zeros(int((np.log(CERTAIN) - _LOWEST) / step) + 3, dtype=bool)
    for ratios in _blocks(rates, sparse):
        occurs[_multiples(ratios[ratios > 0], step)] = True
    rounded = np.exp(step * (np.flatnonzero(occurs) + np.floor(_LOWEST / step)))
    return RatioKinds(rounded, rates, step, np.cumsum(occurs, dtype=np.int32) - np.int32(1))


def _blocks(rates: Reals, sparse: Incidence) -> Iterator[Reals]:
    """Return the ratios of all pairs, block by block."""
    assert sparse.contributions is not None
    for block in sparse.blocks():
        own = slice(int(sparse.starts[block.start]), int(sparse.starts[block.stop]))
        yield _ratios(rates, sparse.queries[own], np.abs(sparse.contributions[own]))


def _ratios(rates: Reals, queries: npt.NDArray[np.integer], sizes: Reals) -> Reals:
    return np.asarray(np.minimum(sizes * rates[queries], CERTAIN))


def _multiples(ratios: Reals, step: float) -> npt.NDArray[np.int32]:
    """Return which multiple of the step, from the lowest on, each ratio is rounded up to."""
    logs = np.log(np.maximum(ratios, np.finfo(float).tiny))
    logs /= step
    logs -= 1e-9 + np.floor(_LOWEST / step)
    return np.ceil(logs, out=logs).astype(np.int32)
