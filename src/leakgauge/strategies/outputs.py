"""Raw outputs of a black box as a table: one row per round, one column per place in the output."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies import texts
from leakgauge.strategies.cells import MISSING, Kind, Kinds, Symbols, encode, kind_of, symbol_of

Path: TypeAlias = tuple[int | str, ...]
Places: TypeAlias = Iterator[tuple[Path, Any]]  # a place, and its value in every round


@dataclass(frozen=True, eq=False)
class Table:
    """Outputs of a block of rounds, place by place.

    ``numbers`` holds the value where there is one (NaN elsewhere), ``keys`` the exact value as a symbol,
    ``kinds`` what stands there. A place that an output does not have is MISSING.
    """

    paths: tuple[Path, ...]
    numbers: Reals  # one row per round, one column per path
    keys: Symbols
    kinds: Kinds

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, rows: slice) -> "Table":
        return Table(self.paths, self.numbers[rows], self.keys[rows], self.kinds[rows])

    def columns(self, places: Sequence[int]) -> "Table":
        chosen = list(places)
        paths = tuple(self.paths[place] for place in chosen)
        return Table(paths, self.numbers[:, chosen], self.keys[:, chosen], self.kinds[:, chosen])


def tabulate(outputs: Sequence[Any], paths: tuple[Path, ...] | None = None) -> Table:
    """Lay out raw outputs; ``paths`` fixes the columns, so that later rounds fit an earlier table.

    >>> tabulate([1.5, None]).numbers.tolist()
    [[1.5], [nan]]
    """
    wanted = None if paths is None else frozenset(paths)
    found = dict(_places(outputs, (), wanted))
    if paths is None:
        paths = tuple(sorted(found, key=_reading_order))
    shape = (len(outputs), len(paths))
    nothing = np.full(shape, symbol_of(Kind.MISSING)), np.full(shape, Kind.MISSING, np.int8)
    table = Table(paths, np.full(shape, np.nan), *nothing)
    for column, path in enumerate(paths):
        if path in found:
            table.numbers[:, column], table.keys[:, column], table.kinds[:, column] = encode(found[path])
    return table


def require_supported(values: Sequence[Any]) -> None:
    """Refuse outputs that hold a value of a type no table can hold."""
    kinds = {kind: kind_of(kind) for kind in set(map(type, values))}
    if not {Kind.SEQUENCE, Kind.TABLE} & set(kinds.values()):
        return
    inner: list[Any] = []
    for value in values:
        if kinds[type(value)] is Kind.TABLE:
            inner.extend(value.values())
        elif kinds[type(value)] is Kind.SEQUENCE and not _is_plain_array(value):
            inner.extend(_items(value))
    require_supported(inner)


def _places(values: Sequence[Any], path: Path, wanted: frozenset[Path] | None) -> Places:
    """Yield every place at or below a path."""
    types = set(map(type, values))
    if np.ndarray in types:
        values = [v.item() if isinstance(v, np.ndarray) and not v.ndim else v for v in values]
        if all(map(_is_plain_array, values)) and len({(v.shape, v.dtype) for v in values}) == 1:
            yield from _array_places(values, path)
            return
        types = set(map(type, values))
    kinds = {kind: kind_of(kind) for kind in types}
    found = set(kinds.values())
    if Kind.SEQUENCE in found:
        yield from _sequence_places([_only(v, kinds, Kind.SEQUENCE) for v in values], path, wanted)
    if Kind.TABLE in found:
        yield from _table_places([_only(v, kinds, Kind.TABLE) for v in values], path, wanted)
    if Kind.TEXT in found:
        yield from _text_places([_only(v, kinds, Kind.TEXT) for v in values], path, wanted)
    yield path, values


def _array_places(arrays: Sequence[Any], path: Path) -> Places:
    """Yield the places of arrays of one shape and type: the same as of lists, in one go."""
    stacked = np.stack(arrays)
    for depth, length in enumerate(stacked.shape[1:]):
        for index in np.ndindex(stacked.shape[1 : depth + 1]):
            yield (*path, *index), arrays
            yield (*path, *index, "#length"), np.full(len(arrays), length)
    for index in np.ndindex(stacked.shape[1:]):
        yield (*path, *index), stacked[:, *index]


def _sequence_places(rows: Sequence[Any], path: Path, wanted: frozenset[Path] | None) -> Places:
    items = [None if row is None else _items(row) for row in rows]
    yield (*path, "#length"), [MISSING if row is None else len(row) for row in items]
    columns = zip_longest(*(() if row is None else row for row in items), fillvalue=MISSING)
    for position, column in enumerate(columns):
        yield from _places(column, (*path, position), wanted)


def _table_places(tables: Sequence[Any], path: Path, wanted: frozenset[Path] | None) -> Places:
    yield (*path, "#keys"), [MISSING if table is None else "\0".join(map(repr, table)) for table in tables]
    for key in {key: None for table in tables if table is not None for key in table}:
        column = [MISSING if table is None else table.get(key, MISSING) for table in tables]
        yield from _places(column, (*path, key if isinstance(key, str) else repr(key)), wanted)


def _text_places(found: Sequence[Any], path: Path, wanted: frozenset[Path] | None) -> Places:
    if wanted is None:
        taken_apart = len(set(found)) > texts.MANY
    else:
        taken_apart = any(place[: len(path)] == path and len(place) > len(path) for place in wanted)
    if taken_apart:
        for part, column in texts.parts(found):
            yield (*path, *part), column


def _only(value: Any, kinds: Mapping[type, Kind], kind: Kind) -> Any:
    return value if kinds[type(value)] is kind else None


def _items(value: Any) -> Sequence[Any]:
    """Return what a sequence holds; an array without dimensions holds one thing."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim else [value.item()]
    return value


def _is_plain_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biuf"


def _reading_order(path: Path) -> tuple[tuple[bool, int, str], ...]:
    return tuple((isinstance(part, str), -1 if isinstance(part, str) else part, str(part)) for part in path)
