"""Attributes of people, and predicates that select people by them: boxes of values, never ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints
from leakgauge.domains.queries.records import OracleRecords, absent_values
from leakgauge.domains.queries.sql.conditions import ColumnType, Value, quote_identifier, quote_literal

NO_VALUE = -1  # the code of a missing value
_ORDERED = (ColumnType.WHOLE, ColumnType.REAL, ColumnType.TIME)


@dataclass(frozen=True, eq=False)
class AttributeTable:
    """Some columns of some people, one row for each person; masked where there is no value."""

    types: dict[str, ColumnType]
    columns: dict[str, npt.NDArray[Any]]
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows


def attributes_of(records: OracleRecords, names: Sequence[str], rows: Ints) -> AttributeTable:
    """Return these columns of these rows."""
    columns = {name: records.columns[name][rows] for name in names}
    return AttributeTable({name: records.types[name] for name in names}, columns, int(rows.size))


@dataclass(frozen=True, eq=False)
class AttributeCodes:
    """The values of every column in order, so that a value is known by its position; -1 is a missing value.

    ``codes`` has one matrix for each table, people x columns. ``unusable`` people have a value that no
    predicate can name, which is a number that is not a number.
    """

    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    values: tuple[npt.NDArray[Any], ...]  # of each column, sorted, each once
    has_missing: tuple[bool, ...]
    codes: tuple[Ints, ...]
    unusable: tuple[Bits, ...]
    complete: bool  # whether nobody in the table has another value

    @property
    def spans(self) -> Ints:
        """How many codes each column has."""
        return np.array([v.size + missing for v, missing in zip(self.values, self.has_missing)])

    def predicate(self, low: Ints, high: Ints) -> str:
        """Return the predicate of all values between two codes, in every column.

        Where all values are known, a column of which the box holds everything is left out.
        """
        tests = [self._test(i, int(low[i]), int(high[i])) for i in range(len(self.names))]
        return " AND ".join(test for test in tests if test) or "TRUE"

    def _test(self, column: int, low: int, high: int) -> str:
        values, missing = self.values[column], self.has_missing[column]
        if self.complete and low == (NO_VALUE if missing else 0) and high == values.size - 1:
            return ""
        name, kind = quote_identifier(self.names[column]), self.types[column]
        if high == NO_VALUE:
            return f"{name} IS NULL"
        literals = [quote_literal(_value(values[i], kind)) for i in range(max(low, 0), high + 1)]
        if len(literals) == 1:
            test = f"{name} = {literals[0]}"
        elif kind in _ORDERED:
            test = f"{name} BETWEEN {literals[0]} AND {literals[-1]}"
        else:
            test = f"{name} IN ({', '.join(literals)})"
        return f"({test} OR {name} IS NULL)" if low == NO_VALUE else test


def encode(tables: Sequence[AttributeTable], *, complete: bool) -> AttributeCodes:
    """Number the values of some tables with the same columns."""
    types = tables[0].types
    sizes = np.cumsum([len(table) for table in tables])[:-1]
    values, has_missing = [], []
    codes = np.empty((sum(map(len, tables)), len(types)), dtype=np.int64)
    unusable = np.zeros(len(codes), dtype=bool)
    for i, (name, kind) in enumerate(types.items()):
        column = [table.columns[name] for table in tables]
        absent = np.concatenate([absent_values(part) for part in column])
        data = np.concatenate([np.ma.getdata(part) for part in column])
        if kind is ColumnType.REAL:
            not_a_number = ~absent & np.isnan(data.astype(np.float64))
            unusable |= not_a_number
            absent |= not_a_number
        found, places = np.unique(data[~absent], return_inverse=True)
        codes[:, i] = NO_VALUE
        codes[~absent, i] = places.reshape(-1)
        values.append(found)
        has_missing.append(bool(absent.any()))
    return AttributeCodes(
        tuple(types),
        tuple(types.values()),
        tuple(values),
        tuple(has_missing),
        tuple(np.split(codes, sizes)),
        tuple(np.split(unusable, sizes)),
        complete,
    )


def largest_value(tables: Sequence[AttributeTable], name: str) -> Value | None:
    """Return the largest number or time of a column, or the longest text; nothing where there is none."""
    kind = tables[0].types[name]
    present = [np.ma.getdata(c)[~absent_values(c)] for c in (table.columns[name] for table in tables)]
    values = [_value(value, kind) for value in np.concatenate(present)]
    values = [value for value in values if value == value]  # not a number
    if not values or kind is ColumnType.TRUTH:
        return None
    return max(values, key=(lambda text: len(str(text))) if kind is ColumnType.TEXT else None)


def _value(value: Any, kind: ColumnType) -> Value:
    match kind:
        case ColumnType.WHOLE:
            return int(value)
        case ColumnType.REAL:
            return float(value)
        case ColumnType.TRUTH:
            return bool(value)
        case ColumnType.TIME:
            return np.datetime64(value, "us").item()
        case _:
            return str(value)
