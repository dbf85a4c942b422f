"""A database in memory that lives as long as a file is being read."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading.rows import Connection

MEMORY = "2GB"  # beyond, it works on disk


@contextmanager
def connected(source: str) -> Iterator[Connection]:
    """Open a database without network; what does not fit into memory lies in a private folder for a while.

    Files that cannot be read are the user's to mend; a wrong query is a fault of ours, and passes.
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
