"""The columns of any CSV or Parquet file, as numbers or texts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from leakgauge.core.database import Connection
from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.core.table_files import table_file
from leakgauge.domains.models.table.sheet import Column, Numbers, category

_SIZES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_SIZES, *(f"U{name}" for name in _SIZES), "FLOAT", "DOUBLE", "DECIMAL")
_TEXTS = ("VARCHAR", "BOOLEAN", "ENUM")
MOSTLY = 0.5  # share of numbers among texts from which a column was meant to hold numbers


def columns_of(
    path: Path,
    where: str,
    *,
    drop: Sequence[str] = (),
    texts: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> dict[str, Column]:
    """All columns besides those to ``drop``.

    Numbers in the columns ``texts`` are codes, which have no order; the words of ``missing`` are no values.
    """
    with table_file(path, where) as (connection, types):
        for name in drop:
            require(name, list(types), f"data.drop: no column of {path.name}")
        return {
            name: _column(connection, name, kind, path, name in texts, missing)
            for name, kind in types.items()
            if name not in drop
        }


def _column(
    connection: Connection, name: str, kind: str, path: Path, as_text: bool, missing: Sequence[str]
) -> Column:
    kind = kind.partition("(")[0]
    if kind in _NUMBERS and not as_text:
        return _numbers(connection, _quoted(name))
    if kind not in (*_NUMBERS, *_TEXTS):
        raise BadInput(
            f"data.source: {name!r} of {path.name} holds {kind}, neither numbers nor texts; add it to drop"
        )
    texts = f"CAST({_quoted(name)} AS VARCHAR)"
    if missing:
        said = ", ".join("'" + word.replace("'", "''") + "'" for word in missing)
        texts = f"CASE WHEN trim({texts}) IN ({said}) THEN NULL ELSE {texts} END"
    if not as_text and kind == "VARCHAR" and _are_numbers(connection, texts, name, path):
        return _numbers(connection, texts)
    return category(text for (text,) in connection.execute(f"SELECT {texts} FROM given").fetchall())


def _are_numbers(connection: Connection, texts: str, name: str, path: Path) -> bool:
    """Whether all texts are numbers; a column in which only most are is refused."""
    counted = connection.execute(
        f"SELECT count({texts}), count(TRY_CAST({texts} AS DOUBLE)) FROM given"
    ).fetchone()
    given, numbers = counted
    if given > numbers >= MOSTLY * given:
        raise BadInput(
            f"data.source: {name!r} of {path.name} holds numbers in {numbers} rows and other texts in "
            f'{given - numbers}; say which words mean that a value is missing (missing = ["?"]), or add it '
            "to categories"
        )
    return given == numbers > 0


def _numbers(connection: Connection, expression: str) -> Numbers:
    found = connection.execute(f"SELECT CAST({expression} AS DOUBLE) AS it FROM given").fetchnumpy()["it"]
    return np.ma.filled(found, np.nan).astype(np.float64)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
