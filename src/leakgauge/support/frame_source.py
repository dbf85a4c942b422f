"""Data frames in memory as the data of a plan: of pandas, polars, pyarrow or NumPy, or a dict of columns.

A plan holds text only, so a frame stands in it as a name, ``frame:`` and a digest of its content. The frame
itself stays in this process while it is held here, and is never written to a file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from math import isnan
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.support.tabular import Connection, open_database

PREFIX = "frame:"
LINE = "lg_line"  # numbers the rows from 1
_DIGITS = 12  # of the digest in a name
_SQL_TYPES = {"O": "VARCHAR", "M": "TIMESTAMP", "b": "BOOLEAN", "f": "DOUBLE", "i": "BIGINT"}
_LARGEST = np.iinfo(np.int64).max
_held: dict[str, "FrameSource"] = {}


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The columns of a frame as arrays: numbers, truth values, times, or texts and None for missing ones.

    ``instants`` are columns of times with a zone; they are in UTC.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    instants: frozenset[str]
    digest: str

    @property
    def name(self) -> str:
        """The source of data that a plan names."""
        return f"{PREFIX}{self.digest[:_DIGITS]}"

    @property
    def sql_types(self) -> dict[str, str]:
        """The SQL type of each column."""
        return {
            name: "TIMESTAMP WITH TIME ZONE" if name in self.instants else _SQL_TYPES[column.dtype.kind]
            for name, column in self.columns.items()
        }

    def register(self, connection: Connection) -> str:
        """Let a database read the columns, c0, c1 and so on, and row numbers; return the SQL relation."""
        connection.execute(
            "SET pandas_analyze_sample = 0"
        )  # columns of objects are texts, also where most miss
        numbered = {f"c{place}": column for place, column in enumerate(self.columns.values())}
        connection.register("frame", {**numbered, LINE: np.arange(1, self.n_rows + 1)})
        return "frame"

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))


@contextmanager
def hold_frame(frame: Any, where: str) -> Iterator[str]:
    """Hold a frame in memory within the context; yield the name by which a plan reads it.

    Messages about bad input do not repeat this name, which means nothing to whoever gave the frame.
    """
    source = frame_source(frame, where)
    before = _held.get(source.name)
    _held[source.name] = source
    try:
        yield source.name
    except BadInput as error:
        if source.name not in str(error):
            raise
        raise BadInput(str(error).replace(source.name, "the frame")) from None
    finally:
        if before is None:
            _held.pop(source.name, None)


def find_frame(source: str, where: str = "data.source") -> FrameSource | None:
    """Return the frame that a plan names; nothing where it names a file."""
    if not source.startswith(PREFIX):
        return None
    if source not in _held:
        raise BadInput(
            f"{where}: {source!r} was a data frame in the memory of another Python process; call the "
            "function with the frame again, or name a file"
        )
    return _held[source]


@contextmanager
def open_frame(source: FrameSource) -> Iterator[tuple[Connection, dict[str, str]]]:
    """Yield a database with the frame as its table ``given``, and the SQL types of its columns."""
    with open_database() as connection:
        selected = ", ".join(
            f"CAST(c{place} AS {kind}) AS {_quoted(name)}"
            for place, (name, kind) in enumerate(source.sql_types.items())
        )
        connection.execute(f"CREATE TABLE given AS SELECT {selected} FROM {source.register(connection)}")
        yield connection, source.sql_types


def frame_source(frame: Any, where: str) -> FrameSource:
    """Take the columns of a frame.

    >>> frame_source({"user": ["ann", None], "visits": [1, 2]}, "frame").sql_types
    {'user': 'VARCHAR', 'visits': 'BIGINT'}
    """
    taken = {name: _column(values) for name, values in _named_columns(frame, where).items()}
    columns = {name: column for name, (column, _) in taken.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        (first, size), (other, different) = _two_lengths(lengths)
        raise BadInput(
            f"{where}: {first!r} has {size} rows and {other!r} has {different}; give as many of each"
        )
    if not lengths or not next(iter(lengths.values())):
        raise BadInput(f"{where}: there are no rows; give a frame with at least one")
    instants = frozenset(name for name, (_, zoned) in taken.items() if zoned)
    return FrameSource(columns, instants, _digest(columns, instants))


def _two_lengths(lengths: Mapping[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    first = next(iter(lengths.items()))
    return first, next(one for one in lengths.items() if one[1] != first[1])


def _named_columns(frame: Any, where: str) -> dict[str, Any]:
    """The columns by name, in the type that the frame keeps them in."""
    if isinstance(frame, Mapping):
        named = list(frame.items())
    elif isinstance(frame, np.ndarray) and frame.dtype.names:
        named = [(name, frame[name]) for name in frame.dtype.names]
    elif hasattr(frame, "iloc"):  # pandas: a name may occur twice
        named = [(name, frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    elif hasattr(frame, "column_names") and hasattr(frame, "column"):  # pyarrow
        named = [(name, frame.column(place)) for place, name in enumerate(frame.column_names)]
    elif hasattr(frame, "collect_schema") and not hasattr(frame, "rows"):  # a lazy frame of polars
        raise BadInput(f"{where}: this frame is lazy; give frame.collect()")
    elif hasattr(frame, "columns") and hasattr(frame, "get_column"):  # polars
        named = [(name, frame.get_column(name)) for name in frame.columns]
    else:
        raise BadInput(
            f"{where}: must be a data frame of pandas, polars or pyarrow, a structured array of NumPy, or a "
            f"dict of columns, got {type(frame).__name__}"
        )
    names = [str(name) for name, _ in named]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(
            f"{where}: {names.count(repeated[0])} columns are called {repeated[0]!r}; names must differ"
        )
    return dict(zip(names, (values for _, values in named), strict=True))


def _column(values: Any) -> tuple[npt.NDArray[Any], bool]:
    """A column as an array, and whether it holds times with a zone, which are then in UTC."""
    kind = getattr(values, "dtype", getattr(values, "type", None))
    zoned = next((True for name in ("tz", "time_zone") if getattr(kind, name, None) is not None), False)
    if hasattr(values, "dt") and hasattr(values, "iloc") and zoned:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    array = values if isinstance(values, np.ndarray) else _as_array(values)
    if array.ndim != 1:
        array = _objects(list(array))
    if np.ma.isMaskedArray(array):
        array = _objects([None if masked is np.ma.masked else masked for masked in array])
    if array.dtype.kind == "M":
        return array.astype("datetime64[us]"), zoned
    if array.dtype.kind in "bfiu":
        return (array if array.dtype.kind == "b" else _wide(array)), False
    return _column_of_objects([None if _missing(value) else value for value in array.tolist()])


def _as_array(values: Any) -> npt.NDArray[Any]:
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    return _objects(list(values))


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _wide(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers as a file would give them, whatever space the frame saves: a float32 of 0.3 becomes 0.3."""
    if array.dtype.kind == "f" and array.dtype.itemsize < np.dtype(np.float64).itemsize:
        return array.astype(str).astype(np.float64)
    whole = array.dtype.kind == "i" or (array.dtype.kind == "u" and (array <= _LARGEST).all())
    return array.astype(np.int64 if whole else np.float64)


def _missing(value: Any) -> bool:
    """Whether a value is None, NaN, or one of the marks of pandas for what is missing."""
    if value is None:
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and isnan(value)


def _column_of_objects(values: list[Any]) -> tuple[npt.NDArray[Any], bool]:
    """Objects of Python as the array that fits them all: truth values, numbers, times, or else texts."""
    present = [value for value in values if value is not None]
    complete = len(present) == len(values)
    if present and all(isinstance(value, bool | np.bool_) for value in present) and complete:
        return np.array(values, dtype=bool), False
    numbers = not any(isinstance(value, bool | np.bool_) for value in present)
    if present and numbers and all(isinstance(value, Integral) for value in present) and complete:
        return _objects([int(value) for value in values]).astype(np.int64), False
    if present and numbers and all(isinstance(value, Real | Decimal) for value in present):
        return np.array([np.nan if value is None else float(value) for value in values]), False
    if present and all(isinstance(value, date) for value in present):
        zones = {isinstance(value, datetime) and value.tzinfo is not None for value in present}
        if len(zones) == 1:
            return np.array([_utc(value) for value in values], dtype="datetime64[us]"), zones.pop()
    return _objects([None if value is None else str(value) for value in values]), False


def _utc(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _digest(columns: Mapping[str, npt.NDArray[Any]], instants: frozenset[str]) -> str:
    """A digest of names and values; the same content gives the same one, whatever library held it."""
    hashed = sha256()
    for name, column in columns.items():
        hashed.update(f"{name!r} {column.dtype} {len(column)} {name in instants}\n".encode())
        if column.dtype == object:
            for value in column.tolist():
                text = b"" if value is None else value.encode(errors="surrogatepass")
                hashed.update(f"{-1 if value is None else len(text)}:".encode() + text)
        else:
            hashed.update(np.ascontiguousarray(column).tobytes())
    return hashed.hexdigest()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_path(frame: Any) -> bool:
    """Whether data are named by a file instead of given as a frame."""
    return isinstance(frame, str | Path)
