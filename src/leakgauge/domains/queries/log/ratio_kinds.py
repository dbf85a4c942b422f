"""Kinds of answers with Laplace noise, where records contribute many different values: shifts in scales.

Ratios are compared on a logarithmic grid, so that a pair of query and record finds its kind in an array,
without a search: rounded ratios are whole multiples of its step, and of few exact ones there is mostly at
most one between two multiples. Where a record contributes the same to all queries, as to sums of one column,
there is an array of all values and rates instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.incidence import ContributionOfRecords, Incidence
from leakgauge.domains.queries.log.noise_families import LossForm
from leakgauge.domains.queries.log.tabulated_kinds import CERTAIN

_LARGEST_TABLE = 2**22  # values x rates that are tabulated
_LOWEST = -745.0  # the logarithm of the smallest number above zero
_DIGITS, _ROUNDINGS = 2**12 - 1, 8  # last bits that ratios do not keep; errors of a product that are ignored


@dataclass(frozen=True, eq=False)
class RatioKinds:
    """All ratios that occur, in rising order, and how those of pairs are found."""

    ratios: Reals
    rates: Reals  # of each answer: 1 / scale, or 0 where its noise is not Laplace
    step: float  # of rounding up; 0 for none
    grid: float  # the step of the grid; 0 for none
    places: npt.NDArray[np.int32]  # the kind of each multiple of that step; empty without a grid
    table: "ValueRateTable | None" = None  # of the same kinds, where there is one
    multiples: npt.NDArray[np.int32] | None = None  # of the step, for each pair, where ratios were rounded

    def kinds_of_pairs(self, block: slice, sparse: Incidence) -> npt.NDArray[np.int32]:
        """Return the kinds of the pairs of a block of records, -1 where there is none."""
        assert sparse.contributions is not None
        own = slice(int(sparse.starts[block.start]), int(sparse.starts[block.stop]))
        if self.table is not None:
            return self.table.kinds(block, sparse.queries[own])
        if self.multiples is not None:
            return self.places[self.multiples[own]]
        return self.positions(sparse.queries[own], np.abs(sparse.contributions[own]))

    def positions(self, queries: npt.NDArray[np.integer], sizes: Reals) -> npt.NDArray[np.int32]:
        """Return the kind of answers that a record shifts by some size, -1 where there is none."""
        return self.kinds_of(_ratios(self.rates, queries, sizes))

    def kinds_of(self, ratios: Reals) -> npt.NDArray[np.int32]:
        """Return the kind of each ratio, -1 where it is 0."""
        if self.grid:
            return self.places[_multiples(ratios, self.grid)]
        found = np.searchsorted(self.ratios, ratios).astype(np.int32)
        found[ratios <= 0] = -1
        return found


@dataclass(frozen=True, eq=False)
class ValueRateTable:
    """The kind of each pair of a value that records contribute and a rate of queries."""

    value_of: npt.NDArray[np.int32]  # of each record: its row of the table
    rate_of: npt.NDArray[np.int32]  # of each query: its column
    n_rates: int
    starts: Ints
    kind_of: npt.NDArray[np.int32] | None = None  # of each cell, row by row

    def kinds(self, block: slice, queries: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Return the kinds of the pairs of a block of records."""
        assert self.kind_of is not None
        return self.kind_of[self.cells(block, queries)]

    def cells(self, block: slice, queries: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Return where the pairs of a block of records are in the table, row by row."""
        numbers = np.diff(self.starts[block.start : block.stop + 1])
        cells = np.repeat(self.value_of[block] * np.int32(self.n_rates), numbers)
        cells += self.rate_of[queries]
        return cells


def value_rate_table(rates: Reals, sparse: Incidence) -> tuple[ValueRateTable, Reals] | None:
    """Return the table and its ratios, 0 where a pair does not occur; None where records have many values."""
    assert sparse.contributions is not None
    given, values = sparse.contributions, np.zeros(sparse.n_records)
    some = np.flatnonzero(sparse.numbers)
    if isinstance(given, ContributionOfRecords):
        values[some] = np.abs(given.values[some])
    else:
        values[some] = np.abs(given[sparse.starts[some]])
        if (np.abs(given[sparse.starts[some + 1] - 1]) != values[some]).any():
            return None
    sizes, value_of = np.unique(values, return_inverse=True)
    distinct, rate_of = np.unique(rates, return_inverse=True)
    if sizes.size * distinct.size > _LARGEST_TABLE:
        return None
    found = ValueRateTable(value_of.astype(np.int32), rate_of.astype(np.int32), distinct.size, sparse.starts)
    occurs = np.zeros(sizes.size * distinct.size, dtype=bool)
    for block in sparse.blocks():
        own = slice(int(sparse.starts[block.start]), int(sparse.starts[block.stop]))
        if not isinstance(given, ContributionOfRecords):
            same = np.repeat(values[block], np.diff(sparse.starts[block.start : block.stop + 1]))
            if not np.array_equal(np.abs(given[own]), same):
                return None
        occurs[found.cells(block, sparse.queries[own])] = True
    ratios = _shortened(np.minimum(np.multiply.outer(sizes, distinct), CERTAIN).ravel())
    return found, np.where(occurs, ratios, 0.0)


def ratio_kinds(answers: LoggedAnswers, sparse: Incidence, most: int, step: float) -> RatioKinds:
    """Find all kinds; with more than ``most``, ratios are rounded up by at most the share ``step``."""
    laplace = ~(answers.has_form(LossForm.GAUSSIAN) | answers.has_form(LossForm.TABULATED))
    rates = np.where(laplace, 1 / answers.scale, 0.0)
    if (found := value_rate_table(rates, sparse)) is not None:
        return _tabulated_ratios(*found, rates, most, step)
    if (exact := _exact_kinds(rates, sparse, most, step)) is not None:
        return exact
    multiples = np.concatenate([_multiples(ratios, step) for ratios in _blocks(rates, sparse)])
    return replace(_rounded_kinds(multiples, rates, step), multiples=multiples)


def _exact_kinds(rates: Reals, sparse: Incidence, most: int, grid: float) -> RatioKinds | None:
    """Find all ratios, or None if there are more than ``most``; first those that are alone on the grid."""
    assert sparse.contributions is not None
    some = slice(4 * most)
    ratios = _ratios(rates, sparse.queries[some], np.abs(sparse.contributions[some]))
    if np.unique(ratios).size > most + 1:  # 0 is none of them
        return None
    alone, single = np.full(_n_multiples(grid), np.nan), True
    exact = np.zeros(0)
    for ratios in _blocks(rates, sparse):
        if single:
            places = _multiples(ratios, grid)
            free = np.isnan(alone[places])
            alone[places[free]] = ratios[free]
            single = bool((alone[places] == ratios).all())
        if not single:
            near = np.searchsorted(exact, ratios)
            new = ratios[(near == exact.size) | (np.append(exact, np.nan)[near] != ratios)]
            exact = np.union1d(exact, new)
        else:
            exact = alone[np.isfinite(alone)]
        if np.count_nonzero(exact) > most:
            return None
    exact = exact[exact > 0]
    if not single:
        return RatioKinds(exact, rates, 0.0, 0.0, np.zeros(0, dtype=np.int32))
    return RatioKinds(exact, rates, 0.0, grid, np.cumsum(alone > 0, dtype=np.int32) - np.int32(1))


def _tabulated_ratios(
    table: ValueRateTable, ratios: Reals, rates: Reals, most: int, step: float
) -> RatioKinds:
    """Find the kinds of a table of values and rates, as of single pairs."""
    exact = np.unique(ratios[ratios > 0])
    if exact.size <= most:
        whole = RatioKinds(exact, rates, 0.0, 0.0, np.zeros(0, dtype=np.int32))
    else:
        whole = _rounded_kinds(_multiples(ratios, step), rates, step)
    return replace(whole, table=replace(table, kind_of=whole.kinds_of(ratios)))


def _rounded_kinds(multiples: npt.NDArray[np.int32], rates: Reals, step: float) -> RatioKinds:
    """Number the multiples of the step, to which ratios were rounded up, that occur."""
    occurs = np.zeros(_n_multiples(step), dtype=bool)
    occurs[multiples] = True
    occurs[0] = False
    rounded = np.exp(step * (np.flatnonzero(occurs) + np.floor(_LOWEST / step)))
    return RatioKinds(rounded, rates, step, step, np.cumsum(occurs, dtype=np.int32) - np.int32(1))


def _blocks(rates: Reals, sparse: Incidence) -> Iterator[Reals]:
    """Return the ratios of all pairs, block by block."""
    assert sparse.contributions is not None
    for block in sparse.blocks():
        own = slice(int(sparse.starts[block.start]), int(sparse.starts[block.stop]))
        yield _ratios(rates, sparse.queries[own], np.abs(sparse.contributions[own]))


def _ratios(rates: Reals, queries: npt.NDArray[np.integer], sizes: Reals) -> Reals:
    return _shortened(np.minimum(sizes * rates[queries], CERTAIN))


def _shortened(ratios: Reals) -> Reals:
    """Round up to 40 binary digits: products that differ by rounding alone (3 x 0.02, 6 x 0.01) are equal."""
    bits = ratios.view(np.int64)
    bits += _DIGITS - _ROUNDINGS
    bits &= ~np.int64(_DIGITS)
    return ratios


def _n_multiples(step: float) -> int:
    return int((np.log(CERTAIN) - _LOWEST) / step) + 3


def _multiples(ratios: Reals, step: float) -> npt.NDArray[np.int32]:
    """Return which multiple of the step, from the lowest on, each ratio is rounded up to; 0 for no ratio."""
    logs = np.log(np.maximum(ratios, np.finfo(float).tiny))
    logs /= step
    logs -= 1e-9 + np.floor(_LOWEST / step)
    logs[ratios <= 0] = 0.0
    return np.ceil(logs, out=logs).astype(np.int32)
