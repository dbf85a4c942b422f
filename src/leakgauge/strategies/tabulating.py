"""How tables of log-likelihood ratios are worked out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor
from typing import TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.columns import Columns
from leakgauge.strategies.count_priors import bulk, log_masses, window
from leakgauge.strategies.laws import Moving
from leakgauge.strategies.mixing import log_mix, log_slide
from leakgauge.strategies.ratio_tables import Ratios, Table

Mix: TypeAlias = Callable[[Reals], Reals]

_DISTANCES = np.ceil(1.1 ** np.arange(300))


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of different rates: unknown others in the group with the target and without it; and the coins."""

    n_in: int
    n_out: int
    coins: int
    rates: Reals

    def counts(self, low: float, high: float, tilt: float = np.inf) -> range:
        """The counts that matter to outputs between two ends."""
        rates = float(self.rates.min()), float(self.rates.max())
        return window(self.n_out, *rates, self.coins, tilt, (low, high))

    def home(self, spread: float, tail: float) -> tuple[float, float]:
        """Where nearly all outputs lie, counted from the known people; noise reaches as far as ``spread``."""
        least = bulk(self.n_out, float(self.rates.min()), self.coins, tail=tail).start
        most = bulk(self.n_out, float(self.rates.max()), self.coins, tail=tail).stop
        low, high = max(least, 0.0) - spread, min(most, self.n_out + self.coins) + 1 + spread
        return floor(low), ceil(high)

    def log_masses(self, counts: range) -> list[Reals]:
        """With the target and without it; or the same for both."""
        return [log_masses(n, self.rates, self.coins, counts) for n in dict.fromkeys((self.n_in, self.n_out))]


def tabulate(law: Moving, cells: Cells, columns: Columns) -> Table:
    """A table for a law that moves with the count; a row for each rate."""
    counts = counts_that_matter(law, cells, *columns.ends)
    if columns.step != 1:
        log_law = law.log_at(columns.places - np.arange(counts.start, counts.stop + 1)[:, None])
        return averaged(log_law, counts, cells, columns)
    distances = columns.first - counts.stop + np.arange(columns.n + len(counts), dtype=np.float64)
    values = law.log_at(distances)
    there, away = partial(log_slide, log_values=values[:-1]), partial(log_slide, log_values=values[1:])
    return _averaged(there, away, counts, cells, columns)


def averaged(log_law: Reals, counts: range, cells: Cells, columns: Columns) -> Table:
    """A table from the log law of every column given every count of a range, and one count more."""
    there, away = partial(log_mix, log_law=log_law[1:]), partial(log_mix, log_law=log_law[:-1])
    return _averaged(there, away, counts, cells, columns)


def _averaged(there: Mix, away: Mix, counts: range, cells: Cells, columns: Columns) -> Table:
    """A table from averages over the counts, with the target there and away."""
    masses = cells.log_masses(counts)
    without = away(masses[-1])
    present = Ratios.of(there(masses[0]), without, columns.between)
    absent = None if len(masses) == 1 else Ratios.of(away(masses[0]), without, columns.between)
    return Table(columns, present, absent)


def counts_that_matter(law: Moving, cells: Cells, low: float, high: float) -> range:
    """The counts that matter to places between two ends, given how steep the law is."""
    widest = cells.counts(low, high)
    distances = np.arange(floor(low) - widest.stop, ceil(high) - widest.start + 1, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        tilt = float(np.abs(np.diff(law.log_at(distances))).max())
    return cells.counts(low, high, tilt) if tilt < np.inf else widest


def spread_of(law: Moving, tail: float) -> float:
    """A distance at which a law has fallen by a factor e^-tail on both sides."""
    fallen = law.log_at(np.zeros(1)) - tail
    near = (law.log_at(_DISTANCES) >= fallen) | (law.log_at(-_DISTANCES) >= fallen)
    return float(_DISTANCES[min(int(near.sum()), _DISTANCES.size - 1)])
