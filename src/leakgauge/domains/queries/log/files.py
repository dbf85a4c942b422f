"""The files of a query log: CSV, Parquet or JSON lines, opened with DuckDB, and their columns."""

import csv
import glob
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.sql.conditions import quote_identifier
from leakgauge.support.tabular import Connection, duckdb_error_line

LOG_FLAG, CONTAINS_FLAG, DATA_FLAG = "--query-log", "--contains", "--data"
DEFAULT_DELTA = 1e-5  # at which epsilon of Gaussian answers is told, unless said otherwise


@dataclass(frozen=True)
class QueryLogFiles:
    """Queries, perhaps which records each contains, perhaps the table that was asked and its ids."""

    log: Path
    contains: Path | None = None
    data: Path | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None and self.data is None:
            raise BadInput(f"--id names a column of the table; give the table too: {DATA_FLAG} FILE")


INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_TEXT = ("VARCHAR", "HUGEINT", "UHUGEINT", "UBIGINT", "UUID")  # written out, so that no digit is lost
_PARQUET, _JSON = (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
_DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


@dataclass(frozen=True)
class LogSource:
    """A file: what stands after FROM, and the types of its columns by their names in small letters."""

    path: Path
    sql: str
    types: dict[str, str]
    names: dict[str, str]  # as SQL writes them

    def has(self, column: str) -> bool:
        return column in self.types

    def is_list(self, column: str) -> bool:
        return self.types[column].endswith("[]")

    def is_whole(self, column: str) -> bool:
        """Whether a column of ids holds whole numbers; else they are texts."""
        kind = self.types[column].removesuffix("[]")
        if kind in INTEGER_TYPES:
            return True
        if kind in _TEXT or kind.endswith(",0)"):  # of a DECIMAL without decimals
            return False
        raise BadInput(f"{self.path.name}: {column!r} is {kind}; ids are whole numbers or texts")


def open_source(connection: Connection, path: Path, flag: str) -> LogSource:
    """Look at a file; every column of a CSV file stays a text, so that 007 is not 7."""
    if not path.is_file():
        raise BadInput(f"{flag}: there is no file {path}; check the path")
    sql = _scan(path, flag)
    with duckdb_errors_as_bad_input(path):
        found = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    names = {name.strip().lower(): quote_identifier(name) for name, *_ in found}
    return LogSource(path, sql, {name.strip().lower(): kind for name, kind, *_ in found}, names)


@contextmanager
def duckdb_errors_as_bad_input(path: Path) -> Iterator[None]:
    """Turn what DuckDB says of a file into one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise BadInput(
            f"{path.name}: cannot be read: {duckdb_error_line(error)}; is the file whole?"
        ) from None


def _scan(path: Path, flag: str) -> str:
    name, place = path.name.lower(), _literal(glob.escape(str(path)))
    if name.endswith(_PARQUET):
        return f"read_parquet({place})"
    if name.endswith(_JSON):
        return f"read_json({place})"
    for end, delimiter in _DELIMITERS.items():
        if name.endswith(end):
            columns = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in _header(path, delimiter))
            said = "auto_detect = false, header = true, quote = '\"', escape = '\"'"
            return f"read_csv({place}, {said}, delim = {_literal(delimiter)}, columns = {{{columns}}})"
    known = ", ".join([*_DELIMITERS, *_PARQUET, *_JSON])
    raise BadInput(f"{flag}: {path.name!r} has an unknown ending; known: {known}")


def _header(path: Path, delimiter: str) -> list[str]:
    """The names of the columns of a CSV file: nothing about it is guessed."""
    try:
        with (gzip.open if path.name.lower().endswith(".gz") else open)(
            path, "rt", encoding="utf-8-sig", newline=""
        ) as file:
            header = next(csv.reader(file, delimiter=delimiter), [])
    except (OSError, UnicodeError, EOFError, csv.Error) as error:
        raise BadInput(f"{path.name}: cannot be read: {error}; is it a text file?") from None
    names = [name.strip().lower() for name in header]
    if len(set(names)) < len(names) or not all(names):
        raise BadInput(f"{path.name}, row 0: {header}: every column needs a name of its own")
    if not names:
        raise BadInput(f"{path.name}: is empty; its first line names the columns")
    return header


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
