"""What can stand at one place of an output: numbers, truth values, text, nothing; each also as a symbol."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

Symbols: TypeAlias = npt.NDArray[np.int64]
Kinds: TypeAlias = npt.NDArray[np.int8]


class Missing:
    """The type of MISSING: this output has no such place."""


MISSING = Missing()


class Kind(IntEnum):
    """What stands at a place."""

    MISSING = 0
    NONE = 1
    TRUTH = 2
    WHOLE = 3
    REAL = 4
    NAN = 5
    INFINITE = 6
    TEXT = 7
    SEQUENCE = 8
    TABLE = 9


@cache
def kind_of(kind: type) -> Kind:
    """Say what values of a Python type are, or refuse the type."""
    for known, members in _KINDS:
        if issubclass(kind, members):
            return known
    raise BadInput(
        f"release returned a value of type {kind.__name__!r}; it may return numbers, True or False, text, "
        "None, and lists, arrays or dicts of these"
    )


_KINDS: tuple[tuple[Kind, tuple[type, ...]], ...] = (
    (Kind.MISSING, (Missing,)),
    (Kind.NONE, (type(None),)),
    (Kind.TRUTH, (bool, np.bool_)),
    (Kind.WHOLE, (Integral,)),
    (Kind.REAL, (Real,)),
    (Kind.TEXT, (str,)),
    (Kind.SEQUENCE, (list, tuple, np.ndarray)),
    (Kind.TABLE, (Mapping,)),
)


def symbol_of(kind: Kind) -> np.int64:
    """Return the symbol of what has no value of its own: nothing, missing, or places below it."""
    return np.int64(-1 - kind)


def encode(values: Any) -> tuple[Reals, Symbols, Kinds]:
    """Turn the values at one place into numbers, symbols and kinds.

    Equal numbers have equal symbols; all NaN are one symbol; 0.0 and -0.0 differ.
    """
    if isinstance(values, np.ndarray):
        return _encode_numbers(values, _DTYPES[values.dtype.kind])
    types = set(map(type, values))
    if len(types) == 1:
        return _encode_alike(values, kind_of(types.pop()))
    numbers = np.full(len(values), np.nan)
    keys = np.zeros(len(values), np.int64)
    kinds = np.zeros(len(values), np.int8)
    for kind in {kind_of(one) for one in types}:
        alike = {one for one in types if kind_of(one) is kind}
        rows = [row for row, value in enumerate(values) if type(value) in alike]
        numbers[rows], keys[rows], kinds[rows] = _encode_alike([values[row] for row in rows], kind)
    return numbers, keys, kinds


_DTYPES = {"b": Kind.TRUTH, "i": Kind.WHOLE, "u": Kind.WHOLE, "f": Kind.REAL}
_EXACT = 2.0**53  # floats hold whole numbers exactly up to here


def _encode_alike(values: Sequence[Any], kind: Kind) -> tuple[Reals, Symbols, Kinds]:
    if kind in (Kind.TRUTH, Kind.WHOLE, Kind.REAL):
        return _encode_numbers(values, kind)
    keys = _symbols(values) if kind is Kind.TEXT else np.full(len(values), symbol_of(kind))
    return np.full(len(values), np.nan), keys, np.full(len(values), kind, np.int8)


def _encode_numbers(values: Any, kind: Kind) -> tuple[Reals, Symbols, Kinds]:
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        numbers = np.array([_nearest_float(value) for value in values])
    lost = np.isnan(numbers)
    numbers[lost] = np.nan  # one bit pattern for all of them
    keys, kinds = numbers.view(np.int64).copy(), np.full(numbers.size, kind, np.int8)
    if kind is Kind.WHOLE:
        large = np.flatnonzero(np.abs(numbers) > _EXACT)
        keys[large] = _symbols([int(values[row]) for row in large])
    else:
        kinds[lost] = Kind.NAN
        kinds[np.isinf(numbers)] = Kind.INFINITE
    return numbers, keys, kinds


def _nearest_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _symbols(values: Sequence[Any]) -> Symbols:
    """Name texts by numbers that are the same in every process."""
    known = {
        value: blake2b(str(value).encode(errors="surrogatepass"), digest_size=8) for value in set(values)
    }
    names = {value: int.from_bytes(hashed.digest(), "big", signed=True) for value, hashed in known.items()}
    return np.array([names[value] for value in values], dtype=np.int64)
