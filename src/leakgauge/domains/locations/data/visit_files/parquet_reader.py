"""Visits in Parquet files."""

import glob
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.duckdb_rows import (
    Connection,
    NumberedRows,
    SqlField,
    sql_list,
)
from leakgauge.support.table_reader import require_known


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
