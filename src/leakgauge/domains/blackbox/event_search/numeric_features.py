"""Numbers that can be read off an output: its coordinates, and what they make together.

Each is a small value that can be asked about any table with the same columns; NaN says "no number here".
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakgauge.core.game import Reals
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
    """How far the number at one place is from the usual one."""

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
    """How far the number of one rank lies above the one of another."""

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
        return _steady(np.where(known, values, 0.0).sum(axis=1) / known.sum(axis=1))


@dataclass(frozen=True)
class VectorNorm:
    """The length (of order 1 or 2) of the vector of several places, seen from a centre."""

    places: tuple[int, ...]
    centre: tuple[float, ...]
    order: int

    def __call__(self, table: OutputTable) -> Reals:
        away = np.abs(_finite(table, self.places) - np.asarray(self.centre))
        return _steady((np.where(np.isfinite(away), away, 0.0) ** self.order).sum(axis=1))


@dataclass(frozen=True)
class OutputVariance:
    """The variance of an output over several of its own places."""

    places: tuple[int, ...]

    def __call__(self, table: OutputTable) -> Reals:
        values = _finite(table, self.places)
        away = values - MeanValue(self.places)(table)[:, None]
        return _steady((np.where(np.isfinite(away), away, 0.0) ** 2).sum(axis=1))


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
    """How many places hold anything at all."""

    def __call__(self, table: OutputTable) -> Reals:
        return (table.kinds != ValueKind.MISSING).sum(axis=1).astype(np.float64)


def _steady(values: Reals) -> Reals:
    """Keep 40 bits: the same numbers summed in another order are the same number."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40))


def _finite(table: OutputTable, places: tuple[int, ...]) -> Reals:
    values = table.numbers[:, list(places)]
    return np.where(np.isfinite(values), values, np.nan)
