"""Pairs of query and record, from rows, lists or predicates, with ids coded as positions."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.files import LogSource, duckdb_errors_as_bad_input
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleRecords
from leakgauge.support.tabular import Connection

Positions = npt.NDArray[np.int32]
_LARGEST_LOOKUP = 2**24  # largest range of whole ids that are looked up in an array
_SPLIT = r"'[;\s]+'"


@dataclass(frozen=True)
class SqlPairs:
    """SQL for rows (query, record, contribution), one for each record that a query contains."""

    path: Any
    sql: str  # a SELECT of query, record and perhaps contribution
    numbered: str  # the same with n, the row number in the file
    query_whole: bool
    record_whole: bool
    contributes: bool


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """Positions of queries and records, and the contributions of records where they are given.

    A record may contribute the same to all its queries: then ``by_record`` has it, once for each record.
    """

    queries: Positions
    records: Positions
    contributions: Reals | None
    by_record: Reals | None = None


@dataclass(frozen=True, eq=False)
class _IdLookup:
    """How ids of one column become positions: by a join with a table, or by their distance from ``low``.

    Without a join and without positions, the distances still have to be numbered.
    """

    value: str
    join: str = ""
    low: int = 0
    positions: Positions | None = None

    def to_positions(self, values: npt.NDArray[Any]) -> Positions | None:
        """Return the positions, or nothing if some id is unknown."""
        if np.ma.is_masked(values):
            return None
        places = np.ma.getdata(values)
        if self.positions is not None:
            places = self.positions[places]
            if places.size and int(places.min()) < 0:
                return None
        return places


def code_pairs(
    connection: Connection, pairs: SqlPairs, *, log_whole: bool, records: str | None
) -> CodedPairs:
    """Read pairs as positions in ``log`` and in the table ``records``, created here if none is given."""
    queries = _lookup_in_table(connection, "log", "query", whole=log_whole and pairs.query_whole)
    with duckdb_errors_as_bad_input(pairs.path):
        record_lookup = (
            _lookup_in_pairs(connection, pairs)
            if records is None
            else _lookup_in_table(connection, records, "record", whole=pairs.record_whole)
        )
        added = ", TRY_CAST(c.contribution AS DOUBLE) AS contribution" if pairs.contributes else ""
        columns = connection.execute(
            f"SELECT {queries.value} AS query, {record_lookup.value} AS record{added} "
            f"FROM ({pairs.sql}) c {queries.join} {record_lookup.join}"
        ).fetchnumpy()
    q = queries.to_positions(columns.pop("query"))
    if q is None:
        _refuse_unknown(connection, pairs, "query", "log", "no query of the log has this id; fix it")
    r = record_lookup.to_positions(columns.pop("record"))
    if r is None:
        way_out = "no record of data has this id; use the table as it was queried, or leave data out"
        _refuse_unknown(connection, pairs, "record", records or "records", way_out)
    assert q is not None
    assert r is not None
    if not (record_lookup.join or record_lookup.positions is not None):
        r = _number_ids(connection, r, record_lookup.low)
    return CodedPairs(
        q, r, _finite(connection, pairs, columns["contribution"]) if pairs.contributes else None
    )


def _lookup_in_table(connection: Connection, table: str, column: str, *, whole: bool) -> _IdLookup:
    """Look up ids in a table (code, and a column of the same name)."""
    kind = connection.execute(f"SELECT typeof({column}) FROM {table} LIMIT 1").fetchall()
    if whole and kind and kind[0][0] == "BIGINT":
        low, high = connection.execute(f"SELECT min({column}), max({column}) FROM {table}").fetchall()[0]
        if high - low < _LARGEST_LOOKUP:
            ids = connection.execute(f"SELECT {column} AS id FROM {table} ORDER BY code").fetchnumpy()["id"]
            positions = np.full(high - low + 1, -1, dtype=np.int32)
            positions[np.asarray(ids) - low] = np.arange(ids.size, dtype=np.int32)
            value = (
                f"CASE WHEN c.{column} BETWEEN {low} AND {high} THEN CAST(c.{column} - {low} AS INTEGER) END"
            )
            return _IdLookup(value, low=low, positions=positions)
        key = f"{column}_t.{column} = c.{column}"
    else:
        key = f"CAST({column}_t.{column} AS VARCHAR) = CAST(c.{column} AS VARCHAR)"
    return _IdLookup(f"{column}_t.code", f"LEFT JOIN {table} {column}_t ON {key}")


def _lookup_in_pairs(connection: Connection, pairs: SqlPairs) -> _IdLookup:
    """Look up the ids of all records that occur: in a new table ``records``, or in a range."""
    _refuse_missing(connection, pairs)
    if pairs.record_whole:
        low, high = connection.execute(f"SELECT min(record), max(record) FROM ({pairs.sql})").fetchall()[0]
        if low is not None and high - low < _LARGEST_LOOKUP:
            return _IdLookup(f"CAST(c.record - {low} AS INTEGER)", low=low)
    kind = "BIGINT" if pairs.record_whole else "VARCHAR"
    connection.execute(
        f"CREATE TABLE records AS SELECT CAST(row_number() OVER () - 1 AS INTEGER) AS code, record FROM "
        f"(SELECT DISTINCT CAST(record AS {kind}) AS record FROM ({pairs.sql}) ORDER BY record)"
    )
    return _lookup_in_table(connection, "records", "record", whole=pairs.record_whole)


def _number_ids(connection: Connection, distances: Positions, low: int) -> Positions:
    """Number the whole ids that occur, and store them in the table ``records``."""
    seen = np.zeros(int(distances.max(initial=-1)) + 1, dtype=bool)
    seen[distances] = True
    ids = low + np.flatnonzero(seen)
    given = {"code": np.arange(ids.size, dtype=np.int32), "record": ids.astype(np.int64)}
    connection.register("given", given)
    connection.execute("CREATE TABLE records AS SELECT code, record FROM given")
    connection.unregister("given")
    return (np.cumsum(seen, dtype=np.int32) - 1)[distances]


def _refuse_missing(connection: Connection, pairs: SqlPairs) -> None:
    blank = "" if pairs.record_whole else " OR trim(CAST(record AS VARCHAR)) = ''"
    bad = f"record IS NULL{blank}"
    (counts,) = connection.execute(f"SELECT count(*) FROM ({pairs.sql}) WHERE {bad}").fetchall()[0]
    if counts:
        rows = connection.execute(f"SELECT min(n) FROM ({pairs.numbered}) WHERE {bad}").fetchall()
        raise BadInput(f"{pairs.path.name}, row {rows[0][0]}: has no record id; add it")


def _refuse_unknown(connection: Connection, pairs: SqlPairs, column: str, table: str, way_out: str) -> None:
    rows = connection.execute(
        f"SELECT c.n FROM ({pairs.numbered}) c LEFT JOIN {table} t ON "
        f"CAST(t.{column} AS VARCHAR) = CAST(c.{column} AS VARCHAR) WHERE t.{column} IS NULL "
        "ORDER BY c.n LIMIT 1"
    ).fetchall()
    raise BadInput(f"{pairs.path.name}, row {rows[0][0]}, column {column}: {way_out}")


def _finite(connection: Connection, pairs: SqlPairs, contributions: npt.NDArray[Any]) -> Reals:
    values = np.ma.filled(np.ma.asarray(contributions), np.nan)
    if not np.isfinite(values).all():
        rows = connection.execute(
            f"SELECT n, trim(CAST(contribution AS VARCHAR)) FROM ({pairs.numbered}) "
            "WHERE NOT isfinite(coalesce(TRY_CAST(contribution AS DOUBLE), 'nan'::DOUBLE)) ORDER BY n LIMIT 1"
        ).fetchall()
        ((row, text),) = rows
        raise BadInput(
            f"{pairs.path.name}, row {row}, column contribution: must be the finite number that the record "
            f"adds to the answer, and {_number_fault(text)}; write 1 for a count, and for a sum the value of "
            "the record, at most its bound"
        )
    return np.asarray(values, dtype=np.float64)


def _number_fault(text: str | None) -> str:
    """Why a text is no finite number, without the text, which is personal data.

    >>> _number_fault(""), _number_fault("0,5"), _number_fault("inf"), _number_fault("one")
    ('is empty', 'has a decimal comma instead of a point', 'is not finite', 'is not a number')
    """
    if not text:
        return "is empty"
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return "has a decimal comma instead of a point"
    return "is not finite" if re.fullmatch(r"[+-]?(nan|inf(inity)?)", text.lower()) else "is not a number"


def pairs_from_rows(source: LogSource) -> SqlPairs:
    """Read rows of query, record and optionally contribution."""
    query, record = source.names["query"], source.names["record"]
    columns = f"{query} AS query, {record} AS record"
    if source.has("contribution"):
        columns += f", {source.number('contribution')} AS contribution"
    return SqlPairs(
        source.path,
        f"SELECT {columns} FROM {source.sql}",
        f"SELECT row_number() OVER () AS n, {columns} FROM {source.sql}",
        source.is_whole("query"),
        source.is_whole("record"),
        source.has("contribution"),
    )


def pairs_from_lists(source: LogSource) -> SqlPairs:
    """Read a list of ids for each query, or one text with ids separated by semicolons or blanks."""
    if source.is_list("records"):
        whole, ids = source.is_whole("records"), "records"
    else:
        whole = False
        ids = f"string_split_regex(trim(CAST(records AS VARCHAR), ' ;\t\r\n'), {_SPLIT})"
    rows = f"SELECT n, query, unnest({ids}) AS record FROM log"
    kept = f"SELECT * FROM ({rows}) WHERE record IS NULL OR CAST(record AS VARCHAR) <> ''"
    return SqlPairs(source.path, f"SELECT query, record FROM ({kept})", kept, True, whole, False)


def require_one_selection(connection: Connection, source: LogSource, *, given: bool) -> None:
    """Refuse queries without exactly one of where and records, and predicates without the table."""
    where = 'l."where" IS NOT NULL' if source.has("where") else "false"
    lists = "nullif(trim(CAST(l.records AS VARCHAR)), '') IS NOT NULL" if source.has("records") else "false"
    rules = [(f"{where} AND {lists}", "has both where and records; leave one out")]
    if source.has("where") and source.has("records"):
        rules.append((f"NOT ({where}) AND NOT ({lists})", "has neither where nor records; add one"))
    if not given and source.has("where"):
        by_predicate = where if source.has("records") else "true"
        rules.append(
            (
                by_predicate,
                "selects by a predicate, which needs the table; name its file (--data, in Python data=...)",
            )
        )
    for bad, rule in rules:
        row = connection.execute(f"SELECT min(n) FROM log l WHERE {bad}").fetchall()[0][0]
        if row is not None:
            raise BadInput(f"{source.path.name}, row {row}: {rule}")


def pairs_from_predicates(connection: Connection, source: LogSource, table: OracleRecords) -> CodedPairs:
    """Evaluate predicates; without lists of records, a query without a predicate selects all records."""
    rule = 'WHERE "where" IS NOT NULL' if source.has("records") else ""
    predicates = connection.execute(
        f'SELECT "where", min(n), list(code ORDER BY code) FROM log {rule} GROUP BY "where" ORDER BY min(n)'
    ).fetchall()
    selections: list[_Selection] = []
    sizes = np.zeros(1 + max((max(codes) for _, _, codes in predicates), default=-1), dtype=np.int64)
    for where, n, codes in predicates:
        try:
            rows = table.rows(table.condition(Query(where=where)))
        except BadInput as error:
            raise BadInput(f"{source.path.name}, row {n}: {error}") from None
        selections.append(_Selection.of(rows, len(table), codes))
        sizes[codes] = rows.size
    starts = np.concatenate([[0], np.cumsum(sizes)])
    records = np.empty(int(starts[-1]), dtype=np.int32)
    for selection in selections:
        inside = selection.rows
        for code in selection.codes:
            records[starts[code] : starts[code + 1]] = inside
    queries = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    return CodedPairs(queries, records, None)


@dataclass(frozen=True, eq=False)
class _Selection:
    """The records that a predicate selects, and its queries.

    They are kept as positions or as one bit for each record, whichever is smaller: all predicates are
    evaluated before there is room for the pairs.
    """

    kept: npt.NDArray[np.uint8] | Positions
    packed: bool
    n_records: int
    codes: list[int]

    @classmethod
    def of(cls, rows: Ints, n_records: int, codes: list[int]) -> "_Selection":
        if 32 * rows.size <= n_records:
            return cls(rows.astype(np.int32), False, n_records, codes)
        inside = np.zeros(n_records, dtype=bool)
        inside[rows] = True
        return cls(np.packbits(inside), True, n_records, codes)

    @property
    def rows(self) -> npt.NDArray[np.integer]:
        if not self.packed:
            return self.kept
        return np.flatnonzero(np.unpackbits(np.asarray(self.kept, dtype=np.uint8), count=self.n_records))
