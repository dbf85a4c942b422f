"""Numeric features of an output: single numbers, and sums, ranks, norms and counts over several places.

Each feature is a callable that maps a table to one number per round; NaN means that there is no number.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.domains.blackbox.event_search.output_table import OutputTable, ValueKind


class NumericFeature(Protocol):
    """One number per round."""

    def __call__(self, table: OutputTable, /) -> Reals: ...


@dataclass(frozen=True)
class Coordinate:
    """The number at one place."""

    place: int

    def __call__(self, table: OutputTable) -> Reals:
        return table.numbers[:, self.place]


@dataclass(frozen=True)
class DistanceFromCentre:
    """The distance of the number at one place from its median."""

    place: int
    centre: float

    def __call__(self, table: OutputTable) -> Reals:
        return np.abs(table.numbers[:, self.place] - self.centre)


@dataclass(frozen=True)
class PairSum:
    """The number at one place, plus or minus the number at another."""

    first: int
    second: int
    sign: int

    def __call__(self, table: OutputTable) -> Reals:
        return table.numbers[:, self.first] + self.sign * table.numbers[:, self.second]


@dataclass(frozen=True)
class OrderStatistic:
    """The number of a given rank among several places, from the smallest; negative ranks from the largest."""

    places: tuple[int, ...]
    rank: int

    def __call__(self, table: OutputTable) -> Reals:
        ordered = np.sort(_finite(table, self.places), axis=1)  # NaN goes last
        if self.rank >= 0:
            return ordered[:, self.rank]
        place = np.isfinite(ordered).sum(axis=1) + self.rank
        return np.where(
            place >= 0, np.take_along_axis(ordered, np.maximum(place, 0)[:, None], axis=1)[:, 0], np.nan
        )


@dataclass(frozen=True)
class OrderGap:
    """The difference of the numbers of two ranks."""

    places: tuple[int, ...]
    upper: int
    lower: int

    def __call__(self, table: OutputTable) -> Reals:
        return OrderStatistic(self.places, self.upper)(table) - OrderStatistic(self.places, self.lower)(table)


@dataclass(frozen=True)
class MeanValue:
    """The mean over several places."""

    places: tuple[int, ...]

    def __call__(self, table: OutputTable) -> Reals:
        values = _finite(table, self.places)
        known = np.isfinite(values)
        return _rounded(np.where(known, values, 0.0).sum(axis=1) / known.sum(axis=1))


@dataclass(frozen=True)
class VectorNorm:
    """The sum of absolute values or of squares (order 1 or 2) of several places, relative to a centre."""

    places: tuple[int, ...]
    centre: tuple[float, ...]
    order: int

    def __call__(self, table: OutputTable) -> Reals:
        deviations = np.abs(_finite(table, self.places) - np.asarray(self.centre))
        return _rounded((np.where(np.isfinite(deviations), deviations, 0.0) ** self.order).sum(axis=1))


@dataclass(frozen=True)
class OutputVariance:
    """The sum of squared deviations from the mean over several places of an output."""

    places: tuple[int, ...]

    def __call__(self, table: OutputTable) -> Reals:
        values = _finite(table, self.places)
        deviations = values - MeanValue(self.places)(table)[:, None]
        return _rounded((np.where(np.isfinite(deviations), deviations, 0.0) ** 2).sum(axis=1))


@dataclass(frozen=True)
class SymbolCount:
    """How many places hold a symbol."""

    key: int

    def __call__(self, table: OutputTable) -> Reals:
        return (table.keys == self.key).sum(axis=1).astype(np.float64)


@dataclass(frozen=True)
class FirstPosition:
    """The first place that holds a symbol."""

    key: int

    def __call__(self, table: OutputTable) -> Reals:
        there = table.keys == self.key
        return np.where(there.any(axis=1), there.argmax(axis=1), np.nan)


@dataclass(frozen=True)
class LastPosition:
    """The last place that holds a symbol."""

    key: int

    def __call__(self, table: OutputTable) -> Reals:
        there = table.keys[:, ::-1] == self.key
        return np.where(there.any(axis=1), there.shape[1] - 1 - there.argmax(axis=1), np.nan)


@dataclass(frozen=True)
class FilledCount:
    """How many places are not missing."""

    def __call__(self, table: OutputTable) -> Reals:
        return (table.kinds != ValueKind.MISSING).sum(axis=1).astype(np.float64)


def _rounded(values: Reals) -> Reals:
    """Round to 40 bits, so that the order of summation does not matter."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40))


def _finite(table: OutputTable, places: tuple[int, ...]) -> Reals:
    values = table.numbers[:, list(places)]
    return np.where(np.isfinite(values), values, np.nan)
