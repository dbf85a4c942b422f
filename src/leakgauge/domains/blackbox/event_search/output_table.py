"""Raw outputs of a black box as a table: one row per round, one column per place in the output."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from hashlib import blake2b
from itertools import zip_longest
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

Symbols: TypeAlias = npt.NDArray[np.int64]
ValueKinds: TypeAlias = npt.NDArray[np.int8]
ValuePath: TypeAlias = tuple[int | str, ...]
ValuesByPath: TypeAlias = Iterator[tuple[ValuePath, Any]]  # a place and its values in all rounds

MANY_TEXTS = 64  # more different texts than this are split into parts; fewer are treated as labels

_TOKEN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+")
_MOST_TOKENS = 16
_MOST_CHARACTERS = 32
_EXACT_BITS = 53  # floats hold whole numbers of so many bits exactly
_LARGEST_EXACT_FLOAT = 2.0**_EXACT_BITS
WINDOW = "#bits from "  # begins the name of a window into a large whole number
_WINDOW_STEP = 24  # bits between two windows
_MOST_WINDOWS = 8


class Missing:
    """The type of MISSING: this output has no such place."""


MISSING = Missing()


class ValueKind(IntEnum):
    """The kind of value at a place."""

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


_KIND_TYPES: tuple[tuple[ValueKind, tuple[type, ...]], ...] = (
    (ValueKind.MISSING, (Missing,)),
    (ValueKind.NONE, (type(None),)),
    (ValueKind.TRUTH, (bool, np.bool_)),
    (ValueKind.WHOLE, (Integral,)),
    (ValueKind.REAL, (Real,)),
    (ValueKind.TEXT, (str,)),
    (ValueKind.SEQUENCE, (list, tuple, np.ndarray)),
    (ValueKind.TABLE, (Mapping,)),
)
_DTYPE_KINDS = {"b": ValueKind.TRUTH, "i": ValueKind.WHOLE, "u": ValueKind.WHOLE, "f": ValueKind.REAL}


@cache
def value_kind(kind: type) -> ValueKind:
    """Return the kind of values of a Python type, or refuse the type."""
    for known, members in _KIND_TYPES:
        if issubclass(kind, members):
            return known
    raise BadInput(
        f"release returned a value of type {kind.__name__!r}; return numbers, True or False, text, None, "
        "or lists, arrays or dicts of these"
    )


def kind_symbol(kind: ValueKind) -> np.int64:
    """Return the symbol of a place without a value: None, missing, or a list or dict."""
    return np.int64(-1 - kind)


def encode_values(values: Any) -> tuple[Reals, Symbols, ValueKinds]:
    """Turn the values at one place into numbers, symbols and kinds.

    Equal numbers have equal symbols; all NaN are one symbol; 0.0 and -0.0 differ.
    """
    if isinstance(values, np.ndarray):
        return _encode_numbers(values, _DTYPE_KINDS[values.dtype.kind])
    types = set(map(type, values))
    if len(types) == 1:
        return _encode_alike(values, value_kind(types.pop()))
    numbers = np.full(len(values), np.nan)
    keys = np.zeros(len(values), np.int64)
    kinds = np.zeros(len(values), np.int8)
    for kind in {value_kind(value_type) for value_type in types}:
        alike = {value_type for value_type in types if value_kind(value_type) is kind}
        rows = [row for row, value in enumerate(values) if type(value) in alike]
        numbers[rows], keys[rows], kinds[rows] = _encode_alike([values[row] for row in rows], kind)
    return numbers, keys, kinds


def _encode_alike(values: Sequence[Any], kind: ValueKind) -> tuple[Reals, Symbols, ValueKinds]:
    if kind in (ValueKind.TRUTH, ValueKind.WHOLE, ValueKind.REAL):
        return _encode_numbers(values, kind)
    keys = _text_symbols(values) if kind is ValueKind.TEXT else np.full(len(values), kind_symbol(kind))
    return np.full(len(values), np.nan), keys, np.full(len(values), kind, np.int8)


def _encode_numbers(values: Any, kind: ValueKind) -> tuple[Reals, Symbols, ValueKinds]:
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        numbers = np.array([_nearest_float(value) for value in values])
    lost = np.isnan(numbers)
    numbers[lost] = np.nan  # one bit pattern for all NaN
    keys, kinds = numbers.view(np.int64).copy(), np.full(numbers.size, kind, np.int8)
    if kind is ValueKind.WHOLE:
        large = np.flatnonzero(np.abs(numbers) > _LARGEST_EXACT_FLOAT)
        keys[large] = _text_symbols([int(values[row]) for row in large])
    else:
        kinds[lost] = ValueKind.NAN
        kinds[np.isinf(numbers)] = ValueKind.INFINITE
    return numbers, keys, kinds


def _nearest_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _text_symbols(values: Sequence[Any]) -> Symbols:
    """Hash texts to integers that are the same in every process."""
    known = {
        value: blake2b(str(value).encode(errors="surrogatepass"), digest_size=8) for value in set(values)
    }
    names = {value: int.from_bytes(hashed.digest(), "big", signed=True) for value, hashed in known.items()}
    return np.array([names[value] for value in values], dtype=np.int64)


def text_parts(texts: Sequence[str | None]) -> Iterator[tuple[tuple[str | int, ...], list[Any]]]:
    """Yield the parts of texts, each with its value in every round; numeric tokens become numbers."""
    tokens = {text: _tokens(text) for text in set(texts) if text is not None}
    yield ("#text length",), [MISSING if text is None else len(text) for text in texts]
    for name, rows in (
        ("#word", [[] if text is None else tokens[text] for text in texts]),
        ("#character", [[] if text is None else list(text[:_MOST_CHARACTERS]) for text in texts]),
    ):
        for position, column in enumerate(zip_longest(*rows, fillvalue=MISSING)):
            yield (name, position), list(column)


def _tokens(text: str) -> list[str | float]:
    return [_number(token) for token in _TOKEN.findall(text)[:_MOST_TOKENS]]


def _number(token: str) -> str | float:
    try:
        return float(token)
    except ValueError:
        return token


@dataclass(frozen=True, eq=False)
class OutputTable:
    """Outputs of a block of rounds, place by place.

    ``numbers`` holds numeric values (NaN elsewhere), ``keys`` exact values as symbols, ``kinds`` their kinds.
    The kind of a place that an output does not have is MISSING.
    """

    paths: tuple[ValuePath, ...]
    numbers: Reals  # one row per round, one column per path
    keys: Symbols
    kinds: ValueKinds

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, rows: slice) -> "OutputTable":
        return OutputTable(self.paths, self.numbers[rows], self.keys[rows], self.kinds[rows])

    def columns(self, places: Sequence[int]) -> "OutputTable":
        chosen = list(places)
        paths = tuple(self.paths[place] for place in chosen)
        return OutputTable(paths, self.numbers[:, chosen], self.keys[:, chosen], self.kinds[:, chosen])


def tabulate(outputs: Sequence[Any], paths: tuple[ValuePath, ...] | None = None) -> OutputTable:
    """Arrange raw outputs as a table; ``paths`` fixes the columns, so that later rounds fit an earlier table.

    >>> tabulate([1.5, None]).numbers.tolist()
    [[1.5], [nan]]
    """
    wanted = None if paths is None else frozenset(paths)
    columns = dict(_places(outputs, (), wanted))
    if paths is None:
        paths = tuple(sorted(columns, key=_reading_order))
    shape = (len(outputs), len(paths))
    missing = np.full(shape, kind_symbol(ValueKind.MISSING)), np.full(shape, ValueKind.MISSING, np.int8)
    table = OutputTable(paths, np.full(shape, np.nan), *missing)
    for column, path in enumerate(paths):
        if path in columns:
            table.numbers[:, column], table.keys[:, column], table.kinds[:, column] = encode_values(
                columns[path]
            )
    return table


def _places(values: Sequence[Any], path: ValuePath, wanted: frozenset[ValuePath] | None) -> ValuesByPath:
    """Yield every place at or below a path."""
    types = set(map(type, values))
    if np.ndarray in types:
        values = [v.item() if isinstance(v, np.ndarray) and not v.ndim else v for v in values]
        if all(map(_is_plain_array, values)) and len({(v.shape, v.dtype) for v in values}) == 1:
            yield from _array_places(values, path, wanted)
            return
        types = set(map(type, values))
    kinds = {kind: value_kind(kind) for kind in types}
    present = set(kinds.values())
    if ValueKind.SEQUENCE in present:
        yield from _sequence_places([_only(v, kinds, ValueKind.SEQUENCE) for v in values], path, wanted)
    if ValueKind.TABLE in present:
        yield from _table_places([_only(v, kinds, ValueKind.TABLE) for v in values], path, wanted)
    if ValueKind.WHOLE in present:
        yield from _whole_places([_only(v, kinds, ValueKind.WHOLE) for v in values], path, wanted)
    if ValueKind.TEXT in present:
        yield from _text_places([_only(v, kinds, ValueKind.TEXT) for v in values], path, wanted)
    yield path, values


def _array_places(
    arrays: Sequence[Any], path: ValuePath, wanted: frozenset[ValuePath] | None
) -> ValuesByPath:
    """Yield the places of arrays of one shape and type: the same as for lists, but faster."""
    stacked = np.stack(arrays)
    for depth, length in enumerate(stacked.shape[1:]):
        for index in np.ndindex(stacked.shape[1 : depth + 1]):
            yield (*path, *index), arrays
            yield (*path, *index, "#length"), np.full(len(arrays), length)
    large = stacked.dtype.kind in "iu" and stacked.dtype.itemsize == 8 and stacked.size > 0
    for index in np.ndindex(stacked.shape[1:]):
        yield (*path, *index), stacked[:, *index]
        if large:
            yield from _whole_places(stacked[:, *index].tolist(), (*path, *index), wanted)


def _whole_places(
    numbers: Sequence[int | None], path: ValuePath, wanted: frozenset[ValuePath] | None
) -> ValuesByPath:
    """Yield windows into whole numbers that are too large for floats: 53 bits each, with overlaps.

    Noise of any size is then visible in one of them: a small step of a number near 10^40 changes its lowest
    bits. A window is signed, so that it does not overflow next to a power of two.
    """
    shifts = range(0, _WINDOW_STEP * _MOST_WINDOWS, _WINDOW_STEP)
    if wanted is None:
        bits = max((int(number).bit_length() for number in numbers if number is not None), default=0)
        shifts = range(0, min(bits - _EXACT_BITS, shifts.stop), _WINDOW_STEP)
    for shift in shifts:
        place = (*path, f"{WINDOW}{shift}")
        if wanted is None or place in wanted:
            yield place, [MISSING if number is None else _window(int(number), shift) for number in numbers]


def _window(number: int, shift: int) -> int:
    half = 1 << (_EXACT_BITS - 1)
    return ((number >> shift) + half) % (2 * half) - half


def _sequence_places(
    rows: Sequence[Any], path: ValuePath, wanted: frozenset[ValuePath] | None
) -> ValuesByPath:
    items = [None if row is None else _items(row) for row in rows]
    yield (*path, "#length"), [MISSING if row is None else len(row) for row in items]
    columns = zip_longest(*(() if row is None else row for row in items), fillvalue=MISSING)
    for position, column in enumerate(columns):
        yield from _places(column, (*path, position), wanted)


def _table_places(
    tables: Sequence[Any], path: ValuePath, wanted: frozenset[ValuePath] | None
) -> ValuesByPath:
    yield (*path, "#keys"), [MISSING if table is None else "\0".join(map(repr, table)) for table in tables]
    for key in {key: None for table in tables if table is not None for key in table}:
        column = [MISSING if table is None else table.get(key, MISSING) for table in tables]
        yield from _places(column, (*path, key if isinstance(key, str) else repr(key)), wanted)


def _text_places(texts: Sequence[Any], path: ValuePath, wanted: frozenset[ValuePath] | None) -> ValuesByPath:
    if wanted is None:
        split = len(set(texts)) > MANY_TEXTS
    else:
        split = any(place[: len(path)] == path and len(place) > len(path) for place in wanted)
    if split:
        for part, column in text_parts(texts):
            yield (*path, *part), column


def _only(value: Any, kinds: Mapping[type, ValueKind], kind: ValueKind) -> Any:
    return value if kinds[type(value)] is kind else None


def _items(value: Any) -> Sequence[Any]:
    """Return the items of a sequence; an array without dimensions has one item."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim else [value.item()]
    return value


def _is_plain_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biuf"


def _reading_order(path: ValuePath) -> tuple[tuple[bool, int, str], ...]:
    return tuple((isinstance(part, str), -1 if isinstance(part, str) else part, str(part)) for part in path)
