"""Cells of alike rates, gathered so that they share a table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.ratio_tables import CellsByRate, IndexArray, TableRows

MAX_EXACT_RATES = 128  # rates that get a row each

_STEP = 0.03  # of the log-odds of a rate, from row to row, where there are more, ...
_WIDE = 15.0  # ... up to this standard deviation of a count


@dataclass(frozen=True, eq=False)
class OutputElements:
    """Some outputs of a block: the cell of each, and its rate where every round has its own."""

    prior: CountPrior
    weights: Reals | None
    cells: IndexArray
    own_rates: Reals | None = None

    @classmethod
    def all_of(cls, shape: tuple[int, ...], prior: CountPrior, weights: Reals | None) -> "OutputElements":
        rates = np.broadcast_to(prior.rates, shape) if prior.per_round else None
        return cls(prior, weights, np.broadcast_to(np.arange(shape[1]), shape), rates)

    def only(self, rows: Bits | IndexArray | slice) -> "OutputElements":
        """Some of them, in one line."""
        rates = None if self.own_rates is None else self.own_rates[rows]
        return OutputElements(self.prior, self.weights, self.cells[rows], rates)

    @property
    def rates(self) -> Reals:
        return self.prior.rates[self.cells] if self.own_rates is None else self.own_rates

    @property
    def own_weights(self) -> Reals | None:
        return None if self.weights is None else self.weights[self.cells]

    def groups(self) -> Iterator["RateGroup"]:
        """Gather them by the coins and, not too far apart, by the mean of their counts."""
        single = self.own_rates is not None  # or else cell by cell
        rates = self.prior.rates if self.own_rates is None else self.own_rates
        coins = self.prior.coins[self.cells] if single else self.prior.coins
        keys = rate_bands(self.prior.n_out, rates, coins) * (int(coins.max()) + 1) + coins
        found = np.flatnonzero(np.bincount(keys))
        for key in found:
            chosen = np.flatnonzero(keys == key)
            elements = chosen if single else np.flatnonzero(keys[self.cells] == key)
            if not elements.size:
                continue
            nodes, rows = rate_nodes(self.prior.n_out, rates[chosen])
            if not single:
                rows = rows.only(np.searchsorted(chosen, self.cells[elements]))
            cells = CellsByRate(self.prior.n_in, self.prior.n_out, int(coins[chosen[0]]), nodes)
            yield RateGroup(elements, cells, rows)


@dataclass(frozen=True, eq=False)
class RateGroup:
    """Elements that share a table: which they are, the rates of its rows, and the row of each element."""

    elements: IndexArray
    cells: CellsByRate
    rows: TableRows


def rate_bands(n: int, rates: Reals, coins: IndexArray | int) -> IndexArray:
    """A number for each cell: cells that share it have means that differ by eight standard deviations or so.

    Rates of 0 and 1, which have no log-odds, are in bands of their own.
    """
    sure = (rates == 0) | (rates == 1)
    return (np.sqrt(n * rates + coins / 2) / 4).astype(np.intp) * 2 + sure


def rate_nodes(n: int, rates: Reals) -> tuple[Reals, TableRows]:
    """Rates for the rows of a table, and the row of each: one each if they are few, else evenly spaced."""
    if rates.size <= 16 * MAX_EXACT_RATES:
        distinct, rows = np.unique(rates, return_inverse=True)
        if distinct.size <= MAX_EXACT_RATES:
            return distinct, TableRows(rows)
    steps = logit(rates) / rate_step(n, rates)
    first = np.floor(steps.min())
    rows = np.floor(steps - first).astype(np.intp)
    nodes = expit(rate_step(n, rates) * (first + np.arange(rows.max() + 2)))
    return nodes, TableRows(rows, steps - first - rows)


def rate_step(n: int, rates: Reals) -> float:
    """How far apart in log-odds rows may be, so that the ratio between them errs by less than a thousandth.

    The error grows with the square of the step and, as found by trial, with the spread of the counts.
    """
    spread = np.sqrt(n * (rates * (1 - rates)).max())
    return float(_STEP * np.sqrt(_WIDE / max(spread, _WIDE)))
