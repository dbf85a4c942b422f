"""Discrete features of an output: exact values, patterns, orders, traces of floating-point arithmetic.

Each feature is a callable that maps a table to one integer per round; equal integers mean the same symbol.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.domains.blackbox.event_search.output_table import OutputTable, Symbols


class PairOperation(StrEnum):
    """How two numbers are combined."""

    SUM = "sum"
    DIFFERENCE = "difference"
    RATIO = "ratio"


_OPERATIONS = {
    PairOperation.SUM: np.add,
    PairOperation.DIFFERENCE: np.subtract,
    PairOperation.RATIO: np.divide,
}


class DiscreteFeature(Protocol):
    """One symbol per round."""

    def __call__(self, table: OutputTable, /) -> Symbols: ...


@dataclass(frozen=True)
class ExactValues:
    """The exact values at some places."""

    places: tuple[int, ...]

    def __call__(self, table: OutputTable) -> Symbols:
        chosen = list(self.places)
        return _mixed_hash(table.keys[:, chosen] ^ (table.kinds[:, chosen].astype(np.int64) << 56))


@dataclass(frozen=True)
class KindPattern:
    """The kind of value at each place: missing, None, NaN, infinite, and so on."""

    def __call__(self, table: OutputTable) -> Symbols:
        return _mixed_hash(table.kinds.astype(np.int64))


@dataclass(frozen=True)
class LowestBit:
    """The exponent of the lowest set bit of a number.

    Sums of floats are rounded to a grid that depends on the summands (Mironov 2012): noise added to 0 keeps
    bits that noise added to 1 cannot have.
    """

    place: int

    def __call__(self, table: OutputTable) -> Symbols:
        return lowest_bit(table.numbers[:, self.place])


@dataclass(frozen=True)
class FloatGrid:
    """Sign, exponent and lowest set bit of a number together."""

    place: int

    def __call__(self, table: OutputTable) -> Symbols:
        numbers = table.numbers[:, self.place]
        finite = np.where(np.isfinite(numbers), numbers, 0.0)
        sizes = np.frexp(finite)[1].astype(np.int64)
        return (lowest_bit(numbers) * 4096 + sizes) * 2 + np.signbit(finite)


@dataclass(frozen=True)
class Residue:
    """The remainder of a number after division by a step."""

    place: int
    step: float

    def __call__(self, table: OutputTable) -> Symbols:
        rest = np.mod(_finite(table.numbers[:, self.place]), self.step) / self.step
        return _whole(np.mod(np.rint(rest * 1e7), 1e7))


@dataclass(frozen=True)
class DecimalPlaces:
    """The number of decimals of a number, up to seven."""

    place: int

    def __call__(self, table: OutputTable) -> Symbols:
        numbers = _finite(table.numbers[:, self.place])
        scaled = np.abs(numbers[:, None]) * 10.0 ** np.arange(7)
        whole = np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, scaled)
        return np.where(whole.any(axis=1), whole.argmax(axis=1), 7).astype(np.int64)


@dataclass(frozen=True)
class CombinedPair:
    """The sum, difference or ratio of the numbers at two places, rounded to a small step.

    Noise that was used twice cancels in one of the three.
    """

    first: int
    second: int
    how: PairOperation
    step: float

    def __call__(self, table: OutputTable) -> Symbols:
        first, second = table.numbers[:, self.first], table.numbers[:, self.second]
        return _whole(_OPERATIONS[self.how](first, second) / self.step)


@dataclass(frozen=True)
class SizeOrder:
    """The order of the numbers at some places, by size."""

    places: tuple[int, ...]

    def __call__(self, table: OutputTable) -> Symbols:
        return _mixed_hash(
            np.argsort(table.numbers[:, list(self.places)], axis=1, kind="stable").astype(np.int64)
        )


@dataclass(frozen=True)
class ExtremePosition:
    """The position of the largest (or, with sign -1, the smallest) number."""

    places: tuple[int, ...]
    sign: int

    def __call__(self, table: OutputTable) -> Symbols:
        values = self.sign * table.numbers[:, list(self.places)]
        return np.where(np.isnan(values), -np.inf, values).argmax(axis=1).astype(np.int64)


@dataclass(frozen=True)
class RepeatedValues:
    """How many places repeat the value of another place."""

    places: tuple[int, ...]

    def __call__(self, table: OutputTable) -> Symbols:
        ordered = np.sort(table.keys[:, list(self.places)], axis=1)
        return (np.diff(ordered, axis=1) == 0).sum(axis=1).astype(np.int64)


def lowest_bit(numbers: Reals) -> Symbols:
    """Return the exponent of the lowest set bit; 0, NaN and infinities get exponents that no float has.

    >>> lowest_bit(np.array([1.0, 6.0, 0.375])).tolist()
    [0, 1, -3]
    """
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0))
    bits = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((bits & -bits).astype(np.float64))[1] - 1  # exponent of a power of two
    place = np.where(bits == 0, -4000, lowest + exponent - 53)
    return np.where(finite, place, -5000).astype(np.int64)


def _finite(numbers: Reals) -> Reals:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _whole(numbers: Reals) -> Symbols:
    """Encode the nearest integers as symbols."""
    whole = np.rint(numbers) + 0.0
    return np.where(np.isfinite(whole), whole, np.nan).view(np.int64)


def _mixed_hash(columns: Symbols) -> Symbols:
    """Combine several symbols into one: a sum of hashes (the mixer of Steele, Lea and Flood 2014)."""
    starts = np.arange(1, columns.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashes: npt.NDArray[np.uint64] = columns.view(np.uint64) + starts
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    hashes ^= hashes >> np.uint64(31)
    return hashes.sum(axis=1, dtype=np.uint64).view(np.int64)
