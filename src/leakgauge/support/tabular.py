"""CSV and Parquet files of users, read by DuckDB in an in-memory database without network access."""

import glob
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.support.text_encoding import refuse_other_encoding

Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection, which is loaded when it is needed

DELIMITED = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
PARQUET = (".parquet", ".pq")
DELIMITERS = (",", ";", "\t", "|")
_REASONS = ("Expected", "Invalid", "Error when converting", "Maximum", "Value with", "It was not possible")
_CELL = re.compile(r"""\b(string|value) (?:"(?:[^"]|"(?! to\b))*"|'(?:[^']|'(?! to\b))*'|-?\d\S*)""")
_LONGEST_ERROR = 300  # characters of a message


def open_database(**settings: str | int) -> Connection:
    """Open an empty database, with one thread unless told; it may read files until it is closed to them.

    Every database of leakgauge is opened here.
    """
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        **(settings or {"threads": 1}),
    }
    connection = duckdb.connect(":memory:", config=config)
    _turn_progress_bar_off(connection)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _turn_progress_bar_off(connection: Connection) -> None:
    """Turn DuckDB's own progress bar off where it is on.

    In a notebook without ipywidgets it is off, and DuckDB 1.4 and 2.0 refuse every change of the setting,
    also that to off, with an error about the missing package.
    """
    ((is_on,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if is_on:
        connection.execute("SET enable_progress_bar = false")


def duckdb_error_line(error: Exception) -> str:
    """The message of DuckDB about a file in one line: the reason, without the row, which is personal data."""
    first, *rest = str(error).splitlines()
    why = next((f": {line.strip()}" for line in rest if line.startswith(_REASONS)), "")
    return _CELL.sub(r"\1", first.rstrip(" .") + why)[:_LONGEST_ERROR].rstrip(" .")


def lock_database(connection: Connection) -> Connection:
    """Close a database to files, the network and changes of settings, permanently."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextmanager
def open_table_file(
    path: Path, where: str = "data.source", others: Sequence[str] = ()
) -> Iterator[tuple[Connection, dict[str, str]]]:
    """Yield a database with the file as its table ``given``, and the DuckDB types of its columns.

    ``others`` are file endings that the caller reads itself; the message about an unknown ending lists them.
    """
    import duckdb

    reader = _reader(path, where, others)
    with open_database() as connection:
        try:
            # a prepared path never becomes SQL, but * and ? in it would match files
            connection.execute(f"CREATE TABLE given AS SELECT * FROM {reader}", [glob.escape(str(path))])
        except duckdb.Error as error:
            raise BadInput(f"{where}: {path.name} cannot be read: {_read_error(error)}") from None
        types = {name: kind for name, kind, *_ in connection.execute("DESCRIBE given").fetchall()}
        yield connection, types


def _reader(path: Path, where: str, others: Sequence[str]) -> str:
    """What follows FROM; in a text file only the types of columns are guessed, from all their values."""
    if path.name.lower().endswith(PARQUET):
        return "read_parquet(?)"
    if path.name.lower().endswith(DELIMITED):
        form = "header = true, skip = 0, quote = '\"', escape = '\"', comment = '', sample_size = -1"
        return f"read_csv(?, delim = '{_delimiter(path, where)}', {form})"
    known = ", ".join([*others, *DELIMITED, *PARQUET])
    raise BadInput(f"{where}: {path.name!r} has an unknown ending; known: {known}")


def _delimiter(path: Path, where: str) -> str:
    """The delimiter of the first line, which names the columns."""
    refuse_other_encoding(path, where)
    unpacked = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with unpacked(path, "rt", encoding="utf-8-sig") as file:
            first = file.readline()
    except (OSError, UnicodeError, EOFError) as error:
        raise BadInput(
            f"{where}: {path.name} cannot be read: {error}; it must be a text file in UTF-8"
        ) from None
    if not first.strip():
        raise BadInput(f"{where}: {path.name} is empty, or begins with an empty line; name the columns there")
    return max(DELIMITERS, key=first.count)


def _read_error(error: Exception) -> str:
    if "sniffing" in str(error):
        return (
            "a row has more or fewer values than the first line has names, or a quote is not closed; fix it"
        )
    return f"{duckdb_error_line(error)}; is the file whole?"
