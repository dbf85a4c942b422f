"""Tables of log-likelihood ratios by rate and output, and groups of cells with similar rates that share one.

A row belongs to a rate, a column to a place (an output, or its distance from the known count). Between two
rates the ratio is interpolated linearly in their log-odds. Its slope is the difference of the mean counts
given the output, with and without the target; it lies in [-1, 1] and changes slowly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, floor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit, logit

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.locations.counts import count_priors
from leakgauge.domains.locations.counts.release_distribution import ShiftDistribution
from leakgauge.mechanisms import _count_noise as count_noise

MAX_LOG_RATIO = 1e6  # stands for certainty

IndexArray: TypeAlias = npt.NDArray[np.intp]
LogAverage: TypeAlias = Callable[[count_priors.LogWeights], Reals]

_MAX_EXPONENT = 300.0  # e^300 is still far from the largest float
_DISTANCES = np.ceil(1.1 ** np.arange(300))
_EDGE = 1e-6  # places this close to the last column are not read
MAX_EXACT_RATES = 128  # up to this many rates get a row each
_STEP = 0.04  # in log-odds between rows with more rates, ...
_SHAPE_BAND = 2.0  # shapes that differ by a factor of less than e^2 are similar, ...
_WIDEST = 50  # ... and so are all above e^100
_MAX_SPREAD = 15.0  # ... up to this standard deviation of a count


@dataclass(frozen=True)
class RatioGrid:
    """Evenly spaced places, and how ratios are interpolated between them."""

    first: float
    step: float
    n: int
    between: count_noise.DensityShape

    @classmethod
    def over(cls, low: float, high: float, between: count_noise.DensityShape) -> "RatioGrid":
        """Return the columns needed to interpolate every place between two ends."""
        match between:
            case count_noise.IntegerOutputs():
                return cls(low, 1.0, int(high - low) + 1, between)
            case count_noise.PiecewiseExponential():
                return cls(float(floor(low)), 1.0, floor(high) - floor(low) + 2, between)
            case count_noise.SmoothDensity(step=step):
                return cls(low - 2 * step, step, floor((high - low) / step) + 7, between)
            case count_noise.RoughDensity():
                raise AssertionError("a density that cannot be interpolated has no columns")

    @property
    def places(self) -> Reals:
        return np.asarray(self.first + self.step * np.arange(self.n, dtype=np.float64))

    @property
    def ends(self) -> tuple[float, float]:
        return self.first, self.first + self.step * (self.n - 1)

    @property
    def readable(self) -> tuple[float, float]:
        """The first and last place that can be interpolated."""
        first, last = self.ends
        match self.between:
            case count_noise.IntegerOutputs():
                return first, last
            case count_noise.PiecewiseExponential():
                return first, last - _EDGE
            case _:
                return first + 1.5 * self.step, last - 2.5 * self.step

    def part(self, first: int, last: int) -> "RatioGrid":
        """The columns from ``first`` to ``last``, both included."""
        return RatioGrid(self.first + first * self.step, self.step, last - first + 1, self.between)


@dataclass(frozen=True, eq=False)
class TableRows:
    """The row of each element in a table, and its position between that row and the next."""

    first: IndexArray
    share: Reals | None = None

    def of(self, columns: IndexArray, table: Reals) -> Reals:
        """Read one column for each element."""
        flat = self.first * table.shape[1] + columns
        values = table.ravel().take(flat)
        if self.share is None:
            return values
        return values + self.share * (table.ravel().take(flat + table.shape[1]) - values)

    def cubic_shares(self, n_rows: int) -> csr_array:
        """Return the shares of all rows of a table in each element, by cubic interpolation."""
        if self.share is None:
            raise AssertionError("rows without a position between others")
        shares, n = np.column_stack(_cubic_weights(self.share)), self.first.size
        columns = self.first[:, None] + np.arange(-1, 3)
        return csr_array((shares.ravel(), columns.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, n_rows))

    def only(self, elements: IndexArray | Bits) -> "TableRows":
        return TableRows(self.first[elements], None if self.share is None else self.share[elements])


@dataclass(frozen=True, eq=False)
class ColumnRatios:
    """Log-likelihood ratios, with the target against without it, at the columns.

    ``rise_in`` and ``rise_out`` are the differences of the two logs to the next column; only Laplace noise
    needs them, for interpolation.
    """

    at: Reals
    rise_in: Reals
    rise_out: Reals

    def rows_between(self, shares: csr_array) -> "ColumnRatios":
        """Return other rows: mixtures of these."""
        tables = (self.at, self.rise_in, self.rise_out)
        return ColumnRatios(*(shares @ table if table.size else table for table in tables))

    @classmethod
    def of(cls, log_in: Reals, log_out: Reals, between: count_noise.DensityShape) -> "ColumnRatios":
        if isinstance(between, count_noise.PiecewiseExponential):
            return cls(bounded_log_ratio(log_in, log_out), np.diff(log_in), np.diff(log_out))
        return cls(bounded_log_ratio(log_in, log_out), np.empty((0, 0)), np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class RatioTable:
    """Log ratios for many rates and places.

    ``present`` is for a target who is in the cell if a member, ``absent`` for one elsewhere. ``absent`` is
    None if the number of others does not depend on the membership (then all zero), or if it is not needed.
    """

    columns: RatioGrid
    present: ColumnRatios
    absent: ColumnRatios | None

    def read(self, places: Reals, rows: TableRows, weights: Reals | None) -> Reals:
        """The log ratio of each element; ``weights`` are the chances that the target is in its cell."""
        present = self._read(self.present, places, rows)
        if weights is None:
            return present
        absent = np.zeros(()) if self.absent is None else self._read(self.absent, places, rows)
        return weighted_log_ratio(present, absent, weights)

    def rows_between(self, rows: TableRows) -> "RatioTable":
        """Return a table of other rows, by cubic interpolation between these rows; NaN next to NaN."""
        shares = rows.cubic_shares(len(self.present.at))
        absent = None if self.absent is None else self.absent.rows_between(shares)
        return RatioTable(self.columns, self.present.rows_between(shares), absent)

    def _read(self, ratios: ColumnRatios, places: Reals, rows: TableRows) -> Reals:
        steps = (places - self.columns.first) / self.columns.step
        columns = np.floor(steps).astype(np.intp)
        match self.columns.between:
            case count_noise.IntegerOutputs():
                return rows.of(columns, ratios.at)
            case count_noise.PiecewiseExponential(scale):
                rises = rows.of(columns, ratios.rise_in), rows.of(columns, ratios.rise_out)
                return rows.of(columns, ratios.at) + _exponential(steps - columns, scale, *rises)
            case _:
                return _cubic(steps - columns, [rows.of(columns + i, ratios.at) for i in (-1, 0, 1, 2)])


def bounded_log_ratio(log_in: Reals, log_out: Reals) -> Reals:
    """Return the difference of two logs, clipped; 0 where both are -inf."""
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isneginf(log_in) & np.isneginf(log_out), 0.0, log_in - log_out)
    return np.clip(ratios, -MAX_LOG_RATIO, MAX_LOG_RATIO)


def weighted_log_ratio(present: Reals, absent: Reals, weights: Reals) -> Reals:
    """Return the log ratio for a member who is in a cell with probability ``weights``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.logaddexp(np.log(weights) + present, np.log1p(-weights) + absent)


def _exponential(share: Reals, scale: float, rise_in: Reals, rise_out: Reals) -> Reals:
    """Return the exact change of the log ratio from a column to a place before the next, for Laplace noise.

    Between whole numbers each density is sinh((1 - t) / scale) f(j) + sinh(t / scale) f(j + 1) over
    sinh(1 / scale): it solves f'' = f / scale^2. The factor e^(1 / scale) / 2 cancels.
    """
    back, on = share / scale, (1 - share) / scale
    if 1 / scale < _MAX_EXPONENT:
        here, there = np.exp(-back) * -np.expm1(-2 * on), np.exp(-on) * -np.expm1(-2 * back)
        return np.log((here + there * np.exp(rise_in)) / (here + there * np.exp(rise_out)))
    with np.errstate(divide="ignore"):
        here, there = np.log(-np.expm1(-2 * on)) - back, np.log(-np.expm1(-2 * back)) - on
    return np.logaddexp(here, there + rise_in) - np.logaddexp(here, there + rise_out)


def _cubic(share: Reals, values: list[Reals]) -> Reals:
    """Interpolate with Lagrange's cubic through four neighbouring columns, between the inner two."""
    return np.asarray(sum(weight * value for weight, value in zip(_cubic_weights(share), values)))


def _cubic_weights(s: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    """Return the weights of four neighbours, between the inner two, ``s`` beyond the second."""
    return (
        -s * (s - 1) * (s - 2) / 6,
        (s + 1) * (s - 1) * (s - 2) / 2,
        -(s + 1) * s * (s - 2) / 2,
        (s + 1) * s * (s - 1) / 6,
    )


@dataclass(frozen=True, eq=False)
class CellsByRate:
    """Cells of different rates, with the same numbers of unknown others (``n_in``, ``n_out``) and coins.

    ``shape`` says how well the rates are known, as in ``CountPrior``: one number, or one for each rate.
    """

    n_in: int
    n_out: int
    coins: int
    rates: Reals
    shape: Reals | float = np.inf

    def counts(self, low: float, high: float, tilt: float = np.inf) -> range:
        """Return the relevant counts for outputs between two ends."""
        rates = float(self.rates.min()), float(self.rates.max())
        shape = float(np.min(self.shape))
        return count_priors.count_window(self.n_out, *rates, self.coins, tilt, (low, high), shape)

    def home(self, spread: float, tail: float) -> tuple[float, float]:
        """Return the interval of nearly all outputs minus known counts, for noise up to ``spread``."""
        lowest, highest = (
            count_priors.count_bulk(
                self.n_out, float(rate), self.coins, tail=tail, shape=float(np.min(self.shape))
            )
            for rate in (self.rates.min(), self.rates.max())
        )
        low = max(lowest.start, 0.0) - spread
        high = min(highest.stop, self.n_out + self.coins) + 1 + spread
        return floor(low), ceil(high)

    def log_masses(self, counts: range) -> list[Reals]:
        """Return log probabilities with the target and without it, or one list entry if they are equal."""
        for window, masses in self._computed:
            if window.start <= counts.start and counts.stop <= window.stop:
                part = slice(counts.start - window.start, counts.stop - window.start)
                return [logs[:, part] for logs in masses]
        masses = [
            count_priors.log_masses(n, self.rates, self.coins, counts, self.shape)
            for n in dict.fromkeys((self.n_in, self.n_out))
        ]
        self._computed.append((counts, masses))
        return masses

    @cached_property
    def _computed(self) -> list[tuple[range, list[Reals]]]:
        """Log probabilities that are computed already, and the counts they belong to."""
        return []


def tabulate_ratios(
    law: ShiftDistribution, cells: CellsByRate, columns: RatioGrid, certain: bool = False
) -> RatioTable:
    """Build the table of a distribution that shifts with the count; a row for each rate.

    ``certain``: only for cells that a target visited with certainty.
    """
    counts = relevant_counts(law, cells, *columns.ends)
    if columns.step != 1:
        log_law = law.log_at(columns.places - np.arange(counts.start, counts.stop + 1)[:, None])
        return averaged_ratio_table(log_law, counts, cells, columns, certain)
    distances = columns.first - counts.stop + np.arange(columns.n + len(counts), dtype=np.float64)
    values = law.log_at(distances)
    there = partial(count_priors.log_convolve, log_values=values[:-1])
    away = partial(count_priors.log_convolve, log_values=values[1:])
    return _ratio_table(there, away, counts, cells, columns, certain)


def averaged_ratio_table(
    log_law: Reals, counts: range, cells: CellsByRate, columns: RatioGrid, certain: bool = False
) -> RatioTable:
    """Build a table from the log probability of every column given every count of a range and one more."""
    there, away = (
        partial(count_priors.log_mix, log_law=log_law[1:]),
        partial(count_priors.log_mix, log_law=log_law[:-1]),
    )
    return _ratio_table(there, away, counts, cells, columns, certain)


def _ratio_table(
    there: LogAverage,
    away: LogAverage,
    counts: range,
    cells: CellsByRate,
    columns: RatioGrid,
    certain: bool,
) -> RatioTable:
    """Build a table from averages over the counts, with the target in the cell and elsewhere."""
    masses = [count_priors.LogWeights(logs) for logs in cells.log_masses(counts)]
    without = away(masses[-1])
    present = ColumnRatios.of(there(masses[0]), without, columns.between)
    if certain or len(masses) == 1:
        return RatioTable(columns, present, None)
    return RatioTable(columns, present, ColumnRatios.of(away(masses[0]), without, columns.between))


def relevant_counts(law: ShiftDistribution, cells: CellsByRate, low: float, high: float) -> range:
    """Return the relevant counts for places between two ends, given how steep the distribution is."""
    widest = cells.counts(low, high)
    if float(np.min(cells.shape)) < np.inf:  # how steep it is does not matter then
        return widest
    distances = np.arange(floor(low) - widest.stop, ceil(high) - widest.start + 1, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        tilt = float(np.abs(np.diff(law.log_at(distances))).max())
    return cells.counts(low, high, tilt) if tilt < np.inf else widest


def noise_reach(law: ShiftDistribution, tail: float) -> float:
    """Return a distance at which the distribution has fallen by a factor e^-tail on both sides."""
    fallen = law.log_at(np.zeros(1)) - tail
    near = (law.log_at(_DISTANCES) >= fallen) | (law.log_at(-_DISTANCES) >= fallen)
    return float(_DISTANCES[min(int(near.sum()), _DISTANCES.size - 1)])


@dataclass(frozen=True, eq=False)
class OutputElements:
    """Some outputs of a block: the cell of each, and its rate and shape where they differ between rounds."""

    prior: count_priors.CountPrior
    weights: Reals | None
    cells: IndexArray
    own_rates: Reals | None = None
    own_shapes: Reals | None = None

    @classmethod
    def all_of(
        cls, shape: tuple[int, ...], prior: count_priors.CountPrior, weights: Reals | None
    ) -> "OutputElements":
        rates = np.broadcast_to(prior.rates, shape) if prior.per_round else None
        shapes = prior.shapes
        shapes = None if rates is None or shapes is None else np.broadcast_to(shapes, shape)
        return cls(prior, weights, np.broadcast_to(np.arange(shape[1]), shape), rates, shapes)

    def only(self, rows: Bits | IndexArray | slice) -> "OutputElements":
        """Return some of them, as one flat array."""
        rates = None if self.own_rates is None else self.own_rates[rows]
        shapes = None if self.own_shapes is None else self.own_shapes[rows]
        return OutputElements(self.prior, self.weights, self.cells[rows], rates, shapes)

    @property
    def rates(self) -> Reals:
        return self.prior.rates[self.cells] if self.own_rates is None else self.own_rates

    @property
    def own_weights(self) -> Reals | None:
        return None if self.weights is None else self.weights[self.cells]

    @property
    def by_kind(self) -> "tuple[Reals, CellKinds]":
        """The rates and the kinds of cells: of elements if rates differ between rounds, else of cells."""
        if self.own_rates is None:
            return self.prior.rates, CellKinds(self.prior.coins, self.prior.shapes)
        return self.own_rates, CellKinds(self.prior.coins[self.cells], self.own_shapes)

    def numbered_kinds(self) -> "tuple[IndexArray, list[CellKind]]":
        """Return the number of each one's kind, of elements or cells as in ``by_kind``, and the kinds."""
        shapes = self.prior.shapes
        if self.own_rates is None or (shapes is not None and shapes.ndim == 2):
            return self.by_kind[1].numbered()
        numbers, kinds = CellKinds(self.prior.coins, shapes).numbered()
        return numbers[self.cells], kinds

    def groups(self) -> Iterator["RateGroup"]:
        """Group them by coins, and by similar shapes and mean counts."""
        single = self.own_rates is not None  # or else cell by cell
        rates, kinds = self.by_kind
        keys = similar_cells(self.prior.n_out, rates, kinds)
        for key in np.unique(keys):
            chosen = np.flatnonzero(keys == key)
            elements = chosen if single else np.flatnonzero(keys[self.cells] == key)
            if not elements.size:
                continue
            shapes = None if kinds.shapes is None else kinds.shapes[chosen]
            nodes, node_shapes, rows = rate_rows(self.prior.n_out, rates[chosen], shapes)
            if not single:
                rows = rows.only(np.searchsorted(chosen, self.cells[elements]))
            coins = int(kinds.coins[chosen[0]])
            cells = CellsByRate(self.prior.n_in, self.prior.n_out, coins, nodes, node_shapes)
            yield RateGroup(elements, cells, rows)


CellKind: TypeAlias = tuple[int, float]  # number of coins, and shape


@dataclass(frozen=True, eq=False)
class CellKinds:
    """What decides the distribution of counts beside the rate: coins and shapes of cells or elements."""

    coins: IndexArray
    shapes: Reals | None

    def numbered(self) -> tuple[IndexArray, list[CellKind]]:
        """Return the number of each one's kind, and the kinds in this order."""
        coins, first = np.unique(self.coins, return_inverse=True)
        if self.shapes is None:
            return first, [(int(some), np.inf) for some in coins]
        shapes, second = np.unique(self.shapes, return_inverse=True)
        return first * shapes.size + second, [(int(some), float(shape)) for some in coins for shape in shapes]


@dataclass(frozen=True, eq=False)
class RateGroup:
    """Elements that share a table: which they are, the rates of its rows, and the row of each element."""

    elements: IndexArray
    cells: CellsByRate
    rows: TableRows


def rate_bands(n: int, rates: Reals, coins: IndexArray | int) -> IndexArray:
    """Number the cells: means with the same number differ by at most about eight standard deviations.

    Rates of 0 and 1, which have no finite log-odds, are in separate bands.
    """
    sure = (rates == 0) | (rates == 1)
    return (np.sqrt(n * rates + coins / 2) / 4).astype(np.intp) * 2 + sure


def similar_cells(n: int, rates: Reals, kinds: CellKinds) -> IndexArray:
    """Number the cells: those with the same number have equal coins, and similar shapes and mean counts."""
    bands = rate_bands(n, rates, kinds.coins)
    keys = kinds.coins * (bands.max(initial=0) + 1) + bands
    if kinds.shapes is None:
        return keys
    widths = np.clip(np.floor(np.log(kinds.shapes) / _SHAPE_BAND), -_WIDEST, _WIDEST).astype(np.intp)
    return np.asarray(keys * (2 * _WIDEST + 1) + widths + _WIDEST)


def rate_rows(n: int, rates: Reals, shapes: Reals | None) -> tuple[Reals, Reals | float, TableRows]:
    """Return the rates and shapes of a table's rows, and the row of each element with its own."""
    if shapes is None or (shapes == shapes[0]).all():
        nodes, rows = rate_nodes(n, rates)
        return nodes, np.inf if shapes is None else float(shapes[0]), rows
    if rates.size <= 16 * MAX_EXACT_RATES:
        pairs, numbers = np.unique(np.stack([rates, shapes]), axis=1, return_inverse=True)
        if pairs.shape[1] <= MAX_EXACT_RATES:
            return pairs[0], pairs[1], TableRows(numbers.ravel())
    distinct, kinds = np.unique(shapes, return_inverse=True)
    first, share = np.empty(rates.size, dtype=np.intp), np.empty(rates.size)
    nodes_of: list[Reals] = []
    for kind in range(distinct.size):
        own = np.flatnonzero(kinds == kind)
        nodes, rows = _even_nodes(n, rates[own])
        first[own], share[own] = rows.first + sum(some.size for some in nodes_of), rows.share
        nodes_of.append(nodes)
    repeats = [some.size for some in nodes_of]
    return np.concatenate(nodes_of), np.repeat(distinct, repeats), TableRows(first, share)


def rate_nodes(n: int, rates: Reals) -> tuple[Reals, TableRows]:
    """Return the rates of a table's rows, and each rate's row; evenly spaced if there are many rates."""
    if rates.size <= 16 * MAX_EXACT_RATES:
        distinct, rows = np.unique(rates, return_inverse=True)
        if distinct.size <= MAX_EXACT_RATES:
            return distinct, TableRows(rows)
    return _even_nodes(n, rates)


def _even_nodes(n: int, rates: Reals) -> tuple[Reals, TableRows]:
    steps = logit(rates) / rate_step(n, rates)
    first = np.floor(steps.min())
    rows = np.floor(steps - first).astype(np.intp)
    nodes = expit(rate_step(n, rates) * (first + np.arange(rows.max() + 2)))
    return nodes, TableRows(rows, steps - first - rows)


def rate_step(n: int, rates: Reals) -> float:
    """Return the distance of rows in log-odds for which interpolated ratios err by less than 0.001.

    The error grows with the square of the step and (found by experiment) with the spread of the counts.
    """
    spread = np.sqrt(n * (rates * (1 - rates)).max())
    return float(_STEP * np.sqrt(_MAX_SPREAD / max(spread, _MAX_SPREAD)))
