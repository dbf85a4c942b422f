"""The records that the `data` table of a plan stands for: those of a file, or generated ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.keeping import Kept, identity
from leakgauge.core.settings import read, require
from leakgauge.core.table_files import table_file
from leakgauge.domains.queries.conditions import Type, quoted
from leakgauge.domains.queries.generating import Generated, generate
from leakgauge.domains.queries.records import Records

SYNTHETIC = "synthetic"
ID = "id"
_loaded: Kept[Records] = Kept()
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_REAL = ("FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT", "UBIGINT", "DECIMAL")


@dataclass(frozen=True, kw_only=True)
class FileTable:
    """A file of records, and the column of their ids: ``id`` if there is one, else rows count from 0."""

    source: str
    id: str | None = None


def load(table: Mapping[str, Any], folder: Path, seed: int) -> Records:
    """Read or generate the records; files are looked for in ``folder``.

    The last tables are kept in memory, and given again while neither the plan's nor a file has changed.
    """
    said = dict(table)
    source = said.pop("source", SYNTHETIC)
    if source == SYNTHETIC:
        generated = read(Generated, said, "data")
        return _loaded.once((generated, seed), lambda: generate(generated, seed))
    if not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    file = read(FileTable, {"source": source, **said}, "data")
    path = folder / file.source
    if not path.is_file():
        raise BadInput(f"data.source: there is no file {file.source!r} in {folder}; check the path")
    return _loaded.once((file, identity(path)), lambda: read_records(file, path))


def read_records(table: FileTable, path: Path) -> Records:
    """Read a CSV or Parquet file."""
    with table_file(path) as (connection, kinds):
        types = {name: _type(kind) for name, kind in kinds.items()}
        typed = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in types.items())
        columns = connection.execute(f"SELECT {typed} FROM given").fetchnumpy()
    with path.open("rb") as content:
        words = f"{file_digest(content, 'sha256').hexdigest()}\n{table.id}"
    if table.id is None and ID not in types:
        types = {ID: Type.WHOLE, **types}
        columns = {ID: np.arange(len(next(iter(columns.values()))), dtype=np.int64), **columns}
    id_column = ID if table.id is None else table.id
    require(id_column, list(types), f"data.id: {path.name} has no column that")
    return Records(types, columns, id_column, sha256(words.encode()).hexdigest())


def _type(kind: str) -> Type:
    """How a column is held: numbers as whole or real ones, days as times, and all else as texts."""
    name = kind.partition("(")[0]
    if name in _WHOLE:
        return Type.WHOLE
    if name in _REAL:
        return Type.REAL
    if name == "BOOLEAN":
        return Type.TRUTH
    return (
        Type.TIME
        if name in ("DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S")
        else Type.TEXT
    )
