"""The `data` table of a plan that names a file of one's own, and what that file holds."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.domains.models.table.imputing import filled_sheet, require_whole
from leakgauge.domains.models.table.preparing import Duplicates
from leakgauge.domains.models.table.reading import columns_of
from leakgauge.domains.models.table.sheet import Category, Column, Sheet, listed


@dataclass(frozen=True, kw_only=True)
class FileTable:
    """A CSV or Parquet file: its label, its groups, what is no feature, and what missing values look like.

    ``categories`` are columns of numbers that are codes; ``impute`` allows to fill in what is missing.
    """

    source: str
    label: str = "label"
    group: str | tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    impute: bool = False
    duplicates: Duplicates = "remove"

    def __post_init__(self) -> None:
        for name in listed(self.group):
            if name == self.label:
                raise BadInput(f"group: {name!r} is the label; members and others would differ by class")
        for name in self.drop:
            if name in (self.label, *listed(self.group)):
                raise BadInput(f"drop: {name!r} is the label or a group; no feature holds those anyway")


def read_sheet(table: FileTable, path: Path) -> Sheet:
    """All rows of a file; gaps are refused, or filled in by all rows together."""
    groups = listed(table.group)
    columns = columns_of(
        path, "data.source", drop=table.drop, texts=(*groups, *table.categories), missing=table.missing
    )
    for key, named in (("label", [table.label]), ("group", groups), ("categories", table.categories)):
        for name in named:
            require(name, list(columns), f"data.{key}: no column of {path.name}")
    label = _label(columns.pop(table.label), table.label)
    sheet = Sheet(features=columns, label=label, groups={}).grouped(groups)
    sheet = filled_sheet(sheet) if table.impute else sheet
    require_whole(sheet, "impute = true fills in, or add the column to drop")
    return sheet


def _label(column: Column, name: str) -> Category:
    """Classes, in the order of their numbers where they have some."""
    if isinstance(column, Category):
        return column
    present = np.unique(column[~np.isnan(column)])
    if not (np.isfinite(present) & (present == np.floor(present))).all():
        raise BadInput(f"data.label: {name!r} holds fractions; a class is a whole number or a text")
    codes = np.where(np.isnan(column), -1, np.searchsorted(present, column))
    return Category(codes.astype(np.int64), tuple(f"{value:.0f}" for value in present.tolist()))
