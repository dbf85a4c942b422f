"""What a file of the user holds, as far as a first plan needs it: columns, and their types and ranges.

A description holds names of columns and ranges of numbers and times. No other value of the file is in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.support.tabular import DELIMITED, PARQUET, Connection, open_table_file

ColumnKind: TypeAlias = Literal["whole", "real", "text", "time", "truth", "other"]

ARRAYS = (".npz",)
CODE = (".py",)
MODELS = (".onnx",)
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_KINDS: dict[str, ColumnKind] = {
    **dict.fromkeys((*_WHOLE, *(f"U{name}" for name in _WHOLE)), "whole"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "real"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "DATE", "TIMESTAMP_NS", "TIMESTAMP_S"), "time"),
    "BOOLEAN": "truth",
}


@dataclass(frozen=True, kw_only=True)
class ColumnDescription:
    """One column: how many different values and gaps it has, and the range of its numbers or times."""

    name: str
    kind: ColumnKind
    n_distinct: int
    n_missing: int
    low: float | None = None  # of numbers; of times in seconds since 1970
    high: float | None = None
    middle: float | None = None  # the median of numbers, about
    zoned: bool = False  # a time that states its distance from UTC

    @property
    def is_number(self) -> bool:
        return self.kind in ("whole", "real")


@dataclass(frozen=True, kw_only=True)
class FileDescription:
    """A file or folder; ``columns`` is empty where it is no table."""

    path: Path
    n_rows: int = 0
    columns: tuple[ColumnDescription, ...] = ()

    @property
    def suffix(self) -> str:
        return self.path.suffix.lower()

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> ColumnDescription:
        """Return the column of this name."""
        return next(column for column in self.columns if column.name == name)

    def find(
        self, words: Sequence[str], kinds: Sequence[ColumnKind] = (), *, whole_name: bool = False
    ) -> ColumnDescription | None:
        """Return the column that one of the words names, the first word first.

        A word is the whole name of a column, or, unless ``whole_name`` is set, a part of it that ends at a
        bar, a blank or a change of case: "user" finds "user_id", "userId" and "Home User", not "username".
        """
        able = [column for column in self.columns if not kinds or column.kind in kinds]
        parts = {column.name: name_parts(column.name) for column in able}
        for word in words:
            for column in able:
                if "".join(parts[column.name]) == word.replace("_", ""):
                    return column
        if not whole_name:
            for word in words:
                for column in able:
                    if word in parts[column.name]:
                        return column
        return None


def name_parts(name: str) -> list[str]:
    """The words of a column's name, in lower case.

    >>> name_parts("userId"), name_parts("Home-User 2"), name_parts("LAT")
    (['user', 'id'], ['home', 'user', '2'], ['lat'])
    """
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def describe_file(path: Path) -> FileDescription:
    """Describe a file or a folder; a table is read whole."""
    if not path.exists():
        raise BadInput(f"{path}: there is no such file; check the path")
    if path.is_dir() or path.name.lower().endswith((*ARRAYS, *CODE, *MODELS)):
        return FileDescription(path=path)
    if path.stat().st_size == 0:
        raise BadInput(f"{path}: is empty; a table has column names and at least one row")
    with open_table_file(path, str(path), (*ARRAYS, *CODE, *MODELS)) as (connection, types):
        (n_rows,) = connection.execute("SELECT count(*) FROM given").fetchone()
        if not n_rows:
            raise BadInput(f"{path}: has column names and no row; a table has at least one row")
        columns = tuple(_describe_column(connection, name, kind) for name, kind in types.items())
    return FileDescription(path=path, n_rows=n_rows, columns=columns)


def is_table(path: Path) -> bool:
    """Whether a file is read as a table, by its ending."""
    return path.name.lower().endswith((*DELIMITED, *PARQUET))


def _describe_column(connection: Connection, name: str, duckdb_type: str) -> ColumnDescription:
    kind = _KINDS.get(duckdb_type.partition("(")[0], "other")
    quoted = '"' + name.replace('"', '""') + '"'
    zoned = duckdb_type == "TIMESTAMP WITH TIME ZONE"
    given = f"epoch({quoted})" if zoned else quoted  # Python would need a library for zones to read it
    ends = f"min({given}), max({given})" if kind in ("whole", "real", "time") else "NULL, NULL"
    middle = f"approx_quantile({quoted}, 0.5)" if kind in ("whole", "real") else "NULL"
    counted = "0" if kind == "other" else f"count(DISTINCT {quoted})"
    (n_distinct, n_given, n_rows, low, high, median) = connection.execute(
        f"SELECT {counted}, count({quoted}), count(*), {ends}, {middle} FROM given"
    ).fetchone()
    return ColumnDescription(
        name=name,
        kind=kind,
        n_distinct=n_distinct,
        n_missing=n_rows - n_given,
        low=_number(low),
        high=_number(high),
        middle=_number(median),
        zoned=zoned,
    )


def _number(value: Any) -> float | None:
    """A number, or seconds since 1970 of a time; a time without a zone counts as UTC."""
    from datetime import UTC

    if value is None:
        return None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    return float(value)
