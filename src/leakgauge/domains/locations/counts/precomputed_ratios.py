"""Tables of likelihood ratios computed before the first round, for all targets and rounds at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import log_ratios, shift_log_ratios
from leakgauge.domains.locations.counts.rate_groups import (
    MAX_EXACT_RATES,
    OutputElements,
    rate_bands,
    rate_step,
)
from leakgauge.domains.locations.counts.ratio_tables import (
    CellsByRate,
    ColumnRatios,
    RatioGrid,
    RatioTable,
    TableRows,
    noise_reach,
    tabulate_ratios,
)
from leakgauge.domains.locations.counts.release_distribution import (
    OutputPart,
    PiecewiseShift,
    ReleaseDistribution,
    ShiftDistribution,
)
from leakgauge.mechanisms._count_noise import RoughDensity

OutputRange: TypeAlias = tuple[float, float]

_TAILS = (18.0, 12.0, 8.0, 5.0)  # outputs less likely than e^-tail are left out; the first tail that fits
_MAX_TABLE_ENTRIES = 2**22


def rate_strips(n_in: int, n_out: int, coins: int, nodes: Reals) -> list[CellsByRate]:
    """Split the rates into groups of neighbours whose counts lie in a similar range."""
    edges = np.flatnonzero(np.diff(rate_bands(n_out, nodes, coins))) + 1
    return [CellsByRate(n_in, n_out, coins, rates) for rates in np.split(nodes, edges)]


def stacked_tables(
    parts: Sequence[OutputPart], strips: list[CellsByRate], most_known: int
) -> tuple[RatioTable, ...]:
    """Return a table of likely outputs for each part of a distribution, or none if too large."""
    n_rows = sum(cells.rates.size for cells in strips)
    if any(isinstance(part.law.between, RoughDensity) for part in parts):
        return ()
    for tail in _TAILS:
        spread = noise_reach(parts[0].law, tail)
        ends = [cells.home(spread, tail) for cells in strips]
        if _columns(ends, parts[0].law).n * n_rows <= _MAX_TABLE_ENTRIES:
            return tuple(_joined(part.law, strips, _within(ends, part, most_known)) for part in parts)
    return ()


def _within(ends: list[OutputRange], part: OutputPart, most_known: int) -> list[OutputRange]:
    """Restrict the ends to one place minus the known people, for outputs that stand for that place.

    A place outside the ends, as the size of the group mostly is, gets a single column.
    """
    if part.only is None:
        return ends
    last = float(part.only)
    lows = [max(low, last - most_known) for low, _ in ends]
    return [
        (min(low, last) if low <= high else last, last) for low, (_, high) in zip(lows, ends, strict=True)
    ]


def _columns(ends: list[OutputRange], law: ShiftDistribution) -> RatioGrid:
    return RatioGrid.over(min(low for low, _ in ends), max(high for _, high in ends), law.between)


def _joined(law: ShiftDistribution, strips: list[CellsByRate], ends: list[OutputRange]) -> RatioTable:
    """Stack the tables of all strips into one; NaN where outputs are unlikely."""
    columns = _columns(ends, law)
    parts = []
    for cells, (low, high) in zip(strips, ends, strict=True):
        first = int((low - columns.first) / columns.step)
        last = min(int(np.ceil((high - columns.first) / columns.step)), columns.n - 1)
        parts.append((first, tabulate_ratios(law, cells, columns.part(first, last))))
    present = _stacked([(first, table.present) for first, table in parts], columns.n)
    absent = [(first, table.absent) for first, table in parts if table.absent is not None]
    return RatioTable(columns, present, _stacked(absent, columns.n) if absent else None)


def _stacked(parts: list[tuple[int, ColumnRatios]], n: int) -> ColumnRatios:
    def stack(blocks: list[Reals], width: int) -> Reals:
        blank = [np.full((block.shape[0], width), np.nan) for block in blocks]
        for page, (first, _), block in zip(blank, parts, blocks, strict=True):
            page[:, first : first + block.shape[1]] = block
        return np.concatenate(blank)

    rises = max(n - 1, 0) if parts[0][1].rise_in.size else 0
    return ColumnRatios(
        stack([ratios.at for _, ratios in parts], n),
        stack([ratios.rise_in for _, ratios in parts], rises),
        stack([ratios.rise_out for _, ratios in parts], rises),
    )


@dataclass(frozen=True, eq=False)
class PrecomputedRatios:
    """Looks up what ``log_ratios`` computes; ratios that are not in the tables are computed.

    A table has a row for each rate in ``nodes`` and each number of coins in ``coins``. Built by
    ``precompute_ratios``.
    """

    law: ReleaseDistribution
    n_in: int
    n_out: int
    coins: tuple[int, ...]
    nodes: Reals  # rates in ascending order
    step: float | None  # of their log-odds, where ratios between them may be interpolated
    tables: tuple[RatioTable, ...]  # one for each part of the law

    def log_ratios(
        self, outputs: npt.ArrayLike, known: npt.ArrayLike, prior: CountPrior, weights: Reals | None = None
    ) -> Reals:
        """Return the same as ``count_ratios.log_ratios`` with this distribution."""
        other = prior.sure or (prior.n_in, prior.n_out) != (self.n_in, self.n_out)
        if other or not (self.tables and isinstance(self.law, PiecewiseShift)):
            return log_ratios(self.law, outputs, known, prior, weights)
        seen = np.asarray(outputs, dtype=np.float64)
        sure = np.broadcast_to(np.asarray(known, dtype=np.float64), seen.shape)
        ratios = np.zeros(seen.shape)
        weights = None if weights is None or (weights == 1).all() else weights
        everything = OutputElements.all_of(seen.shape, prior, weights)
        for part, table in zip(self.law.parts(seen), self.tables, strict=True):
            if part.places.size:
                elements = everything.only(part.rows)
                ratios[part.rows] = self._read(table, part, part.places - sure[part.rows], elements)
        return ratios

    def _read(self, table: RatioTable, part: OutputPart, places: Reals, elements: OutputElements) -> Reals:
        rows, listed = self._rows(elements)
        low, high = table.columns.readable
        listed &= (places >= low) & (places <= high)
        ratios = table.read(np.clip(places, low, high), rows, elements.own_weights)
        missing = np.flatnonzero(~listed | np.isnan(ratios))
        if missing.size:
            ratios[missing] = shift_log_ratios(part.law, places[missing], elements.only(missing))
        return ratios

    def _rows(self, elements: OutputElements) -> tuple[TableRows, Bits]:
        """Return the row of each element, and whether there is one."""
        prior, per_cell = elements.prior, elements.own_rates is None
        rates = prior.rates if elements.own_rates is None else elements.own_rates
        coins = prior.coins if per_cell else prior.coins[elements.cells]
        place = np.searchsorted(self.coins, coins).clip(max=len(self.coins) - 1)
        listed = np.asarray(self.coins)[place] == coins
        rows, share = self._nearest(rates, listed)
        rows += place * self.nodes.size
        table_rows = TableRows(rows, share)
        return (table_rows.only(elements.cells), listed[elements.cells]) if per_cell else (table_rows, listed)

    def _nearest(self, rates: Reals, listed: Bits) -> tuple[npt.NDArray[np.intp], Reals | None]:
        if self.n_out == 0:
            return np.zeros(rates.shape, dtype=np.intp), None
        if self.step is None:
            rows = np.searchsorted(self.nodes, rates).clip(max=self.nodes.size - 1)
            listed &= self.nodes[rows] == rates
            return rows, None
        listed &= (rates >= self.nodes[0]) & (rates < self.nodes[-1])
        steps = (logit(np.where(listed, rates, self.nodes[0])) - logit(self.nodes[0])) / self.step
        rows = np.floor(steps).astype(np.intp).clip(0, self.nodes.size - 2)
        return rows, steps - rows


def precompute_ratios(
    law: ReleaseDistribution,
    n_in: int,
    n_out: int,
    rates: Reals,
    coins: Sequence[int] = (0,),
    most_known: int = 0,
) -> PrecomputedRatios:
    """Build tables for groups of one size and these rates; exact for up to 128 different rates.

    A cell contains at most ``most_known`` known people. If nobody is unknown, rates do not matter.
    """
    if n_out == 0:
        return _precomputed(law, 0, 0, np.array([0.5]), None, tuple(sorted(set(coins))), most_known)
    between = np.unique(rates[(rates > 0) & (rates < 1)])
    if between.size > MAX_EXACT_RATES:
        return precompute_ratios_between(
            law, n_in, n_out, float(between[0]), float(between[-1]), coins, most_known
        )
    return _precomputed(law, n_in, n_out, between, None, tuple(sorted(set(coins))), most_known)


def precompute_ratios_between(
    law: ReleaseDistribution,
    n_in: int,
    n_out: int,
    low: float,
    high: float,
    coins: Sequence[int] = (0,),
    most_known: int = 0,
) -> PrecomputedRatios:
    """Build tables for groups of one size and all rates between two, for rates estimated in each release."""
    if not 0 < low <= high < 1:
        raise BadInput(f"rates must lie in (0, 1) with low <= high, got low = {low} and high = {high}")
    step = rate_step(n_out, np.array([low, np.clip(0.5, low, high), high]))
    first, last = np.floor(logit(low) / step), np.floor(logit(high) / step) + 1
    nodes = expit(step * np.arange(first, last + 1))
    return _precomputed(law, n_in, n_out, nodes, step, tuple(sorted(set(coins))), most_known)


def _precomputed(
    law: ReleaseDistribution,
    n_in: int,
    n_out: int,
    nodes: Reals,
    step: float | None,
    coins: tuple[int, ...],
    most_known: int,
) -> PrecomputedRatios:
    parts = law.parts(np.empty((0, 1))) if isinstance(law, PiecewiseShift) else ()
    strips = [strip for coin in coins for strip in rate_strips(n_in, n_out, coin, nodes)]
    tables = stacked_tables(parts, strips, most_known) if parts and nodes.size else ()
    return PrecomputedRatios(law, n_in, n_out, coins, nodes, step, tables)
