"""Groups of cells with similar rates that share a table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.ratio_tables import CellsByRate, IndexArray, TableRows

MAX_EXACT_RATES = 128  # up to this many rates get a row each

_STEP = 0.03  # in log-odds between rows with more rates, ...
_MAX_SPREAD = 15.0  # ... up to this standard deviation of a count


@dataclass(frozen=True, eq=False)
class OutputElements:
    """Some outputs of a block: the cell of each, and its rate where rates differ between rounds."""

    prior: CountPrior
    weights: Reals | None
    cells: IndexArray
    own_rates: Reals | None = None

    @classmethod
    def all_of(cls, shape: tuple[int, ...], prior: CountPrior, weights: Reals | None) -> "OutputElements":
        rates = np.broadcast_to(prior.rates, shape) if prior.per_round else None
        return cls(prior, weights, np.broadcast_to(np.arange(shape[1]), shape), rates)

    def only(self, rows: Bits | IndexArray | slice) -> "OutputElements":
        """Return some of them, as one flat array."""
        rates = None if self.own_rates is None else self.own_rates[rows]
        return OutputElements(self.prior, self.weights, self.cells[rows], rates)

    @property
    def rates(self) -> Reals:
        return self.prior.rates[self.cells] if self.own_rates is None else self.own_rates

    @property
    def own_weights(self) -> Reals | None:
        return None if self.weights is None else self.weights[self.cells]

    def groups(self) -> Iterator["RateGroup"]:
        """Group them by coins and by similar mean counts."""
        single = self.own_rates is not None  # or else cell by cell
        rates = self.prior.rates if self.own_rates is None else self.own_rates
        coins = self.prior.coins[self.cells] if single else self.prior.coins
        keys = rate_bands(self.prior.n_out, rates, coins) * (int(coins.max()) + 1) + coins
        present_keys = np.flatnonzero(np.bincount(keys))
        for key in present_keys:
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
    """Number the cells: means with the same number differ by at most about eight standard deviations.

    Rates of 0 and 1, which have no finite log-odds, are in separate bands.
    """
    sure = (rates == 0) | (rates == 1)
    return (np.sqrt(n * rates + coins / 2) / 4).astype(np.intp) * 2 + sure


def rate_nodes(n: int, rates: Reals) -> tuple[Reals, TableRows]:
    """Return the rates of a table's rows, and each rate's row; evenly spaced if there are many rates."""
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
    """Return the distance of rows in log-odds for which interpolated ratios err by less than 0.001.

    The error grows with the square of the step and (found by experiment) with the spread of the counts.
    """
    spread = np.sqrt(n * (rates * (1 - rates)).max())
    return float(_STEP * np.sqrt(_MAX_SPREAD / max(spread, _MAX_SPREAD)))
