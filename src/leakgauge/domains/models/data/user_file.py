"""A CSV or Parquet file of the user: its columns, and which of them are label, groups and features."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset, preprocessing
from leakgauge.domains.models.plan_tables import LabelRule, ModelsFileDataTable
from leakgauge.support.required_columns import require_columns
from leakgauge.support.tabular import (
    NUMERIC_SHARE,
    Connection,
    TextFormat,
    open_table_file,
    refuse_other_decimal_marks,
    sql_texts,
)

_SIZES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_SIZES, *(f"U{name}" for name in _SIZES), "FLOAT", "DOUBLE", "DECIMAL")
_TEXTS = ("VARCHAR", "BOOLEAN", "ENUM")


def read_columns(
    path: Path,
    where: str,
    *,
    drop: Sequence[str] = (),
    texts: Sequence[str] = (),
    missing: Sequence[str] = (),
    text: TextFormat | None = None,
) -> dict[str, dataset.TableColumn]:
    """All columns except those to ``drop``.

    Numbers in the columns ``texts`` are codes without an order; the words of ``missing`` are missing values.
    """
    with open_table_file(path, where, text=text) as (connection, types):
        require_columns({"drop": drop}, list(types), path.name, "data")
        features = {name: kind for name, kind in types.items() if name not in (*drop, *texts)}
        text = text or TextFormat()
        refuse_other_decimal_marks(connection, features, path, text, missing=missing, codes_key="categories")
        return {
            name: _column(connection, name, kind, path, name in texts, missing, text.decimal)
            for name, kind in types.items()
            if name not in drop
        }


def _column(
    connection: Connection,
    name: str,
    kind: str,
    path: Path,
    as_text: bool,
    missing: Sequence[str],
    decimal: str,
) -> dataset.TableColumn:
    kind = kind.partition("(")[0]
    if kind in _NUMBERS and not as_text:
        return _numbers(connection, _quoted(name))
    if kind not in (*_NUMBERS, *_TEXTS):
        raise BadInput(
            f"data.source: {name!r} of {path.name} holds {kind}, neither numbers nor texts; add it to drop"
        )
    texts = f"CAST({_quoted(name)} AS VARCHAR)"
    if missing:
        texts = f"CASE WHEN trim({texts}) IN ({sql_texts(missing)}) THEN NULL ELSE {texts} END"
    points = texts
    if decimal == ",":  # a text with a point is no number
        points = f"CASE WHEN contains({texts}, '.') THEN 'x' ELSE replace({texts}, ',', '.') END"
    if not as_text and kind == "VARCHAR" and _are_numbers(connection, points, name, path):
        return _numbers(connection, points)
    return dataset.categorical(
        text for (text,) in connection.execute(f"SELECT {texts} FROM given").fetchall()
    )


def _are_numbers(connection: Connection, texts: str, name: str, path: Path) -> bool:
    """Whether all texts are numbers; a column in which most but not all are numbers is refused."""
    counted = connection.execute(
        f"SELECT count({texts}), count(TRY_CAST({texts} AS DOUBLE)) FROM given"
    ).fetchone()
    given, numbers = counted
    if given > numbers >= NUMERIC_SHARE * given:
        raise BadInput(
            f"data.source: {name!r} of {path.name} holds numbers in {numbers} rows and other texts in "
            f'{given - numbers}; list the words that mean a missing value (missing = ["?"]), or add it to '
            "categories"
        )
    return given == numbers > 0


def _numbers(connection: Connection, expression: str) -> dataset.NumericColumn:
    values = connection.execute(f"SELECT CAST({expression} AS DOUBLE) AS it FROM given").fetchnumpy()["it"]
    return np.ma.filled(values, np.nan).astype(np.float64)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def read_user_file(table: ModelsFileDataTable, path: Path) -> dataset.RawTable:
    """All rows of a file; missing values are refused, or imputed from all rows together."""
    groups = dataset.as_tuple(table.group)
    texts = (*groups, *table.categories, *([] if table.name is None else [table.name]))
    columns = read_columns(
        path, "data.source", drop=table.drop, texts=texts, missing=table.missing, text=table.text_format
    )
    named = {"label": table.label_column, "group": table.group, "categories": table.categories}
    named |= {} if table.name is None else {"name": table.name}
    require_columns(named, list(columns), path.name, "data")
    column = columns.pop(table.label_column)
    names = None if table.name is None else columns.pop(table.name)
    assert names is None or isinstance(names, dataset.CategoricalColumn)
    if isinstance(table.label, str):
        label = _label(column, table.label)
    else:
        label = _label_by_rule(column, table.label)
    sheet = dataset.RawTable(features=columns, label=label, groups={}, names=names).with_groups(groups)
    sheet = preprocessing.impute_table(sheet) if table.impute else sheet
    preprocessing.require_complete(sheet, "set impute = true, or add the column to drop")
    return sheet


def _label_by_rule(column: dataset.TableColumn, rule: LabelRule) -> dataset.CategoricalColumn:
    """Whether a number is at least that of the rule."""
    if isinstance(column, dataset.CategoricalColumn):
        raise BadInput(
            f"data.label: {rule.column!r} holds texts, and at_least is about numbers; name such a column"
        )
    said = np.where(column >= rule.at_least, f"at least {rule.at_least:g}", f"below {rule.at_least:g}")
    missing = np.isnan(column)
    return dataset.categorical(None if gap else text for text, gap in zip(said.tolist(), missing.tolist()))


def _label(column: dataset.TableColumn, name: str) -> dataset.CategoricalColumn:
    """The classes of a label column; numbers are sorted by value."""
    if isinstance(column, dataset.CategoricalColumn):
        return column
    present = np.unique(column[~np.isnan(column)])
    if not (np.isfinite(present) & (present == np.floor(present))).all():
        raise BadInput(f"data.label: {name!r} holds fractions; a class is a whole number or a text")
    codes = np.where(np.isnan(column), -1, np.searchsorted(present, column))
    return dataset.CategoricalColumn(
        codes.astype(np.int64), tuple(f"{value:.0f}" for value in present.tolist())
    )
