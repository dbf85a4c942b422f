"""A database in memory that reaches nothing outside of it."""

from typing import Any, TypeAlias

Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection, which is loaded when it is needed

_REASONS = ("Expected", "Invalid", "Error when converting", "Maximum", "Value with", "It was not possible")
_SHOWN = 300  # characters of what it says


def opened() -> Connection:
    """Open an empty database; it may read files until it is closed to them."""
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "threads": 1,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def complaint(error: Exception) -> str:
    """What DuckDB says is wrong with a file, in one line: why, without the row, which is about somebody."""
    first, *rest = str(error).splitlines()
    why = next((f": {line.strip()}" for line in rest if line.startswith(_REASONS)), "")
    return (first.rstrip(" .") + why)[:_SHOWN].rstrip(" .")


def closed(connection: Connection) -> Connection:
    """Take files, the network and all settings away from a database, for good."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
