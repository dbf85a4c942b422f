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

MEMORY = "2GB"  # more than this is kept on disk


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
    the right columns, after all rows were read.
    """

    relation: str
    user: SqlField
    time: SqlField
    lat: SqlField | None = None
    lon: SqlField | None = None
    place: SqlField | None = None
    ahead: str | None = None
    without_point: str | None = None
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
            except query_errors:
                raise
            except duckdb.Error as error:
                reason = str(error).partition("\n")[0]
                raise BadInput(
                    f"data.source: {source} cannot be read: {reason}; check that it is complete"
                ) from error
