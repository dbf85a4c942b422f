"""Tables of log-likelihood ratios: worked out once per output and rate, then looked up.

A row belongs to a rate, a column to a place (an output, or its distance from the known count). Between two
rates the ratio is taken as linear in their log-odds. Its slope there is the difference between the worlds of
the mean count given the output, so it lies in [-1, 1], and changes slowly.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.columns import Columns
from leakgauge.strategies.laws import Between, Exponential, Smooth, Whole

LARGEST = 1e6  # stands for certainty

Places = npt.NDArray[np.intp]

_STEEP = 300.0  # e^_STEEP is still far from the largest float


@dataclass(frozen=True, eq=False)
class Rows:
    """Which row of a table each element reads, and how far it lies towards the next one."""

    first: Places
    share: Reals | None = None

    def of(self, columns: Places, table: Reals) -> Reals:
        """Read one column for each element."""
        flat = self.first * table.shape[1] + columns
        values = table.ravel().take(flat)
        if self.share is None:
            return values
        return values + self.share * (table.ravel().take(flat + table.shape[1]) - values)

    def only(self, elements: Places | Bits) -> "Rows":
        return Rows(self.first[elements], None if self.share is None else self.share[elements])


@dataclass(frozen=True, eq=False)
class Ratios:
    """Log ratios of a world with the target to the world without it, at the columns.

    ``rise_in`` and ``rise_out`` are what the two logs gain up to the next column; they are needed between
    columns of Laplace noise alone.
    """

    at: Reals
    rise_in: Reals
    rise_out: Reals

    @classmethod
    def of(cls, log_in: Reals, log_out: Reals, between: Between) -> "Ratios":
        if isinstance(between, Exponential):
            return cls(settled(log_in, log_out), np.diff(log_in), np.diff(log_out))
        return cls(settled(log_in, log_out), np.empty((0, 0)), np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Table:
    """Log ratios for many rates and places.

    ``present`` holds for a target who is in the cell if a member, ``absent`` for one who is not; that is
    zero, and missing, where as many others are in the group in both worlds.
    """

    columns: Columns
    present: Ratios
    absent: Ratios | None

    def read(self, places: Reals, rows: Rows, weights: Reals | None) -> Reals:
        """The log ratio of each element; ``weights`` are the chances that the target is in its cell."""
        present = self._read(self.present, places, rows)
        if weights is None:
            return present
        absent = np.zeros(()) if self.absent is None else self._read(self.absent, places, rows)
        return weighed(present, absent, weights)

    def _read(self, ratios: Ratios, places: Reals, rows: Rows) -> Reals:
        steps = (places - self.columns.first) / self.columns.step
        columns = np.floor(steps).astype(np.intp)
        match self.columns.between:
            case Whole():
                return rows.of(columns, ratios.at)
            case Exponential(scale):
                rises = rows.of(columns, ratios.rise_in), rows.of(columns, ratios.rise_out)
                return rows.of(columns, ratios.at) + _exponential(steps - columns, scale, *rises)
            case Smooth():
                return _cubic(steps - columns, [rows.of(columns + i, ratios.at) for i in (-1, 0, 1, 2)])


def settled(log_in: Reals, log_out: Reals) -> Reals:
    """The difference of two logs; certainty where one world is impossible, nothing where both are."""
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isneginf(log_in) & np.isneginf(log_out), 0.0, log_in - log_out)
    return np.clip(ratios, -LARGEST, LARGEST)


def weighed(present: Reals, absent: Reals, weights: Reals) -> Reals:
    """The log ratio for a member who is in a cell with a chance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.logaddexp(np.log(weights) + present, np.log1p(-weights) + absent)


def _exponential(share: Reals, scale: float, rise_in: Reals, rise_out: Reals) -> Reals:
    """What the log ratio gains on the way to the next column, under Laplace noise: exact.

    Between whole numbers each world's density is sinh((1 - t) / scale) f(j) + sinh(t / scale) f(j + 1) over
    sinh(1 / scale): it solves f'' = f / scale^2. The factor e^(1 / scale) / 2 cancels.
    """
    back, on = share / scale, (1 - share) / scale
    if 1 / scale < _STEEP:
        here, there = np.exp(-back) * -np.expm1(-2 * on), np.exp(-on) * -np.expm1(-2 * back)
        return np.log((here + there * np.exp(rise_in)) / (here + there * np.exp(rise_out)))
    with np.errstate(divide="ignore"):
        here, there = np.log(-np.expm1(-2 * on)) - back, np.log(-np.expm1(-2 * back)) - on
    return np.logaddexp(here, there + rise_in) - np.logaddexp(here, there + rise_out)


def _cubic(share: Reals, values: list[Reals]) -> Reals:
    """Lagrange's cubic through four neighbouring columns, read between the inner two."""
    before, here, there, beyond = values
    s = share
    return (
        -s * (s - 1) * (s - 2) / 6 * before
        + (s + 1) * (s - 1) * (s - 2) / 2 * here
        - (s + 1) * s * (s - 2) / 2 * there
        + (s + 1) * s * (s - 1) / 6 * beyond
    )
