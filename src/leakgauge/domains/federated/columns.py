"""Rows in a CSV or Parquet file: numbers in columns, lists of numbers, or encoded images."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.database import Connection
from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.core.table_files import table_file
from leakgauge.domains.federated.arrays import TRAIN
from leakgauge.domains.federated.file_table import FileTable, Found

NEVER = "id"  # numbers the rows, and is no feature unless a plan says so
_SIZES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_SIZES, *(f"U{name}" for name in _SIZES), "FLOAT", "DOUBLE", "DECIMAL")


def read_columns(path: Path, table: FileTable) -> Found:
    """Read a file; encoded images or a list column hold whole rows, else each number is a feature."""
    with table_file(path, others=(".npz",)) as (connection, types):
        return _found(connection, types, path, table)


def _found(connection: Connection, types: Mapping[str, str], path: Path, table: FileTable) -> Found:
    keys = table.keys
    for role, name in (("rows", keys.rows), ("labels", keys.labels), ("train", keys.train)):
        if name is not None:
            require(name, list(types), f"data.keys.{role}: no column of {path.name}")
    train = keys.train or (TRAIN if TRAIN in types else None)
    marks = None if train is None else _column(connection, train)
    rest = [name for name in types if name not in (keys.labels, train)]
    whole = keys.rows or _one_of_images(types, rest, table)
    labels = _column(connection, keys.labels)
    if whole is None:
        names = table.columns or [name for name in rest if _is_number(types[name]) and name != NEVER]
        return Found(_numbers(connection, types, names, path), labels, marks, tuple(names))
    if table.columns:
        raise BadInput("data: keys.rows and a list of features both say what a row is; leave one out")
    if types[whole] == "BLOB":
        return Found([blob for (blob,) in _select(connection, whole).fetchall()], labels, marks)
    return Found(_lists(connection, whole, types[whole]), labels, marks)


def _one_of_images(types: Mapping[str, str], rest: Sequence[str], table: FileTable) -> str | None:
    """The column of encoded images, where there is just one and no features are named."""
    images = [name for name in rest if types[name] == "BLOB"]
    return images[0] if len(images) == 1 and not table.columns else None


def _numbers(
    connection: Connection, types: Mapping[str, str], names: Sequence[str], path: Path
) -> npt.NDArray[np.float64]:
    if not names:
        raise BadInput(
            f"data.source: {path.name} has no column of numbers besides the labels; name the column that "
            'holds whole rows: keys = { rows = "..." }'
        )
    for i, name in enumerate(names):
        require(name, list(types), f"data.features: no column of {path.name}")
        if name in names[:i]:
            raise BadInput(f"data.features: {name!r} is named twice; remove one")
        if not _is_number(types[name]):
            raise BadInput(f"data.features: {name!r} holds {types[name]}, not numbers; leave it out")
    typed = ", ".join(f"CAST({_quoted(name)} AS DOUBLE) AS c{i}" for i, name in enumerate(names))
    columns = connection.execute(f"SELECT {typed} FROM given").fetchnumpy()
    return np.column_stack([np.ma.filled(columns[f"c{i}"], np.nan) for i in range(len(names))])


def _lists(connection: Connection, name: str, kind: str) -> npt.NDArray[np.float64]:
    """A column whose every value is a list of equally many numbers."""
    if not (kind.endswith("]") and _is_number(kind.partition("[")[0]) and kind.count("[") == 1):
        raise BadInput(
            f"data.keys.rows: {name!r} holds {kind}; a row is a list of numbers or an encoded image (a BLOB)"
        )
    column = _quoted(name)
    lengths = np.ma.filled(connection.execute(f"SELECT len({column}) AS n FROM given").fetchnumpy()["n"], -1)
    odd = np.flatnonzero(lengths != lengths[:1])
    if odd.size or (lengths < 0).any():
        row = int(odd[0]) if odd.size else 0
        has = "nothing" if lengths[row] < 0 else f"{lengths[row]} numbers"
        raise BadInput(
            f"data.keys.rows: row {row} (the first is 0) of {name!r} has {has}, and row 0 has {lengths[0]}; "
            "all rows need equally many"
        )
    flat = connection.execute(f"SELECT CAST(unnest({column}) AS DOUBLE) AS v FROM given").fetchnumpy()["v"]
    return np.ma.filled(flat, np.nan).reshape(len(lengths), -1)


def _column(connection: Connection, name: str) -> npt.NDArray[Any]:
    return connection.execute(f"SELECT {_quoted(name)} AS it FROM given").fetchnumpy()["it"]


def _select(connection: Connection, name: str) -> Connection:
    return connection.execute(f"SELECT {_quoted(name)} FROM given")


def _is_number(kind: str) -> bool:
    return kind.partition("(")[0] in _NUMBERS


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
