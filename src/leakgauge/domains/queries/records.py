"""The table behind an oracle: its records, the targets among them, and which of them a query selects."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import WITH_COLUMN, Id, Query
from leakgauge.domains.queries.sql import conditions
from leakgauge.domains.queries.sql.parser import parse_predicate
from leakgauge.support.table_reader import require_known
from leakgauge.support.tabular import Connection, lock_database, open_database

MOST_CACHED_ROWS = 20_000_000  # selected rows in the cache of resolved queries


@dataclass(frozen=True, eq=False)
class OracleRecords:
    """A table in DuckDB, rebuilt in every process; it includes the targets.

    Ids name the units of the game: records, or people with at most ``rows_per_person`` rows each. A unit is
    known by its first row.
    """

    types: dict[str, conditions.ColumnType]
    columns: dict[str, npt.NDArray[Any]]  # masked where there is no value
    id_column: str
    digest: str
    rows_per_person: int | None = None  # nothing: a row is a unit by itself, and ids differ

    def __post_init__(self) -> None:
        require_known(self.id_column, list(self.types), "data.id: no column")
        if self.types[self.id_column] not in (conditions.ColumnType.WHOLE, conditions.ColumnType.TEXT):
            raise BadInput(
                f"data.id: {self.id_column!r} is {self.types[self.id_column]}; ids are whole numbers or texts"
            )
        ids = self.columns[self.id_column]
        if ids.size == 0:
            raise BadInput("data: there is no record in the table; add at least one")
        if (n_absent := int(absent_values(ids).sum())) > 0:
            raise BadInput(f"data.id: {n_absent} records have no {self.id_column!r}; add their ids")
        if self.rows_per_person is not None:
            most = int(np.bincount(self.unit_of).max())
            assert most <= self.rows_per_person, "the reader keeps as many rows as are allowed"
        elif n_repeated := len(self) - len(self.row_of):
            raise BadInput(
                f"data.id: {n_repeated} values of {self.id_column!r} are repeated; ids must differ (a plan "
                "can name people with several rows by data.person)"
            )

    def __len__(self) -> int:
        return int(self.columns[self.id_column].size)

    def __reduce__(self) -> tuple[Any, ...]:
        return OracleRecords, (self.types, self.columns, self.id_column, self.digest, self.rows_per_person)

    @cached_property
    def ids(self) -> tuple[Id, ...]:
        return tuple(self.columns[self.id_column].tolist())

    @cached_property
    def row_of(self) -> dict[Id, int]:
        """The first row of each unit, by its id."""
        found: dict[Id, int] = {}
        for row, name in enumerate(self.ids):
            found.setdefault(name, row)
        return found

    @cached_property
    def unit_of(self) -> Ints:
        """The unit of each row, as a number."""
        if self.rows_per_person is None:
            return np.arange(len(self), dtype=np.int64)
        return np.array([self.row_of[name] for name in self.ids], dtype=np.int64)

    def units(self, rows: Ints) -> Ints:
        """Return the first rows of the units of some rows, each once and in order."""
        return rows if self.rows_per_person is None else np.unique(self.unit_of[rows])

    def unit_values(self, query: Query, units: Ints) -> Reals:
        """Return the contribution of all rows of each of these units, which are known by their first rows.

        With groups it is units x groups.
        """
        if self.rows_per_person is None:
            return self.by_group(query, units, self.values(query, units))
        rows = np.flatnonzero(np.isin(self.unit_of, units))
        place_of = np.zeros(len(self), dtype=np.int64)
        place_of[units] = np.arange(units.size)
        values = self.by_group(query, rows, self.values(query, rows))
        totals = np.zeros((units.size, *values.shape[1:]))
        np.add.at(totals, place_of[self.unit_of[rows]], values)
        return totals

    def by_group(self, query: Query, rows: Ints, values: Reals) -> Reals:
        """Return the values of some rows: as they are, or rows x groups with each value in its group."""
        if query.n_groups is None:
            return values
        return values[:, None] * (self.groups(query, rows)[:, None] == np.arange(query.n_groups))

    @property
    def id_operand(self) -> conditions.Operand:
        return conditions.Operand(conditions.quote_identifier(self.id_column), self.types[self.id_column])

    def condition(self, query: Query) -> conditions.Condition:
        """Return the condition of a query in normal form; ids are a condition on their column."""
        if query.ids is not None:
            kind = str if self.id_operand.type is conditions.ColumnType.TEXT else int
            if wrong_type := [name for name in query.ids if type(name) is not kind]:
                raise BadInput(
                    f"ids: {wrong_type[0]!r} is not an id; the ids of this table are {_id_type_name(kind)}"
                )
            return (
                conditions.IsIn(self.id_operand, frozenset(query.ids))
                if query.ids
                else conditions.BooleanConstant(False)
            )
        return (
            conditions.BooleanConstant(True)
            if query.where is None
            else parse_predicate(query.where, self.types)
        )

    def rows(self, condition: conditions.Condition) -> Ints:
        """Return the rows that a condition selects from the whole table, in order."""
        match condition:
            case conditions.BooleanConstant(holds):
                return np.arange(len(self) if holds else 0, dtype=np.int64)
            case conditions.IsIn(operand, values, False) if (
                operand == self.id_operand and self.rows_per_person is None
            ):
                rows = [self.row_of[name] for name in values if name in self.row_of]  # type: ignore[index]
                return np.sort(np.array(rows, dtype=np.int64))
        sql, texts = conditions.where_clause(condition)
        columns = self._database.execute(f"SELECT {self._row} FROM records WHERE {sql}", texts).fetchnumpy()
        (rows,) = columns.values()
        return np.sort(np.asarray(rows, dtype=np.int64))

    def values(self, query: Query, rows: Ints) -> Reals:
        """Return the contribution of each of these records to the answer."""
        if query.kind not in WITH_COLUMN:
            return np.ones(rows.size)
        assert query.column is not None
        assert query.bound is not None
        return np.clip(self.numbers(query.column)[rows], -query.bound, query.bound)

    def groups(self, query: Query, rows: Ints) -> Ints:
        """Return the group of each of these records, -1 for those that are in none."""
        assert query.group_by is not None
        require_known(query.group_by, list(self.types), "query.group_by: no column")
        kind, column = self.types[query.group_by], self.columns[query.group_by][rows]
        present = ~absent_values(column)
        found = np.full(rows.size, -1, dtype=np.int64)
        if query.edges is not None:
            if kind not in (conditions.ColumnType.WHOLE, conditions.ColumnType.REAL):
                raise BadInput(f"query.edges: {query.group_by!r} is {kind}; only numbers have intervals")
            places = np.searchsorted(np.array(query.edges), np.ma.getdata(column)[present], side="right") - 1
            found[present] = np.where(places < len(query.edges) - 1, places, -1)
            return found
        for group, value in enumerate(query.groups or ()):
            if (kind is conditions.ColumnType.TEXT) != isinstance(value, str):
                raise BadInput(f"query.groups: {value!r} is no value of {query.group_by!r}, which is {kind}")
            found[present & (np.ma.getdata(column) == value)] = group
        return found

    def numbers(self, column: str) -> Reals:
        """Return a column that can be summed: it has a finite number for every record."""
        if column not in self._summed:
            self._summed[column] = self._numbers(column)
        return self._summed[column]

    @cached_property
    def _summed(self) -> dict[str, Reals]:
        return {}

    def _numbers(self, column: str) -> Reals:
        require_known(column, list(self.types), "query.column: no column")
        if self.types[column] not in (conditions.ColumnType.WHOLE, conditions.ColumnType.REAL):
            raise BadInput(f"query.column: {column!r} is {self.types[column]}; only numbers can be summed")
        values = self.columns[column]
        bad = absent_values(values) | ~np.isfinite(np.ma.filled(values.astype(np.float64), np.nan))
        if bad.any():
            raise BadInput(
                f"query.column: {column!r} has no finite number in {int(bad.sum())} of {len(self)} records; "
                "fix or remove those"
            )
        return np.asarray(np.ma.getdata(values), dtype=np.float64)

    @cached_property
    def _row(self) -> str:
        """A name for row numbers that no column has."""
        return conditions.quote_identifier("row" + "_" * (1 + max(map(len, self.types))))

    @cached_property
    def _database(self) -> Connection:
        connection = open_database()
        given: dict[str, npt.NDArray[Any]] = {"n": np.arange(len(self), dtype=np.int64)}
        for i, column in enumerate(self.columns.values()):
            given |= {f"c{i}": _filled(column), f"absent{i}": absent_values(column)}
        connection.register("given", given)
        typed = ", ".join(
            f"CASE WHEN absent{i} THEN NULL ELSE CAST(c{i} AS {self.types[name]}) END "
            f"AS {conditions.quote_identifier(name)}"
            for i, name in enumerate(self.columns)
        )
        connection.execute(f"CREATE TABLE records AS SELECT n AS {self._row}, {typed} FROM given")
        connection.unregister("given")
        return lock_database(connection)


def _id_type_name(kind: type) -> str:
    return "texts" if kind is str else "whole numbers"


def absent_values(column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where a column has no value."""
    if column.dtype == object:
        return np.array([value is None for value in column], dtype=bool) | np.ma.getmaskarray(column)
    return np.ma.getmaskarray(column)


def _filled(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Fill missing values, because not every version of DuckDB respects masks."""
    data = np.ma.getdata(column)
    return np.where(absent_values(column), "", data) if data.dtype == object else data


@dataclass(frozen=True, eq=False)
class ResolvedQuery:
    """A query, its condition, and the records it selects: targets, and others that are always present."""

    query: Query
    condition: conditions.Condition
    id_operand: conditions.Operand
    others: Ints  # rows
    targets: Bits  # one for each target
    total: Reals  # contribution of the others: a number, or one for each group
    shifts: Reals  # contribution of each target if present; 0 where it is not selected (x groups)
    n_others: Reals  # how many others there are, as a number or in each group
    n_targets: Reals  # how many rows of a target are selected (x groups)
    other_units: Ints  # first rows of the units to which the others belong
    per_person: bool = False  # whether units may have several rows

    @cached_property
    def spans(self) -> dict[conditions.Operand, conditions.ValueRange]:
        """Values that a unit needs to be selected; rows of one person may differ in all but its id."""
        ranges = conditions.value_ranges(self.condition)
        if not self.per_person:
            return ranges
        return {operand: span for operand, span in ranges.items() if operand == self.id_operand}


@dataclass(frozen=True, eq=False)
class OracleTable:
    """The records of a game: some are targets, all others are present in every round."""

    records: OracleRecords
    targets: Ints  # rows
    _cache: dict[Query, ResolvedQuery] = field(default_factory=dict)
    _n_cached: list[int] = field(default_factory=lambda: [0])  # rows in the cache

    def __post_init__(self) -> None:
        if self.targets.size == 0 or np.unique(self.targets).size < self.targets.size:
            raise BadInput("targets must be at least one record, each once")

    def ask(self, query: Query) -> ResolvedQuery:
        """Find the records that a query selects; recent queries are cached."""
        if query not in self._cache:
            resolved = self._resolve(query)
            self._n_cached[0] += resolved.others.size
            while self._cache and self._n_cached[0] > MOST_CACHED_ROWS:
                oldest = self._cache.pop(next(iter(self._cache)))
                self._n_cached[0] -= oldest.others.size
            self._cache[query] = resolved
        return self._cache[query]

    def __reduce__(self) -> tuple[type["OracleTable"], tuple[OracleRecords, Ints]]:
        return OracleTable, (self.records, self.targets)

    def _resolve(self, query: Query) -> ResolvedQuery:
        condition = self.records.condition(query)
        rows = self.records.rows(condition)
        if query.group_by is not None:
            rows = rows[self.records.groups(query, rows) >= 0]
        target = self._target_of[self.records.unit_of[rows]]
        own, others, of = rows[target >= 0], rows[target < 0], target[target >= 0]
        return ResolvedQuery(
            query=query,
            condition=condition,
            id_operand=self.records.id_operand,
            others=others,
            targets=np.bincount(of, minlength=self.targets.size) > 0,
            total=np.asarray(
                self.records.by_group(query, others, self.records.values(query, others)).sum(axis=0)
            ),
            shifts=self._by_target(of, self.records.by_group(query, own, self.records.values(query, own))),
            n_others=np.asarray(self.records.by_group(query, others, np.ones(others.size)).sum(axis=0)),
            n_targets=self._by_target(of, self.records.by_group(query, own, np.ones(own.size))),
            other_units=self.records.units(others),
            per_person=self.records.rows_per_person is not None,
        )

    @cached_property
    def _target_of(self) -> Ints:
        """The number of the target that each unit is, or -1."""
        found = np.full(len(self.records), -1, dtype=np.int64)
        found[self.targets] = np.arange(self.targets.size)
        return found

    def _by_target(self, of: Ints, values: Reals) -> Reals:
        """Add up the values of rows by the target to which they belong."""
        found = np.zeros((self.targets.size, *values.shape[1:]))
        np.add.at(found, of, values)
        return found
