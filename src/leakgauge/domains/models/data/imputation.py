"""Imputation of missing values."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.domains.models.data.dataset import CategoricalColumn, RawTable, TableColumn


def missing_mask(column: TableColumn) -> Bits:
    """The rows in which a column has a missing value."""
    return column.missing if isinstance(column, CategoricalColumn) else np.isnan(column)


def impute_column(column: TableColumn, name: str, *, by_mode: bool = False) -> TableColumn:
    """Impute a column: numbers by the mean of all rows, texts (and ``by_mode``) by the most frequent value.

    Among equally frequent values the first in sorted order is taken.
    """
    lost = missing_mask(column)
    if not lost.any():
        return column
    if lost.all():
        raise BadInput(f"data: {name!r} has no value in any of {lost.size} rows; drop the column")
    if isinstance(column, CategoricalColumn):
        usual = np.bincount(column.codes[~lost]).argmax()
        return CategoricalColumn(np.where(lost, usual, column.codes), column.values)
    if not by_mode:
        return np.where(lost, column[~lost].mean(), column)
    values, counts = np.unique(column[~lost], return_counts=True)
    return np.where(lost, values[counts.argmax()], column)


def impute_table(sheet: RawTable, by_mode: tuple[str, ...] = ()) -> RawTable:
    """Impute all columns from all rows together, so that imputed values do not reveal a group."""
    gaps = {name: int(missing_mask(column).sum()) for name, column in sheet.features.items()}
    total, columns = sum(gaps.values()), sum(n > 0 for n in gaps.values())
    if not total:
        return sheet
    features: Mapping[str, TableColumn] = {
        name: impute_column(column, name, by_mode=name in by_mode) for name, column in sheet.features.items()
    }
    note = (
        f"{total:,} missing values in {columns} column{'s' * (columns > 1)} were imputed by the mean or the "
        "most frequent value of all rows"
    )
    return replace(sheet, features=features, notes=(*sheet.notes, note))


def require_complete(sheet: RawTable, way_out: str) -> None:
    """Refuse a table with missing values or infinite numbers."""
    for name, column in sheet.features.items():
        if n := int(missing_mask(column).sum()):
            raise BadInput(
                f"data: {name!r} has no value (or NaN) in {n} of {len(sheet)} rows; a model needs one in "
                f"each: {way_out}"
            )
        if not isinstance(column, CategoricalColumn) and not np.isfinite(column).all():
            row = int(np.flatnonzero(~np.isfinite(column))[0])
            raise BadInput(
                f"data: {name!r} holds an infinity in row {row} (the first is 0); fix or remove the row"
            )
