"""Read a file with one row for each person and cell, with a value of 0, 1 or 2 if the plan names one."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.cell_files.cell_plan_table import CellDataTable
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.data.visit_data import RowCounts, VisitData
from leakgauge.domains.locations.data.visit_files import duckdb_reader
from leakgauge.domains.locations.data.visit_files.duckdb_reader import Connection, NumberedRows, SqlField
from leakgauge.domains.locations.data.visit_files.file_formats import (
    digest_source,
    find_files,
    format_of_files,
)
from leakgauge.domains.locations.data.visit_files.trace_matrix import MOST_CELLS, natural_order_sql
from leakgauge.domains.locations.data.visit_files.visit_parser import MAX_BAD_ROWS_NAMED, number_sql, text_sql
from leakgauge.support.frame_source import find_frame
from leakgauge.support.required_columns import require_columns

WHERE = "data.source"
VERSION = "cells 1"  # part of the digest: change it when the same table would give other traces
_KEPT = "kept"
_BETWEEN = "chr(31)"  # joins columns into one name; no name contains it


@dataclass(frozen=True, eq=False)
class _CellRows:
    """A relation with one row for each person and cell, and its fields."""

    relation: str
    user: SqlField
    cells: tuple[SqlField, ...]
    value: SqlField | None
    chunks: Callable[[Connection], Iterator[NumberedRows]]
    count_malformed: Callable[[Connection], int] = lambda _: 0

    def select(self, relation: str, more: str = "") -> str:
        """SQL for person, row and column of the cell, value, and what is wrong with a row, or 'kept'."""
        *rows, column = [text_sql(field) for field in self.cells]
        row, column = (" || ".join(_joined(rows)), column) if rows else (column, "''")
        value = "1" if self.value is None else number_sql(self.value)
        parsed = (
            f"SELECT {more}{text_sql(self.user)} AS user_id, {row} AS cell_row, {column} AS cell_column, "
            f"{value} AS value FROM {relation}"
        )
        return (
            "SELECT *, CASE WHEN user_id IS NULL THEN 'user' "
            "WHEN cell_row IS NULL OR cell_column IS NULL THEN 'cell' "
            f"WHEN NOT coalesce(value IN (0, 1, 2), false) THEN 'value' ELSE '{_KEPT}' END AS status "
            f"FROM ({parsed})"
        )


def _joined(names: list[str]) -> list[str]:
    return [part for i, name in enumerate(names) for part in ([_BETWEEN] if i else []) + [f"({name})"]]


def read_cells(table: CellDataTable, folder: Path) -> VisitData:
    """Read the rows through a database; only the values are held in memory."""
    files = find_files(table.source, folder, None, WHERE)
    with duckdb_reader.open_visit_database(table.source) as connection:
        rows = _open_rows(connection, table, files)
        connection.execute(
            "CREATE TEMP TABLE entries AS "
            "SELECT user_id, cell_row, cell_column, value, status, count(*) AS n "
            f"FROM ({rows.select(rows.relation)}) GROUP BY ALL"
        )
        tally = _tally(connection, table, rows)
        cells, names = _build_map(connection, table)
        traces = _build_traces(connection, cells)
    return VisitData(
        traces=traces,
        tally=tally,
        digest=digest_source(
            table.source, files, VERSION, json.dumps(asdict(table) | {"source": None}, sort_keys=True)
        ),
        places=names,
    )


def _open_rows(connection: Connection, table: CellDataTable, files: tuple[Path, ...]) -> _CellRows:
    frame, columns = find_frame(table.source, WHERE), table.columns
    kind = "frame" if frame is not None else format_of_files(files, WHERE)
    named = {"user": columns.user, "cell": columns.cells if len(columns.cells) > 1 else columns.cells[0]}
    wanted = named | ({} if columns.value is None else {"value": columns.value})
    if frame is not None:
        if table.header is not None:
            raise BadInput("data.header is for CSV files; leave it out for a data frame")
        require_columns(wanted, list(frame.columns), frame.name, WHERE, "columns = { {} }")
        rows = duckdb_reader.open_frame_rows(connection, frame)
        names = [columns.user, *columns.cells, *([columns.value] if columns.value else [])]
        fields, relation, chunks = {name: rows.field(name) for name in names}, rows.relation, rows.chunks
    elif kind == "csv":
        names = [columns.user, *columns.cells, *([columns.value] if columns.value else [])]
        dialect = duckdb_reader.detect_dialect(files, names, table.header, table.encoding, WHERE)
        require_columns(wanted, dialect.names, files[0].name, WHERE, "columns = { {} }")
        where = f"{WHERE}: {files[0].name}"
        fields = {name: SqlField(dialect.column(name, where)) for name in names}
        relation, chunks = dialect.relation(files), dialect.chunks(files)
    elif kind == "parquet":
        if table.header is not None:
            raise BadInput(f"data.header is for CSV files; {files[0].name} is parquet; leave it out")
        parquet = duckdb_reader.open_parquet(connection, files)
        known = [column.name for column in parquet.columns]
        require_columns(wanted, known, files[0].name, WHERE, "columns = { {} }")
        names = [columns.user, *columns.cells, *([columns.value] if columns.value else [])]
        fields = {name: parquet.field(name, WHERE) for name in names}
        relation, chunks = parquet.relation, parquet.chunks
    else:
        raise BadInput(f"{WHERE}: {table.source} is {kind}; tables of cells are read from CSV or Parquet")
    return _CellRows(
        relation=relation,
        user=fields[columns.user],
        cells=tuple(fields[name] for name in columns.cells),
        value=None if columns.value is None else fields[columns.value],
        chunks=chunks,
        count_malformed=duckdb_reader.count_malformed_lines if kind == "csv" else lambda _: 0,
    )


def _tally(connection: Connection, table: CellDataTable, rows: _CellRows) -> RowCounts:
    """Count the rows; refuse too many bad ones, none at all, and values that are given twice."""
    malformed = rows.count_malformed(connection)
    found = connection.execute(
        "SELECT status, sum(n) FROM entries GROUP BY status ORDER BY status"
    ).fetchall()
    counts = {status: int(n) for status, n in found}
    kept = counts.pop(_KEPT, 0)
    counts |= {"columns": malformed} if malformed else {}
    n_rows, bad = kept + sum(counts.values()), sum(counts.values())
    if n_rows == 0:
        raise BadInput(f"{WHERE}: {table.source} has no rows; a table of people and cells has at least one")
    first = tuple(islice(_bad_rows(connection, rows), MAX_BAD_ROWS_NAMED)) if bad else ()
    if bad > table.bad_share * n_rows:
        kinds = ", ".join(f"{part}: {n}" for part, n in counts.items())
        rule = "; a value must be 0, 1 or 2" if "value" in counts else ""
        allowed = f"at most a share of {table.bad_share} is allowed; fix them, or raise data.bad_share"
        raise BadInput(
            f"{WHERE}: {bad} of {n_rows} rows of {table.source} are bad ({kinds}), first {', '.join(first)}"
            f"{rule}; {allowed if kept else 'columns may be wrong'}"
        )
    pairs = "FROM entries WHERE status = 'kept' GROUP BY user_id, cell_row, cell_column"
    ((repeated, n_pairs),) = connection.execute(
        f"SELECT coalesce(sum(n - 1), 0), count(*) FILTER (WHERE n > 1) FROM (SELECT sum(n) AS n {pairs})"
    ).fetchall()
    if repeated and table.columns.value is not None:
        raise BadInput(
            f"{WHERE}: {table.source} has more than one row for {n_pairs} pairs of a person and a cell, each "
            "with a value, and it is not clear which one counts; leave one row for each"
        )
    return RowCounts(rows=n_rows, kept=kept, bad=bad, bad_rows=first, repeated=int(repeated))


def _bad_rows(connection: Connection, rows: _CellRows) -> Iterator[str]:
    """The locations of bad rows and the part that is wrong, never its content."""
    for chunk in rows.chunks(connection):
        bad = dict.fromkeys(chunk.malformed[:MAX_BAD_ROWS_NAMED], "columns")
        if chunk.relation is not None:
            query = f"SELECT lg_line, status FROM ({rows.select(chunk.relation, 'lg_line, ')})"
            order = f"WHERE status <> '{_KEPT}' ORDER BY lg_line LIMIT {MAX_BAD_ROWS_NAMED}"
            bad |= dict(connection.execute(f"{query} {order}").fetchall())
        yield from (f"{chunk.label} {line} ({bad[line]})" for line in sorted(bad))


def _build_map(connection: Connection, table: CellDataTable) -> tuple[CellMap, npt.NDArray[np.str_]]:
    """All cells that are named, or the ``top`` ones by the sum of values: every row with every column."""
    for part, top in (("cell_row", table.top), ("cell_column", None)):
        limit = "ALL" if top is None else top
        most = f"ORDER BY sum(value) DESC, {natural_order_sql(part)} LIMIT {limit}"
        connection.execute(
            f"CREATE TEMP TABLE {part}s AS SELECT {part}, "
            f"CAST(row_number() OVER (ORDER BY {natural_order_sql(part)}) - 1 AS BIGINT) AS {part}_id FROM "
            f"(SELECT {part} FROM entries WHERE status = '{_KEPT}' GROUP BY {part} {most})"
        )
    names = connection.execute("SELECT cell_row FROM cell_rows ORDER BY cell_row_id").fetchnumpy()["cell_row"]
    ((n_columns,),) = connection.execute("SELECT count(*) FROM cell_columns").fetchall()
    if len(names) * n_columns > MOST_CELLS:
        raise BadInput(
            f"data: {len(names)} rows and {n_columns} columns make {len(names) * n_columns} cells, at most "
            f"{MOST_CELLS}; use coarser cells, or fewer (top)"
        )
    days = np.zeros(n_columns, dtype=np.int64)
    cells = CellMap(len(names), n_columns, days, max_value=table.max_value, timed=False)
    return cells, np.asarray(names).astype(np.str_)


def _build_traces(connection: Connection, cells: CellMap) -> Traces:
    """One row for each person in the file, also for those whose values are all 0."""
    connection.execute(
        f"CREATE TEMP TABLE people AS SELECT user_id, row_number() OVER (ORDER BY "
        f"{natural_order_sql('user_id')}) - 1 AS person "
        f"FROM (SELECT DISTINCT user_id FROM entries WHERE status = '{_KEPT}')"
    )
    names = connection.execute("SELECT user_id FROM people ORDER BY person").fetchnumpy()["user_id"]
    found = connection.execute(
        f"SELECT DISTINCT person * {cells.n_cells} + cell_row_id * {cells.n_epochs} + cell_column_id "
        "AS place, CAST(value AS BIGINT) AS value FROM entries JOIN people USING (user_id) "
        "JOIN cell_rows USING (cell_row) JOIN cell_columns USING (cell_column) "
        f"WHERE status = '{_KEPT}' AND value > 0"
    ).fetchnumpy()
    keys = np.sort(np.repeat(*(np.asarray(found[name], dtype=np.int64) for name in ("place", "value"))))
    return Traces(_matrix(keys, len(names), cells.n_cells), cells, np.asarray(names).astype(np.str_))


def _matrix(keys: Ints, n_people: int, n_cells: int) -> csr_array:
    """Ones at ``person * n_cells + cell``; a cell is listed as often as its value."""
    bounds = np.searchsorted(keys, np.arange(n_people + 1, dtype=np.int64) * n_cells)
    columns = (keys % n_cells).astype(np.int32)
    return csr_array((np.ones(keys.size, dtype=np.uint8), columns, bounds), shape=(n_people, n_cells))
