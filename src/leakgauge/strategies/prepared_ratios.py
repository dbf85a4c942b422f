"""Tables of likelihood ratios made before the first round, for all targets and rounds at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.count_priors import CountPrior
from leakgauge.strategies.count_ratios import log_ratios, moving_ratios
from leakgauge.strategies.laws import InParts, Law, Part
from leakgauge.strategies.rate_groups import EXACT, Elements, step_for
from leakgauge.strategies.ratio_tables import Rows, Table
from leakgauge.strategies.stacked_tables import stacked_tables, strips_of


@dataclass(frozen=True, eq=False)
class PreparedRatios:
    """Looks ratios up where ``log_ratios`` would work them out; what is not in its tables, it works out.

    A table has a row for each rate in ``nodes``, for each number of coins in ``coins``. Made by ``prepare``.
    """

    law: Law
    n_in: int
    n_out: int
    coins: tuple[int, ...]
    nodes: Reals  # rates in rising order
    step: float | None  # of their log-odds, where ratios between them may be interpolated
    tables: tuple[Table, ...]  # one for each part of the law

    def log_ratios(
        self, outputs: npt.ArrayLike, known: npt.ArrayLike, prior: CountPrior, weights: Reals | None = None
    ) -> Reals:
        """The same as ``count_ratios.log_ratios`` with this law."""
        other = prior.sure or (prior.n_in, prior.n_out) != (self.n_in, self.n_out)
        if other or not (self.tables and isinstance(self.law, InParts)):
            return log_ratios(self.law, outputs, known, prior, weights)
        seen = np.asarray(outputs, dtype=np.float64)
        sure = np.broadcast_to(np.asarray(known, dtype=np.float64), seen.shape)
        ratios = np.zeros(seen.shape)
        weights = None if weights is None or (weights == 1).all() else weights
        everything = Elements.all_of(seen.shape, prior, weights)
        for part, table in zip(self.law.parts(seen), self.tables, strict=True):
            if part.places.size:
                elements = everything.only(part.rows)
                ratios[part.rows] = self._read(table, part, part.places - sure[part.rows], elements)
        return ratios

    def _read(self, table: Table, part: Part, places: Reals, elements: Elements) -> Reals:
        rows, listed = self._rows(elements)
        low, high = table.columns.readable
        listed &= (places >= low) & (places <= high)
        found = table.read(np.clip(places, low, high), rows, elements.own_weights)
        missing = np.flatnonzero(~listed | np.isnan(found))
        if missing.size:
            found[missing] = moving_ratios(part.law, places[missing], elements.only(missing))
        return found

    def _rows(self, elements: Elements) -> tuple[Rows, Bits]:
        """The row of each element, and whether there is one."""
        prior, per_cell = elements.prior, elements.own_rates is None
        rates = prior.rates if elements.own_rates is None else elements.own_rates
        coins = prior.coins if per_cell else prior.coins[elements.cells]
        place = np.searchsorted(self.coins, coins).clip(max=len(self.coins) - 1)
        listed = np.asarray(self.coins)[place] == coins
        rows, share = self._nearest(rates, listed)
        rows += place * self.nodes.size
        found = Rows(rows, share)
        return (found.only(elements.cells), listed[elements.cells]) if per_cell else (found, listed)

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


def prepare(
    law: Law, n_in: int, n_out: int, rates: Reals, coins: Sequence[int] = (0,), most_known: int = 0
) -> PreparedRatios:
    """Make tables for groups of one size and these rates; exact if they are few.

    In a cell there are at most ``most_known`` known people. Where nobody is unknown, rates do not matter.
    """
    if n_out == 0:
        return _prepared(law, 0, 0, np.array([0.5]), None, tuple(sorted(set(coins))), most_known)
    between = np.unique(rates[(rates > 0) & (rates < 1)])
    if between.size > EXACT:
        return prepare_between(law, n_in, n_out, float(between[0]), float(between[-1]), coins, most_known)
    return _prepared(law, n_in, n_out, between, None, tuple(sorted(set(coins))), most_known)


def prepare_between(
    law: Law,
    n_in: int,
    n_out: int,
    low: float,
    high: float,
    coins: Sequence[int] = (0,),
    most_known: int = 0,
) -> PreparedRatios:
    """Make tables for groups of one size and all rates between two, as estimates from releases need."""
    if not 0 < low <= high < 1:
        raise BadInput(f"rates must lie in (0, 1), the lower first; got {low} and {high}")
    step = step_for(n_out, np.array([low, np.clip(0.5, low, high), high]))
    first, last = np.floor(logit(low) / step), np.floor(logit(high) / step) + 1
    nodes = expit(step * np.arange(first, last + 1))
    return _prepared(law, n_in, n_out, nodes, step, tuple(sorted(set(coins))), most_known)


def _prepared(
    law: Law, n_in: int, n_out: int, nodes: Reals, step: float | None, coins: tuple[int, ...], most_known: int
) -> PreparedRatios:
    parts = law.parts(np.empty((0, 1))) if isinstance(law, InParts) else ()
    strips = [strip for coin in coins for strip in strips_of(n_in, n_out, coin, nodes)]
    tables = stacked_tables(parts, strips, most_known) if parts and nodes.size else ()
    return PreparedRatios(law, n_in, n_out, coins, nodes, step, tables)
