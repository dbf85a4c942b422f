"""A database in memory that reaches nothing outside of it."""

from typing import Any, TypeAlias

Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection, which is loaded when it is needed


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


def closed(connection: Connection) -> Connection:
    """Take files, the network and all settings away from a database, for good."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
