"""Rows of visits as relations of an in-memory DuckDB database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from leakgauge.core.errors import BadInput

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Connection: TypeAlias = "DuckDBPyConnection"


@dataclass(frozen=True)
class SqlField:
    """A part of a visit: SQL for its value as it stands in the file, and the type of that."""

    sql: str
    type: str = "VARCHAR"


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """Some consecutive rows with their numbers, to find the bad ones in.

    ``relation`` has a column ``lg_line`` beside those that fields name, or there is none; ``torn`` are lines
    that do not have the right number of columns.
    """

    label: str  # "visits.csv: line"
    relation: str | None
    torn: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class VisitRows:
    """A relation of SQL with one row per visit, and where in it the parts of a visit are.

    ``ahead`` is how many seconds the row's own clock is ahead of UTC. ``pointless`` is true of rows that are
    no visit because they have no point. ``torn`` counts rows without the right columns, once all were read.
    """

    relation: str
    user: SqlField
    time: SqlField
    lat: SqlField | None = None
    lon: SqlField | None = None
    place: SqlField | None = None
    ahead: str | None = None
    pointless: str | None = None
    torn: Callable[[Connection], int] = lambda _: 0
    pieces: Callable[[Connection], Iterator[NumberedRows]]


def sql_string(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_list(texts: Any) -> str:
    """A list of string literals of SQL."""
    return "[" + ", ".join(sql_string(str(text)) for text in texts) + "]"


MEMORY = "2GB"  # beyond, it works on disk


@contextmanager
def open_visit_database(source: str) -> Iterator[Connection]:
    """Open a database without network; what does not fit into memory lies in a private folder for a while.

    Files that cannot be read are the user's to fix; a wrong query is a fault of ours, and passes.
    """
    import duckdb

    faults = (
        duckdb.BinderException,
        duckdb.ParserException,
        duckdb.CatalogException,
        duckdb.InternalException,
    )
    with TemporaryDirectory(prefix="leakgauge-") as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": folder,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")
            try:
                yield connection
            except faults:
                raise
            except duckdb.Error as error:
                said = str(error).partition("\n")[0]
                raise BadInput(f"data.source: {source} cannot be read: {said}; is the file whole?") from error
