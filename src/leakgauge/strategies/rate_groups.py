"""Cells of alike rates, gathered so that they share a table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.count_priors import CountPrior
from leakgauge.strategies.ratio_tables import Places, Rows
from leakgauge.strategies.tabulating import Cells

EXACT = 128  # rates that get a row each

_STEP = 0.03  # of the log-odds of a rate, from row to row, where there are more, ...
_WIDE = 15.0  # ... up to this standard deviation of a count


@dataclass(frozen=True, eq=False)
class Elements:
    """Some outputs of a block: the cell of each, and its rate where every round has its own."""

    prior: CountPrior
    weights: Reals | None
    cells: Places
    own_rates: Reals | None = None

    @classmethod
    def all_of(cls, shape: tuple[int, ...], prior: CountPrior, weights: Reals | None) -> "Elements":
        rates = np.broadcast_to(prior.rates, shape) if prior.per_round else None
        return cls(prior, weights, np.broadcast_to(np.arange(shape[1]), shape), rates)

    def only(self, rows: Bits | Places | slice) -> "Elements":
        """Some of them, in one line."""
        rates = None if self.own_rates is None else self.own_rates[rows]
        return Elements(self.prior, self.weights, self.cells[rows], rates)

    @property
    def rates(self) -> Reals:
        return self.prior.rates[self.cells] if self.own_rates is None else self.own_rates

    @property
    def own_weights(self) -> Reals | None:
        return None if self.weights is None else self.weights[self.cells]

    def groups(self) -> Iterator["Group"]:
        """Gather them by the coins and, not too far apart, by the mean of their counts."""
        single = self.own_rates is not None  # or else cell by cell
        rates = self.prior.rates if self.own_rates is None else self.own_rates
        coins = self.prior.coins[self.cells] if single else self.prior.coins
        keys = bands(self.prior.n_out, rates, coins) * (int(coins.max()) + 1) + coins
        found = np.flatnonzero(np.bincount(keys))
        for key in found:
            chosen = np.flatnonzero(keys == key)
            elements = chosen if single else np.flatnonzero(keys[self.cells] == key)
            if not elements.size:
                continue
            nodes, rows = nodes_of(self.prior.n_out, rates[chosen])
            if not single:
                rows = rows.only(np.searchsorted(chosen, self.cells[elements]))
            cells = Cells(self.prior.n_in, self.prior.n_out, int(coins[chosen[0]]), nodes)
            yield Group(elements, cells, rows)


@dataclass(frozen=True, eq=False)
class Group:
    """Elements that share a table: which they are, the rates of its rows, and the row of each element."""

    elements: Places
    cells: Cells
    rows: Rows


def bands(n: int, rates: Reals, coins: Places | int) -> Places:
    """A number for each cell: cells that share it have means that differ by eight standard deviations or so.

    Rates of 0 and 1, which have no log-odds, are in bands of their own.
    """
    sure = (rates == 0) | (rates == 1)
    return (np.sqrt(n * rates + coins / 2) / 4).astype(np.intp) * 2 + sure


def nodes_of(n: int, rates: Reals) -> tuple[Reals, Rows]:
    """Rates for the rows of a table, and the row of each: one each if they are few, else evenly spaced."""
    if rates.size <= 16 * EXACT:
        distinct, rows = np.unique(rates, return_inverse=True)
        if distinct.size <= EXACT:
            return distinct, Rows(rows)
    steps = logit(rates) / step_for(n, rates)
    first = np.floor(steps.min())
    rows = np.floor(steps - first).astype(np.intp)
    nodes = expit(step_for(n, rates) * (first + np.arange(rows.max() + 2)))
    return nodes, Rows(rows, steps - first - rows)


def step_for(n: int, rates: Reals) -> float:
    """How far apart in log-odds rows may be, so that the ratio between them errs by less than a thousandth.

    The error grows with the square of the step and, as found by trial, with the spread of the counts.
    """
    spread = np.sqrt(n * (rates * (1 - rates)).max())
    return float(_STEP * np.sqrt(_WIDE / max(spread, _WIDE)))
