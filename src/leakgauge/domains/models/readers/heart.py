"""Heart disease (Janosi et al. 1988): the processed files of four hospitals as UCI publishes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from leakgauge.domains.models.readers.files import columns, found, lines, numbers
from leakgauge.domains.models.table.imputing import filled, filled_sheet
from leakgauge.domains.models.table.preparing import Duplicates
from leakgauge.domains.models.table.sheet import Category, Column, Ints, Numbers, Sheet, category

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
NAMES = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca",
    "thal",
)  # fmt: skip
NUMBERS = ("age", "trestbps", "chol", "thalach", "oldpeak", "ca")
BY_MODE = ("ca",)  # how many vessels: a mean would be none
GROUP, LABEL = "hospital", "num"


@dataclass(frozen=True, kw_only=True)
class Table:
    """Which folder holds the files, and over what missing values are filled in.

    ``impute = "hospital"`` is what the paper's code does: whole columns of a hospital then hold one constant,
    by which a model, or anybody, tells the hospital.
    """

    folder: str = "."
    impute: Literal["global", "hospital"] = "global"
    duplicates: Duplicates = "remove"

    @property
    def name(self) -> str:
        """What reports call the data."""
        return "heart disease"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """One file for each hospital."""
        return tuple(found(folder / self.folder, f"processed.{name}.data") for name in HOSPITALS)

    def read(self, paths: Sequence[Path]) -> Sheet:
        """All patients of all hospitals; the label is whether num > 0."""
        parts = [(path, columns(lines(path, len(NAMES) + 1), range(len(NAMES) + 1))) for path in paths]
        features: dict[str, Column] = {}
        for i, name in enumerate((*NAMES, LABEL)):
            found_in = np.concatenate([numbers(part[i], name, path) for path, part in parts])
            features[name] = found_in if name in (*NUMBERS, LABEL) else _coded(found_in)
        ill = np.asarray(features.pop(LABEL))
        label = category(None if np.isnan(num) else "yes" if num > 0 else "no" for num in ill.tolist())
        sizes = [len(part[0]) for _, part in parts]
        hospital = category(np.repeat(HOSPITALS, sizes).tolist())
        sheet = Sheet(features=features, label=label, groups={GROUP: hospital})
        return filled_sheet(sheet, BY_MODE) if self.impute == "global" else _within(sheet, hospital)


def _coded(answers: Numbers) -> Category:
    """Codes of a question with a few answers; the files write 3 also as 3.0."""
    return category(None if np.isnan(value) else f"{value:g}" for value in answers.tolist())


def _within(sheet: Sheet, hospital: Category) -> Sheet:
    features = dict(sheet.features)
    for code, value in enumerate(hospital.values):
        own = np.flatnonzero(hospital.codes == code)
        for name, column in features.items():
            features[name] = _filled_in(column, own, f"{name} of {value}", by_mode=name in BY_MODE)
    note = (
        "WARNING: missing values were filled in for each hospital by itself; where many are missing, the "
        "constant tells the hospital"
    )
    return replace(sheet, features=features, notes=(*sheet.notes, note))


def _filled_in(column: Column, own: Ints, name: str, *, by_mode: bool) -> Column:
    """A column whose gaps in some rows are filled by those rows."""
    if isinstance(column, Category):
        texts = filled(Category(column.codes[own], column.values), name)
        assert isinstance(texts, Category)
        codes = column.codes.copy()
        codes[own] = texts.codes
        return Category(codes, column.values)
    values = column.copy()
    part = filled(column[own], name, by_mode=by_mode)
    assert not isinstance(part, Category)
    values[own] = part
    return values
