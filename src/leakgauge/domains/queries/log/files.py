"""The files of a query log: CSV, Parquet or JSON lines, opened with DuckDB, and their columns."""

import csv
import glob
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.sql.conditions import quote_identifier
from leakgauge.support.tabular import (
    DELIMITED,
    JSON_LINES,
    PARQUET,
    Connection,
    duckdb_error_line,
    find_delimiter,
    refuse_title,
)
from leakgauge.support.text_encoding import refuse_other_encoding

LOG_FLAG, CONTAINS_FLAG, DATA_FLAG = "query log", "contains", "data"  # as command line and Python call them
DEFAULT_DELTA = 1e-5  # for the epsilon of Gaussian answers
INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_TEXT = ("VARCHAR", "HUGEINT", "UHUGEINT", "UBIGINT", "UUID")  # compared as texts, so that no digit is lost
NUMBER_FIELDS = ("epsilon", "scale", "sigma", "delta", "bound")
ANSWER = "answer"  # a number of either sign, read where it is asked for
CONTRIBUTION = "contribution"
_COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"  # 0,3
_THOUSANDS = r"[+-]?[1-9]\d{0,2},\d{3}"  # 1,234 may be a thousand
_JSON = (*JSON_LINES, ".json")


@dataclass(frozen=True)
class QueryLogFiles:
    """The log, and optionally the records of each query, the queried table and its id column."""

    log: Path
    contains: Path | None = None
    data: Path | None = None
    id: str | None = None
    secret: str | None = None  # a column of the table with two values, which answers may give away

    def __post_init__(self) -> None:
        if self.id is not None and self.data is None:
            raise BadInput(
                "the id column is one of the table; name the file of the table (--data, in Python data=...)"
            )


@dataclass(frozen=True)
class LogSource:
    """A file: its SQL after FROM, and the types of its columns by lower-case name."""

    path: Path
    sql: str
    types: dict[str, str]
    names: dict[str, str]  # quoted for SQL
    decimal: Literal[".", ","] = "."  # the mark before the decimals of numbers that are texts

    def has(self, column: str) -> bool:
        return column in self.types

    def number(self, column: str) -> str:
        """SQL for a column of numbers; where decimals follow commas, one with a point is no number."""
        if self.decimal == "." or self.types[column] != "VARCHAR":
            return self.names[column]
        return f"trim(translate({self.names[column]}, '.,', ' .'))"

    def is_list(self, column: str) -> bool:
        return self.types[column].endswith("[]")

    def is_whole(self, column: str) -> bool:
        """Return whether a column of ids holds whole numbers; otherwise they are texts."""
        kind = self.types[column].removesuffix("[]")
        if kind in INTEGER_TYPES:
            return True
        if kind in _TEXT or kind.endswith(",0)"):  # DECIMAL without decimals
            return False
        raise BadInput(f"{self.path.name}: {column!r} is {kind}; ids are whole numbers or texts")


def open_source(connection: Connection, path: Path, flag: str) -> LogSource:
    """Open a file and read its columns; CSV columns stay texts, so that 007 is not 7."""
    if not path.is_file():
        raise BadInput(f"{flag}: there is no file {path}; check the path")
    sql = _scan(path, flag)
    with duckdb_errors_as_bad_input(path):
        description = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    names = {name.strip().lower(): quote_identifier(name) for name, *_ in description}
    types = {name.strip().lower(): kind for name, kind, *_ in description}
    return LogSource(path, sql, types, names, _decimal_mark(connection, LogSource(path, sql, types, names)))


def _decimal_mark(connection: Connection, source: LogSource) -> Literal[".", ","]:
    """The mark before decimals: a comma where no number has a point, and some comma is not at a thousand."""
    able = (name for name in (*NUMBER_FIELDS, ANSWER, CONTRIBUTION) if source.types.get(name) == "VARCHAR")
    texts = " UNION ALL ".join(f"SELECT trim({source.names[name]}) AS it FROM {source.sql}" for name in able)
    if not texts:
        return "."
    with duckdb_errors_as_bad_input(source.path):
        ((commas, points),) = connection.execute(
            f"SELECT count(*) FILTER (regexp_full_match(it, '{_COMMA}') AND NOT regexp_full_match(it, "
            f"'{_THOUSANDS}')), count(*) FILTER (contains(it, '.')) FROM ({texts})"
        ).fetchall()
    return "," if commas and not points else "."


@contextmanager
def duckdb_errors_as_bad_input(path: Path) -> Iterator[None]:
    """Turn errors of DuckDB about a file into one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise BadInput(
            f"{path.name}: cannot be read: {duckdb_error_line(error)}; check that the file is complete"
        ) from None


def _scan(path: Path, flag: str) -> str:
    name, place = path.name.lower(), _literal(glob.escape(str(path)))
    if name.endswith(PARQUET):
        return f"read_parquet({place})"
    if name.endswith(_JSON):
        return f"read_json({place})"
    if name.endswith(DELIMITED):
        refuse_other_encoding(path, "query log")
        delimiter = find_delimiter(path, path.name)
        columns = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in _header(path, delimiter))
        options = "auto_detect = false, header = true, quote = '\"', escape = '\"'"
        return f"read_csv({place}, {options}, delim = {_literal(delimiter)}, columns = {{{columns}}})"
    known = ", ".join([*DELIMITED, *PARQUET, *_JSON])
    raise BadInput(f"{flag}: {path.name!r} has an unknown ending; known: {known}")


def _header(path: Path, delimiter: str) -> list[str]:
    """Read the column names of a text file."""
    refuse_title(path, str(path), delimiter)
    try:
        with (gzip.open if path.name.lower().endswith(".gz") else open)(
            path, "rt", encoding="utf-8-sig", newline=""
        ) as file:
            header = next(csv.reader(file, delimiter=delimiter), [])
    except (OSError, UnicodeError, EOFError, csv.Error) as error:
        raise BadInput(f"{path.name}: cannot be read: {error}; it must be a text file") from None
    names = [name.strip().lower() for name in header]
    if len(set(names)) < len(names) or not all(names):
        raise BadInput(f"{path.name}, line 1: every column needs a name, and a different one; fix the names")
    if not names:
        raise BadInput(f"{path.name}: is empty; write the column names in its first line")
    return header


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
