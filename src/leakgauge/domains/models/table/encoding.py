"""From columns to features: one number for each value of a text, all scaled over all rows."""

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.loaded import Rows
from leakgauge.domains.models.table.sheet import Category, Column, Sheet

MOST = 1_000  # values of one column of texts; more are names or numbers of people


def encoded(sheet: Sheet) -> tuple[Rows, tuple[str, ...], tuple[str, ...]]:
    """The features, their names, and the columns left out because all their rows are the same.

    Two texts become 0 and 1, more become one feature each; numbers are kept. All features are then scaled to
    [0, 1] by their least and largest value over all rows, as in Humphries et al. (2023): scaling by a group
    alone would tell the group.
    """
    features, names, constant = [], [], []
    for name, column in sheet.features.items():
        made = _features(name, column)
        if not made:
            constant.append(name)
        for said, values in made:
            names.append(said)
            features.append(values)
    if not features:
        raise BadInput(
            f"data: no column of {len(sheet.features)} differs between two rows; a model needs features"
        )
    return np.column_stack(features), tuple(names), tuple(constant)


def _features(name: str, column: Column) -> list[tuple[str, Rows]]:
    if not isinstance(column, Category):
        low, high = column.min(), column.max()
        if not high > low:
            return []
        with np.errstate(over="ignore"):
            width = high - low
        if not np.isfinite(width):
            raise BadInput(f"data: {name!r} reaches from {low:g} to {high:g}, too far to be scaled; drop it")
        return [(name, ((column - low) / width).astype(np.float32))]
    present = np.unique(column.codes)
    if present.size < 2:
        return []
    if present.size > MOST:
        raise BadInput(
            f"data: {name!r} has {present.size:,} different texts, more than {MOST:,}; if it names the rows, "
            "drop it"
        )
    shown = present[1:] if present.size == 2 else present
    return [(f"{name}={column.values[code]}", (column.codes == code).astype(np.float32)) for code in shown]
