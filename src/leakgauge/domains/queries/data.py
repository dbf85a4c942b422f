"""The records of the table: read from a CSV or Parquet file, or generated."""

from collections import Counter
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries.plan_tables import QueriesFileTable, QueriesSyntheticTable
from leakgauge.domains.queries.records import OracleRecords
from leakgauge.domains.queries.sql.conditions import ColumnType, quote_identifier
from leakgauge.support.cache import RecentCache, file_identity
from leakgauge.support.frame_source import FrameSource, find_frame, open_frame
from leakgauge.support.required_columns import require_columns
from leakgauge.support.table_reader import read_dataclass
from leakgauge.support.tabular import Connection, TextFormat, open_table_file, refuse_numbers_as_texts

# Blocks of the data stream, independent of one another.
TABLE_STREAM, TARGETS_STREAM, KNOWN_STREAM = range(3)
REGIONS = ("north", "east", "south", "west")
SYNTHETIC = "synthetic"
ID = "id"
_loaded: RecentCache[OracleRecords] = RecentCache()
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_REAL = ("FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT", "UBIGINT", "DECIMAL")


def generate_records(table: QueriesSyntheticTable, seed: int) -> OracleRecords:
    """Draw the people from a seed."""
    rng, n = stream(seed, Role.DATA, TABLE_STREAM), table.records
    columns: dict[str, npt.NDArray[Any]] = {
        "id": np.arange(n, dtype=np.int64),
        "age": rng.integers(18, 91, n),
        "income": np.round(rng.lognormal(3.4, 0.6, n), 1),
        "region": np.array(REGIONS, dtype=object)[rng.integers(len(REGIONS), size=n)],
        "smoker": rng.random(n) < 0.2,
    }
    types = {
        "id": ColumnType.WHOLE,
        "age": ColumnType.WHOLE,
        "income": ColumnType.REAL,
        "region": ColumnType.TEXT,
        "smoker": ColumnType.TRUTH,
    }
    identity = f"{QueriesSyntheticTable(records=n)!r} {seed}"
    if table.person is None or table.rows_per_person is None:
        return OracleRecords(types, columns, "id", sha256(identity.encode()).hexdigest())
    if table.person in types:
        raise BadInput(f"data.person: there is a column {table.person!r} already; choose another name")
    sizes = rng.integers(1, table.rows_per_person + 1, n)
    person = np.repeat(np.arange(n), sizes)[:n]
    for name in ("age", "region", "smoker"):
        columns[name] = columns[name][person]
    return OracleRecords(
        {table.person: ColumnType.WHOLE, **types},
        {table.person: person, **columns},
        table.person,
        sha256(f"{identity} {table.person} {table.rows_per_person}".encode()).hexdigest(),
        table.rows_per_person,
    )


def load_records(table: Mapping[str, Any], folder: Path, seed: int) -> OracleRecords:
    """Read or generate the records; files are relative to ``folder``.

    Recent tables are cached in memory, until the plan or the file changes.
    """
    parameters = dict(table)
    source = parameters.pop("source", SYNTHETIC)
    if source == SYNTHETIC:
        generated = read_dataclass(QueriesSyntheticTable, parameters, "data")
        return _loaded.once((generated, seed), lambda: generate_records(generated, seed))
    if not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    file = read_dataclass(QueriesFileTable, {"source": source, **parameters}, "data")
    if (frame := find_frame(source)) is not None:
        return _loaded.once((file, frame.digest), lambda: read_frame(file, frame))
    path = folder / file.source
    if not path.is_file():
        raise BadInput(f"data.source: there is no file {file.source!r} in {folder}; check the path")
    return _loaded.once((file, file_identity(path)), lambda: read_records(file, path))


def read_records(table: QueriesFileTable, path: Path) -> OracleRecords:
    """Read a CSV or Parquet file."""
    with open_table_file(path, text=table.text_format) as (connection, kinds):
        refuse_numbers_as_texts(connection, kinds, path, table.text_format, ids=_id_columns(table))
        columns, types = _typed_columns(connection, kinds)
    with path.open("rb") as content:
        return _as_records(table, columns, types, path.name, file_digest(content, "sha256").hexdigest())


def read_frame(table: QueriesFileTable, frame: FrameSource) -> OracleRecords:
    """Read a data frame in memory, through the same database as a file."""
    with open_frame(frame) as (connection, kinds):
        refuse_numbers_as_texts(connection, kinds, Path(frame.name), ids=_id_columns(table))
        columns, types = _typed_columns(connection, kinds)
    return _as_records(table, columns, types, frame.name, frame.digest)


def _id_columns(table: QueriesFileTable) -> tuple[str | None, str | None]:
    """The columns that name rows and people; any values will do there."""
    return (table.id or ID, table.person)


def _typed_columns(
    connection: Connection, kinds: Mapping[str, str]
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, ColumnType]]:
    types = {name: _type(kind) for name, kind in kinds.items()}
    typed = ", ".join(
        f"CAST({_written(name, kinds[name])} AS {kind}) AS {quote_identifier(name)}"
        for name, kind in types.items()
    )
    return connection.execute(f"SELECT {typed} FROM given").fetchnumpy(), types


def _written(name: str, kind: str) -> str:
    """SQL for a value as a text file would give it: of four bytes, 0.3 and not 0.30000001192092896."""
    column = quote_identifier(name)
    return f"CAST({column} AS VARCHAR)" if kind == "FLOAT" else column


def _as_records(
    table: QueriesFileTable,
    columns: dict[str, npt.NDArray[Any]],
    types: dict[str, ColumnType],
    name: str,
    content: str,
) -> OracleRecords:
    """The records of the columns of ``name``; ``content`` is a digest of all values."""
    identity = f"{content}\n{table.id}"
    if table.text_format != TextFormat():
        identity = f"{identity}\n{table.text_format}"
    if table.person is not None and table.rows_per_person is not None:
        require_columns({"person": table.person}, list(types), name, "data.person")
        kept = _first_rows(columns[table.person], table.rows_per_person)
        columns = {key: column[kept] for key, column in columns.items()}
        identity = f"{identity}\n{table.person}\n{table.rows_per_person}"
        digest = sha256(identity.encode()).hexdigest()
        return OracleRecords(types, columns, table.person, digest, table.rows_per_person)
    if table.id is None and ID not in types:
        types = {ID: ColumnType.WHOLE, **types}
        columns = {ID: np.arange(len(next(iter(columns.values()))), dtype=np.int64), **columns}
    id_column = ID if table.id is None else table.id
    require_columns({"id": id_column}, list(types), name, "data.id")
    return OracleRecords(types, columns, id_column, sha256(identity.encode()).hexdigest())


def _first_rows(people: npt.NDArray[Any], most: int) -> npt.NDArray[np.int64]:
    """Return the rows among the first so many of their person, in the order of the table.

    >>> _first_rows(np.array([7, 8, 7, 7, 8]), 2).tolist()
    [0, 1, 2, 4]
    """
    seen: Counter[Any] = Counter()
    kept = []
    for row, person in enumerate(people.tolist()):
        seen[person] += 1
        if seen[person] <= most:
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def _type(kind: str) -> ColumnType:
    """Return the type of a column: whole or real numbers, truth values, times, or else texts."""
    name = kind.partition("(")[0]
    if name in _WHOLE:
        return ColumnType.WHOLE
    if name in _REAL:
        return ColumnType.REAL
    if name == "BOOLEAN":
        return ColumnType.TRUTH
    return (
        ColumnType.TIME
        if name in ("DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S")
        else ColumnType.TEXT
    )
