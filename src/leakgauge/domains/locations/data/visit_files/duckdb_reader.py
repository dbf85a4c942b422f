"""Visits in CSV and Parquet files as relations of an in-memory DuckDB database.

The delimiter of a CSV file is detected. Rows are numbered, to find malformed ones.
"""

import csv
import glob
import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.support.frame_source import FrameSource
from leakgauge.support.table_reader import require_known
from leakgauge.support.tabular import duckdb_error_line, open_database, refuse_title
from leakgauge.support.text_encoding import Encoding, refuse_other_encoding

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Connection: TypeAlias = "DuckDBPyConnection"

MEMORY = "2GB"  # more than this is kept on disk
DELIMITERS = (",", ";", "\t", "|", " ")
CHUNK = 50_000  # lines
NO_TEXT = "\ufffd"  # replaces bytes that cannot be decoded
MOST_LINES = 1_000_000  # searched for bad lines


@dataclass(frozen=True)
class SqlField:
    """A part of a visit: SQL for its raw value in the file, and its SQL type."""

    sql: str
    type: str = "VARCHAR"


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """Some consecutive rows with their numbers, to locate bad rows.

    ``relation`` has a column ``lg_line`` in addition to the fields; None if no row is usable. ``malformed``
    are lines without the right number of columns.
    """

    label: str  # "visits.csv: line"
    relation: str | None
    malformed: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class VisitRows:
    """An SQL relation with one row per visit, and the fields of a visit in it.

    ``ahead`` is SQL for how many seconds the row's own clock is ahead of UTC. ``without_point`` is SQL that
    is true for rows that are not visits because they have no point. ``count_malformed`` counts rows without
    the right columns, after all rows were read. ``is_text`` says that the plan may name the mark before
    decimals. ``point_columns`` are the columns of latitude and longitude, where a plan may name others.
    """

    relation: str
    user: SqlField
    time: SqlField
    lat: SqlField | None = None
    lon: SqlField | None = None
    place: SqlField | None = None
    ahead: str | None = None
    without_point: str | None = None
    is_text: bool = False
    point_columns: tuple[str, str] | None = None
    count_malformed: Callable[[Connection], int] = lambda _: 0
    chunks: Callable[[Connection], Iterator[NumberedRows]]


def sql_string(text: str) -> str:
    """An SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_list(texts: Any) -> str:
    """An SQL list of string literals."""
    return "[" + ", ".join(sql_string(str(text)) for text in texts) + "]"


@contextmanager
def open_visit_database(source: str) -> Iterator[Connection]:
    """Open a database without network access; data beyond ``MEMORY`` goes to a private temporary folder.

    Files that cannot be read raise ``BadInput``. Errors in our own queries are raised unchanged.
    """
    import duckdb

    query_errors = (
        duckdb.BinderException,
        duckdb.ParserException,
        duckdb.CatalogException,
        duckdb.InternalException,
    )
    with (
        TemporaryDirectory(prefix="leakgauge-") as folder,
        open_database(
            memory_limit=MEMORY, temp_directory=folder, preserve_insertion_order="false"
        ) as connection,
    ):
        try:
            yield connection
        except query_errors:
            raise
        except duckdb.Error as error:
            reason = duckdb_error_line(error)
            raise BadInput(
                f"data.source: {source} cannot be read: {reason}; check that it is complete"
            ) from None


@dataclass(frozen=True)
class CsvDialect:
    """How lines are split into columns; in SQL the columns are named c0, c1, ..."""

    names: tuple[str, ...]
    delimiter: str
    header: bool = True
    quote: str = '"'
    encoding: str = "utf-8"

    def column(self, name: str, where: str) -> str:
        """The SQL name of a column; refuses a missing or repeated name."""
        require_known(name, list(self.names), f"{where}: no column")
        if self.names.count(name) > 1:
            raise BadInput(
                f"{where}: {self.names.count(name)} columns are called {name!r}; names must differ"
            )
        return f"c{self.names.index(name)}"

    def relation(self, files: tuple[Path, ...]) -> str:
        """SQL that reads files and rejects malformed lines."""
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        return (
            f"read_csv({sql_list(glob.escape(str(file)) for file in files)}, auto_detect = false, "
            f"delim = {sql_string(self.delimiter)}, quote = {sql_string(self.quote)}, "
            f"escape = {sql_string(self.quote)}, "
            f"header = {str(self.header).lower()}, columns = {{{columns}}}, "
            f"encoding = {sql_string(self.encoding)}, filename = true, "
            "ignore_errors = true, store_rejects = true, rejects_limit = 0)"
        )

    def chunks(self, files: tuple[Path, ...]) -> Callable[[Connection], Iterator[NumberedRows]]:
        """Read the files again with line numbers (slow), up to about ``MOST_LINES`` lines."""

        def read(connection: Connection) -> Iterator[NumberedRows]:
            left = MOST_LINES
            for file in files:
                with open_text(file, self.encoding) as lines:
                    for chunk in _read_numbered_rows(connection, self, file, lines):
                        yield chunk
                        left -= CHUNK
                        if left <= 0:
                            return

        return read


def detect_dialect(
    files: tuple[Path, ...],
    wanted: list[str],
    header: tuple[str, ...] | None,
    encoding: Encoding,
    where: str,
) -> CsvDialect:
    """Detect the delimiter from the first line: the one that gives most of the wanted names.

    ``header`` are the column names of files without a header line; then the delimiter must give as many
    columns.
    """
    first, *others = (_first_line(file, encoding, where) for file in files)
    columns_by_delimiter = {
        d: tuple(name.strip() for name in next(csv.reader([first], delimiter=d), [])) for d in DELIMITERS
    }
    if header is not None:
        fitting = [d for d in DELIMITERS if len(columns_by_delimiter[d]) == len(header)]
        if not fitting:
            most = max(len(columns) for columns in columns_by_delimiter.values())
            raise BadInput(
                f"data.header names {len(header)} columns, but {files[0].name} has {most}; name all columns"
            )
        return CsvDialect(header, fitting[0], header=False, encoding=encoding)
    delimiter = max(
        DELIMITERS,
        key=lambda d: (len(set(wanted) & set(columns_by_delimiter[d])), len(columns_by_delimiter[d])),
    )
    if not set(wanted) <= set(columns_by_delimiter[delimiter]):
        refuse_title(files[0], where, delimiter, encoding)
    for file, line in zip(files[1:], others):
        if line != first:
            twins = f"{files[0].name} and {file.name}"
            raise BadInput(f"{where}: the first lines of {twins} differ; all files need the same columns")
    return CsvDialect(columns_by_delimiter[delimiter], delimiter, encoding=encoding)


def count_malformed_lines(connection: Connection) -> int:
    """How many lines could not be split into columns when the files were last read."""
    (n_lines,) = connection.execute(
        "SELECT count(DISTINCT (file_id, line_byte_position)) FROM reject_errors "
        "WHERE scan_id = (SELECT max(scan_id) FROM reject_scans)"
    ).fetchall()[0]
    return int(n_lines)


def open_text(file: Path, encoding: str) -> TextIO:
    """Open a text file that may be compressed; undecodable bytes become replacement characters."""
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding=encoding, errors="replace", newline="")
    return file.open(encoding=encoding, errors="replace", newline="")


def _first_line(file: Path, encoding: str, where: str) -> str:
    if encoding != "utf-16":
        way_out = 'save it as CSV in UTF-8, or write encoding = "utf-16" if it is a text file in UTF-16'
        refuse_other_encoding(file, where, way_out)
    try:
        with open_text(file, encoding) as lines:
            return lines.readline().rstrip("\r\n")
    except (OSError, EOFError) as error:
        raise BadInput(f"{where}: {file.name} cannot be read ({error}); check that it is complete") from None


def _read_numbered_rows(
    connection: Connection, dialect: CsvDialect, file: Path, lines: TextIO
) -> Iterator[NumberedRows]:
    records, n_columns = _records(dialect, lines), len(dialect.names)
    while chunk := list(islice(records, CHUNK)):
        malformed = tuple(
            line for line, record in chunk if len(record) != n_columns or NO_TEXT in "".join(record)
        )
        skipped = set(malformed)
        whole = [(line, record) for line, record in chunk if line not in skipped]
        yield NumberedRows(
            f"{file.name}: line", _register_rows(connection, file, n_columns, whole), malformed
        )


def _records(dialect: CsvDialect, lines: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield records with their first line numbers; an unreadable record is empty and ends the file."""
    if dialect.quote:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
    else:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield line, []
            return
        if record and not (dialect.header and line == 1):
            yield line, record


def _register_rows(
    connection: Connection, file: Path, n_columns: int, records: list[tuple[int, list[str]]]
) -> str | None:
    if not records:
        return None
    columns = {"lg_line": np.array([line for line, _ in records], dtype=np.int64)}
    for i in range(n_columns):
        columns[f"c{i}"] = np.array([record[i] for _, record in records], dtype=object)
    columns["filename"] = np.full(len(records), str(file), dtype=object)
    connection.register("chunk", columns)
    return "chunk"


@dataclass(frozen=True)
class _ParquetColumn:
    """The name of a column in the file, its name in SQL, and its type."""

    name: str
    alias: str
    type: str


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Files with the same columns."""

    files: tuple[Path, ...]
    columns: tuple[_ParquetColumn, ...]

    @property
    def relation(self) -> str:
        """SQL that reads the files."""
        return f"read_parquet({sql_list(glob.escape(str(file)) for file in self.files)})"

    def field(self, name: str, where: str) -> SqlField:
        """Find a column; refuse a missing or repeated name."""
        names = [column.name for column in self.columns]
        require_known(name, names, f"{where}: {self.files[0].name}: no column")
        if names.count(name) > 1:
            raise BadInput(
                f"{where}: {self.files[0].name}: {names.count(name)} columns are called {name!r}; "
                "names must differ"
            )
        column = self.columns[names.index(name)]
        return SqlField('"' + column.alias.replace('"', '""') + '"', column.type)

    @property
    def chunks(self) -> Callable[[Connection], Iterator[NumberedRows]]:
        """Read the files again with row numbers."""

        def read(_: Connection) -> Iterator[NumberedRows]:
            for file in self.files:
                path = sql_list([glob.escape(str(file))])
                rows = f"read_parquet({path}, file_row_number = true)"
                yield NumberedRows(
                    f"{file.name}: row", f"(SELECT *, file_row_number + 1 AS lg_line FROM {rows})"
                )

        return read


def open_parquet(connection: Connection, files: tuple[Path, ...]) -> ParquetFiles:
    """Look up the columns of the first file; SQL renames those that are equal or differ only in case."""
    path = sql_list([glob.escape(str(files[0]))])
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({path})").fetchall()
    names, below = [], 0
    for name, n_children in schema[1:]:  # the first is the root; nested columns follow their parent
        if below == 0:
            names.append(name)
        below = max(below - 1, 0) + (n_children or 0)
    described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({path})").fetchall()
    return ParquetFiles(
        files, tuple(_ParquetColumn(name, row[0], row[1]) for name, row in zip(names, described, strict=True))
    )


@dataclass(frozen=True, eq=False)
class FrameRows:
    """A data frame in memory, as a relation with numbered rows."""

    frame: FrameSource
    relation: str

    def field(self, name: str) -> SqlField:
        """A column that the frame has."""
        return SqlField(f"c{list(self.frame.columns).index(name)}", self.frame.sql_types[name])

    @property
    def chunks(self) -> Callable[[Connection], Iterator[NumberedRows]]:
        """All rows with their numbers."""
        return lambda _: iter([NumberedRows(f"{self.frame.name}: row", self.relation)])


def open_frame_rows(connection: Connection, frame: FrameSource) -> FrameRows:
    """Let the database read a frame."""
    return FrameRows(frame, frame.register(connection))
