"""Log-likelihood ratios of published counts, averaged over the attacker's prior of the true counts.

They are computed for the outputs of a block, or in tables before the first round, for all targets and rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts import ratio_tables, release_distribution
from leakgauge.domains.locations.counts.count_priors import CountPrior, log_sum
from leakgauge.domains.locations.counts.ratio_tables import CellKind, CellKinds
from leakgauge.mechanisms._count_noise import IntegerOutputs, RoughDensity

_ENTRIES = 2**20  # numbers held in memory at a time
_MAX_TABLE_ENTRIES = 2**22
_TAIL = 40.0  # outputs less likely than about e^-40 are summed one by one

_MAX_COARSENESS = 5  # at least every fifth row of a table of many rates is computed, others interpolated
_MAX_COARSE_STEP = 0.8  # in log-odds, over the standard deviation of counts
_ROUNDING = 1e-6  # of a step between rows

_MAX_WIDENING = 3.0  # of the range of counts of rows that are computed with others, ...
_FEW_ENTRIES = 2**14  # ... and the numbers that this adds: computing them takes as long as another call

OutputRange: TypeAlias = tuple[float, float]

_TAILS = (18.0, 12.0, 8.0, 5.0)  # outputs less likely than e^-tail are left out; the first tail that fits


def log_ratios_by_sums(
    log_law: release_distribution.LogProbability,
    counts: range,
    cells: ratio_tables.CellsByRate,
    places: Reals,
    weights: Reals | None,
) -> Reals:
    """Return the log ratio of each place, with one cell for each place."""
    true = np.arange(counts.start, counts.stop + 1, dtype=np.float64)
    ratios = np.empty(places.size)
    block = max(1, _ENTRIES // true.size)
    for first in range(0, places.size, block):
        part = slice(first, first + block)
        law = log_law(places[part, None], true)
        masses = replace(cells, rates=cells.rates[part]).log_masses(counts)
        without = log_sum(masses[-1] + law[:, :-1])
        ratios[part] = ratio_tables.bounded_log_ratio(log_sum(masses[0] + law[:, 1:]), without)
        if weights is not None:
            absent = ratio_tables.bounded_log_ratio(log_sum(masses[0] + law[:, :-1]), without)
            ratios[part] = ratio_tables.weighted_log_ratio(ratios[part], absent, weights[part])
    return ratios


def log_ratios(
    law: release_distribution.ReleaseDistribution,
    outputs: npt.ArrayLike,
    known: npt.ArrayLike,
    prior: CountPrior,
    weights: Reals | None = None,
) -> Reals:
    """Return the log-likelihood ratios of outputs, member against non-member: rounds x cells.

    log sum_c P_in(c) law(o | known + c + 1) - log sum_c P_out(c) law(o | known + c), the likelihood ratio of
    Neyman and Pearson (1933) with the count averaged over ``prior``. ``known`` others are in a cell with
    certainty. ``weights`` is the probability that the target, if a member, is in each cell (default 1).
    Outputs that are possible only with or only without the target get +-1e6; those possible in neither case
    get 0. The error is at most 1e-5 under smooth unrounded noise, and 1e-3 with more than 128 rates, which
    are interpolated; otherwise the result is exact.
    """
    seen = np.asarray(outputs, dtype=np.float64)
    sure = np.broadcast_to(np.asarray(known, dtype=np.float64), seen.shape)
    weights = None if weights is None or (weights == 1).all() else weights
    if prior.sure:
        ratios = ratio_tables.bounded_log_ratio(law.log_law(seen, sure + 1), law.log_law(seen, sure))
        return ratios if weights is None else ratio_tables.weighted_log_ratio(ratios, np.zeros(()), weights)
    ratios = np.zeros(seen.shape)
    everything = ratio_tables.OutputElements.all_of(seen.shape, prior, weights)
    if isinstance(law, release_distribution.PiecewiseShift):
        for part in law.parts(seen):
            if part.places.size:
                places = part.places - sure[part.rows]
                ratios[part.rows] = shift_log_ratios(part.law, places, everything.only(part.rows))
        return ratios
    seen = law.coarse(seen) if isinstance(law, release_distribution.BinnedOutputs) else seen
    for value in np.unique(sure):
        rows = sure == value
        ratios[rows] = _general_log_ratios(law, float(value), seen[rows], everything.only(rows))
    return ratios


def total_log_ratio(ratios: Reals) -> Reals:
    """Return the score of each round: the sum over cells, without rounding errors.

    >>> total_log_ratio(np.array([[np.log(2), -np.log(2), 1e-14]])).tolist()
    [0.0]
    """
    return np.clip(ratios, -ratio_tables.MAX_LOG_RATIO, ratio_tables.MAX_LOG_RATIO).sum(axis=1).round(9) + 0.0


def shift_log_ratios(
    law: release_distribution.ShiftDistribution, places: Reals, elements: ratio_tables.OutputElements
) -> Reals:
    """Return ratios under a distribution shifted by the count; places are relative to the known count.

    Likely places are read from a table unless the density cannot be interpolated; all others are summed one
    by one.
    """
    ratios = np.empty(places.size)
    spread = ratio_tables.noise_reach(law, _TAIL)
    for group in elements.groups():
        own = places[group.elements]
        low, high = group.cells.home(spread, _TAIL)
        home = (own >= low) & (own <= high) & (not isinstance(law.between, RoughDensity))
        if home.any():
            columns = ratio_tables.RatioGrid.over(float(own[home].min()), float(own[home].max()), law.between)
            home &= columns.n * group.cells.rates.size <= _MAX_TABLE_ENTRIES
        if home.any():
            weights = elements.only(group.elements[home]).own_weights
            table = ratio_tables.tabulate_ratios(law, group.cells, columns)
            ratios[group.elements[home]] = table.read(own[home], group.rows.only(home), weights)
        if not home.all():
            far = group.elements[~home]
            ratios[far] = _shift_sums(law, places[far], elements.only(far), group.cells)
    return ratios


def _shift_sums(
    law: release_distribution.ShiftDistribution,
    places: Reals,
    elements: ratio_tables.OutputElements,
    cells: ratio_tables.CellsByRate,
) -> Reals:
    counts = ratio_tables.relevant_counts(law, cells, float(places.min()), float(places.max()))
    own = replace(cells, rates=elements.rates)
    return log_ratios_by_sums(lambda x, c: law.log_at(x - c), counts, own, places, elements.own_weights)


def _general_log_ratios(
    law: release_distribution.ReleaseDistribution,
    known: float,
    outputs: Reals,
    elements: ratio_tables.OutputElements,
) -> Reals:
    """Return ratios under any distribution, for cells with the same number of known people."""
    ratios = np.empty(outputs.size)
    for group in elements.groups():
        own, these = outputs[group.elements], elements.only(group.elements)
        nodes, columns = np.unique(own, return_inverse=True)
        counts = group.cells.counts(float(nodes[0]) - known, float(nodes[-1]) - known)
        true = known + np.arange(counts.start, counts.stop + 1, dtype=np.float64)
        if nodes.size * max(group.cells.rates.size, true.size) <= _MAX_TABLE_ENTRIES:
            log_law = law.log_law(nodes, true[:, None])
            table = ratio_tables.averaged_ratio_table(
                log_law, counts, group.cells, ratio_tables.RatioGrid(0.0, 1.0, nodes.size, IntegerOutputs())
            )
            ratios[group.elements] = table.read(columns.astype(np.float64), group.rows, these.own_weights)
        else:
            cells = replace(group.cells, rates=these.rates)
            ratios[group.elements] = log_ratios_by_sums(
                lambda outputs, counts: law.log_law(outputs, counts + known),
                counts,
                cells,
                own,
                these.own_weights,
            )
    return ratios


class TableStrip(NamedTuple):
    """Some rows of a table that are computed together, and their numbers."""

    cells: ratio_tables.CellsByRate
    rows: ratio_tables.IndexArray


def table_strips(n_in: int, n_out: int, kinds: Sequence["KindRows"]) -> list[TableStrip]:
    """Split the rows of a table into groups whose counts lie in a similar range."""
    rates = np.concatenate([kind.nodes for kind in kinds])
    coins, shapes = (
        np.repeat(values, [kind.nodes.size for kind in kinds])
        for values in ([kind.coins for kind in kinds], [kind.shape for kind in kinds])
    )
    keys = ratio_tables.similar_cells(n_out, rates, CellKinds(coins, shapes))
    strips: list[TableStrip] = []
    for key in np.unique(keys):
        rows = np.flatnonzero(keys == key)
        cells = ratio_tables.CellsByRate(n_in, n_out, int(coins[rows[0]]), rates[rows], shapes[rows])
        strip = TableStrip(cells, rows)
        if strips and _one_strip(strips[-1], strip):
            rows = np.concatenate([strips.pop().rows, rows])
            strip = TableStrip(replace(cells, rates=rates[rows], shape=shapes[rows]), rows)
        strips.append(strip)
    return strips


def _one_strip(one: TableStrip, other: TableStrip) -> bool:
    """Whether two strips are computed faster together: they are small, and their counts not too different."""
    if one.cells.coins != other.cells.coins:
        return False
    ends = [strip.cells.home(0.0, _TAIL) for strip in (one, other)]
    (width, rows), (wider, _) = sorted(
        (high - low, strip.rows.size) for (low, high), strip in zip(ends, (one, other))
    )
    return wider <= _MAX_WIDENING * width and rows * (wider - width) <= _FEW_ENTRIES


def stacked_tables(
    parts: Sequence[release_distribution.OutputPart],
    strips: list[TableStrip],
    n_rows: int,
    most_known: int,
    certain: bool,
) -> tuple[ratio_tables.RatioTable, ...]:
    """Return a table of likely outputs for each part of a distribution, or none if ``n_rows`` are too many.

    ``certain``: nobody will read it for cells that a target visited with a probability below 1.
    """
    if any(isinstance(part.law.between, RoughDensity) for part in parts):
        return ()
    for tail in _TAILS:
        spread = ratio_tables.noise_reach(parts[0].law, tail)
        ends = [strip.cells.home(spread, tail) for strip in strips]
        if _columns(ends, parts[0].law).n * n_rows <= _MAX_TABLE_ENTRIES:
            return tuple(
                _joined(part.law, strips, _within(ends, part, most_known), certain) for part in parts
            )
    return ()


def _within(
    ends: list[OutputRange], part: release_distribution.OutputPart, most_known: int
) -> list[OutputRange]:
    """Restrict the ends to one place minus the known people, for outputs that stand for that place.

    Where the ends hold no such place, as is mostly so for the size of the group, the upper end is below the
    lower one: nothing is tabulated.
    """
    if part.only is None:
        return ends
    last = float(part.only)
    return [(min(max(low, last - most_known), last), min(high, last)) for low, high in ends]


def _columns(ends: list[OutputRange], law: release_distribution.ShiftDistribution) -> ratio_tables.RatioGrid:
    low = min(low for low, _ in ends)
    return ratio_tables.RatioGrid.over(low, max(low, *(high for _, high in ends)), law.between)


def _joined(
    law: release_distribution.ShiftDistribution,
    strips: list[TableStrip],
    ends: list[OutputRange],
    certain: bool,
) -> ratio_tables.RatioTable:
    """Stack the tables of all strips into one; NaN where outputs are unlikely."""
    columns = _columns(ends, law)
    parts = []
    for strip, (low, high) in zip(strips, ends, strict=True):
        if low <= high:
            first = int((low - columns.first) / columns.step)
            last = min(int(np.ceil((high - columns.first) / columns.step)), columns.n - 1)
            table = ratio_tables.tabulate_ratios(law, strip.cells, columns.part(first, last), certain)
            parts.append((strip.rows, first, table))
    n_rows = sum(strip.rows.size for strip in strips)
    present = _stacked([(rows, first, table.present) for rows, first, table in parts], n_rows, columns.n)
    absent = [(rows, first, table.absent) for rows, first, table in parts if table.absent is not None]
    return ratio_tables.RatioTable(columns, present, _stacked(absent, n_rows, columns.n) if absent else None)


def _stacked(
    parts: list[tuple[ratio_tables.IndexArray, int, ratio_tables.ColumnRatios]], n_rows: int, n: int
) -> ratio_tables.ColumnRatios:
    def stack(blocks: list[Reals], width: int) -> Reals:
        stacked = np.full((n_rows, width), np.nan)
        for (rows, first, _), block in zip(parts, blocks, strict=True):
            stacked[rows, first : first + block.shape[1]] = block
        return stacked

    rises = n - 1 if any(ratios.rise_in.size for *_, ratios in parts) else 0
    return ratio_tables.ColumnRatios(
        stack([ratios.at for *_, ratios in parts], n),
        stack([ratios.rise_in for *_, ratios in parts], rises) if rises else np.empty((0, 0)),
        stack([ratios.rise_out for *_, ratios in parts], rises) if rises else np.empty((0, 0)),
    )


@dataclass(frozen=True, eq=False)
class KindRows:
    """The rows of a table for cells of one kind (coins and shape): one for each rate in ``nodes``."""

    coins: int
    shape: float
    nodes: Reals  # rates in ascending order
    first: int = 0  # row

    @property
    def ends(self) -> tuple[float, float, int, int]:
        """The lowest and the highest rate, the first row, and how many rows follow it."""
        return float(self.nodes[0]), float(self.nodes[-1]), self.first, self.nodes.size - 1


@dataclass(frozen=True, eq=False)
class PrecomputedRatios:
    """Looks up what ``log_ratios`` computes; ratios that are not in the tables are computed.

    A table has a row for each rate of each kind of cells. Built by ``precompute_ratios``.
    """

    law: release_distribution.ReleaseDistribution
    n_in: int
    n_out: int
    kinds: tuple[KindRows, ...]
    step: float | None  # of the log-odds of rates, where ratios between them may be interpolated
    tables: tuple[ratio_tables.RatioTable, ...]  # one for each part of the law
    certain: bool = False  # whether the tables are only for cells that a target visited with certainty

    @property
    def n_rows(self) -> int:
        return sum(kind.nodes.size for kind in self.kinds)

    def log_ratios(
        self, outputs: npt.ArrayLike, known: npt.ArrayLike, prior: CountPrior, weights: Reals | None = None
    ) -> Reals:
        """Return the same as ``count_ratios.log_ratios`` with this distribution."""
        weights = None if weights is None or (weights == 1).all() else weights
        other = prior.sure or (prior.n_in, prior.n_out) != (self.n_in, self.n_out)
        other |= self.certain and weights is not None
        if other or not (self.tables and isinstance(self.law, release_distribution.PiecewiseShift)):
            return log_ratios(self.law, outputs, known, prior, weights)
        seen = np.asarray(outputs, dtype=np.float64)
        sure = np.broadcast_to(np.asarray(known, dtype=np.float64), seen.shape)
        ratios = np.zeros(seen.shape)
        everything = ratio_tables.OutputElements.all_of(seen.shape, prior, weights)
        rows, listed = self._rows(everything)
        for part, table in zip(self.law.parts(seen), self.tables, strict=True):
            if part.places.size:
                places = part.places - sure[part.rows]
                ratios[part.rows] = self._read(
                    table,
                    part,
                    places,
                    everything.only(part.rows),
                    rows.only(part.rows),
                    listed[part.rows],
                )
        return ratios

    def _read(
        self,
        table: ratio_tables.RatioTable,
        part: release_distribution.OutputPart,
        places: Reals,
        elements: ratio_tables.OutputElements,
        rows: ratio_tables.TableRows,
        listed: Bits,
    ) -> Reals:
        """Return the ratios of some elements, given their rows and which of them have one."""
        low, high = table.columns.readable
        listed = listed & (places >= low) & (places <= high)
        ratios = table.read(np.clip(places, low, high), rows, elements.own_weights)
        missing = np.flatnonzero(~listed | np.isnan(ratios))
        if missing.size:
            ratios[missing] = shift_log_ratios(part.law, places[missing], elements.only(missing))
        return ratios

    def _rows(self, elements: ratio_tables.OutputElements) -> tuple[ratio_tables.TableRows, Bits]:
        """Return the row of each element, and whether there is one."""
        rates = elements.prior.rates if elements.own_rates is None else elements.own_rates
        numbers, distinct = elements.numbered_kinds()
        by_kind = {(kind.coins, kind.shape): kind for kind in self.kinds}
        kinds = [by_kind.get((coins, shape if self.n_out else np.inf)) for coins, shape in distinct]
        rows, listed = (
            self._exact(rates, numbers, kinds)
            if self.step is None
            else self._between(rates, numbers, kinds, self.step)
        )
        if elements.own_rates is None:
            return rows.only(elements.cells), listed[elements.cells]
        return rows, listed

    def _exact(
        self, rates: Reals, numbers: ratio_tables.IndexArray, kinds: Sequence[KindRows | None]
    ) -> tuple[ratio_tables.TableRows, Bits]:
        """Return the rows of equal rates, given the number of each one's kind, and which exist."""
        rows, listed = np.zeros(rates.shape, dtype=np.intp), np.zeros(rates.shape, dtype=bool)
        for number, kind in enumerate(kinds):
            if kind is None or not (own := np.flatnonzero(numbers == number)).size:
                continue
            if self.n_out == 0:
                rows[own], listed[own] = kind.first, True
            else:
                nearest = np.searchsorted(kind.nodes, rates[own]).clip(max=kind.nodes.size - 1)
                rows[own], listed[own] = kind.first + nearest, kind.nodes[nearest] == rates[own]
        return ratio_tables.TableRows(rows), listed

    @staticmethod
    def _between(
        rates: Reals, numbers: ratio_tables.IndexArray, kinds: Sequence[KindRows | None], step: float
    ) -> tuple[ratio_tables.TableRows, Bits]:
        """Return the rows below the rates, the position of the rates above them, and which exist."""
        ends = [(0.5, 0.5, 0, 1) if kind is None else kind.ends for kind in kinds]
        low, high, first, last = np.array(ends, dtype=np.float64).T
        listed = (rates >= low[numbers]) & (rates < high[numbers])
        inside = rates if listed.all() else np.where(listed, rates, low[numbers])
        steps = (logit(inside) - logit(low)[numbers]) / step
        rows = np.clip(np.floor(steps), 0, (last - 1)[numbers])
        return ratio_tables.TableRows((first[numbers] + rows).astype(np.intp), steps - rows), listed


class RateRange(NamedTuple):
    """The rates that cells of one kind (coins and shape) may have."""

    low: float
    high: float
    coins: int = 0
    shape: float = np.inf


def precompute_ratios(
    law: release_distribution.ReleaseDistribution, prior: CountPrior, most_known: int = 0
) -> PrecomputedRatios:
    """Build tables for the cells of a prior; exact for up to 128 different rates (with coins and shape).

    A cell contains at most ``most_known`` known people. If nobody is unknown, rates do not matter.
    """
    kinds = CellKinds(prior.coins, prior.shapes)
    if prior.n_out == 0:
        nodes = {(coins, np.inf): np.array([0.5]) for coins, _ in kinds.numbered()[1]}
        return _precomputed(law, 0, 0, nodes, None, most_known)
    numbers, distinct = kinds.numbered()
    inner = (prior.rates > 0) & (prior.rates < 1)
    nodes = {distinct[n]: np.unique(prior.rates[inner & (numbers == n)]) for n in np.unique(numbers[inner])}
    if sum(some.size for some in nodes.values()) > ratio_tables.MAX_EXACT_RATES:
        ranges = [RateRange(float(some[0]), float(some[-1]), *kind) for kind, some in nodes.items()]
        return precompute_ratios_between(law, prior.n_in, prior.n_out, ranges, most_known)
    return _precomputed(law, prior.n_in, prior.n_out, nodes, None, most_known)


def precompute_ratios_between(
    law: release_distribution.ReleaseDistribution,
    n_in: int,
    n_out: int,
    ranges: Sequence[RateRange],
    most_known: int = 0,
    *,
    certain: bool = False,
) -> PrecomputedRatios:
    """Build tables for groups of one size and ranges of rates, for rates estimated in each release.

    ``certain``: only for cells that a target visited with certainty.
    """
    for one in ranges:
        if not 0 < one.low <= one.high < 1:
            raise BadInput(
                f"rates must lie in (0, 1) with low <= high, got low = {one.low} and high = {one.high}"
            )
    low, high = min(one.low for one in ranges), max(one.high for one in ranges)
    step = ratio_tables.rate_step(n_out, np.array([low, np.clip(0.5, low, high), high]))
    nodes = {}
    for one in ranges:
        first, last = np.floor(logit(one.low) / step), np.floor(logit(one.high) / step) + 1
        nodes[one.coins, one.shape] = expit(step * np.arange(first, last + 1))
    return _precomputed(law, n_in, n_out, nodes, step, most_known, certain)


def _precomputed(
    law: release_distribution.ReleaseDistribution,
    n_in: int,
    n_out: int,
    nodes: Mapping[CellKind, Reals],
    step: float | None,
    most_known: int,
    certain: bool = False,
) -> PrecomputedRatios:
    """Build the tables; ``nodes`` are the rates of each kind of cells."""
    parts = law.parts(np.empty((0, 1))) if isinstance(law, release_distribution.PiecewiseShift) else ()
    kinds = _stacked_kinds(nodes)
    tables: tuple[ratio_tables.RatioTable, ...] = ()
    if parts and kinds:
        n_rows = kinds[-1].first + kinds[-1].nodes.size
        if step is None:
            tables = stacked_tables(parts, table_strips(n_in, n_out, kinds), n_rows, most_known, certain)
        else:
            steps = [step * _coarseness(n_out, kind.nodes, step) for kind in kinds]
            coarse = _stacked_kinds(
                {(kind.coins, kind.shape): _coarse(kind.nodes, own) for kind, own in zip(kinds, steps)}
            )
            strips, rows = table_strips(n_in, n_out, coarse), _between_coarse(kinds, coarse, steps)
            tables = tuple(
                table.rows_between(rows)
                for table in stacked_tables(parts, strips, n_rows, most_known, certain)
            )
    return PrecomputedRatios(law, n_in, n_out, kinds, step, tables, certain)


def _stacked_kinds(nodes: Mapping[CellKind, Reals]) -> tuple[KindRows, ...]:
    starts = np.cumsum([0, *(rates.size for rates in nodes.values())]).tolist()
    return tuple(KindRows(*kind, rates, first) for (kind, rates), first in zip(nodes.items(), starts))


def _coarseness(n: int, rates: Reals, step: float) -> int:
    """Return of how many rows one is computed; the less counts vary, the more slowly do ratios change."""
    spread = float(np.sqrt(n * (rates * (1 - rates)).max()))
    return int(np.clip(_MAX_COARSE_STEP / (step * max(spread, 1.0)), 1, _MAX_COARSENESS))


def _coarse(nodes: Reals, step: float) -> Reals:
    """Return rates in larger steps, with two beyond the nodes on either side."""
    first, last = np.floor(logit(nodes[[0, -1]]) / step + _ROUNDING).tolist()
    return expit(step * np.arange(first - 1, last + 3))


def _between_coarse(
    kinds: Sequence[KindRows], coarse: Sequence[KindRows], steps: Sequence[float]
) -> ratio_tables.TableRows:
    """Return where the rows of tables lie between those of coarse ones."""
    first, share = [], []
    for own, wide, step in zip(kinds, coarse, steps, strict=True):
        places = (logit(own.nodes) - logit(wide.nodes[0])) / step
        below = np.floor(places + _ROUNDING)
        first.append(wide.first + below.astype(np.intp))
        share.append(places - below)
    return ratio_tables.TableRows(np.concatenate(first), np.concatenate(share))
