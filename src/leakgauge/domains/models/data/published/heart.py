"""Heart disease (Janosi et al. 1988): the processed files of four hospitals as UCI publishes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.domains.models.data import dataset, preprocessing, published_files

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
NAMES = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca",
    "thal",
)  # fmt: skip
NUMBERS = ("age", "trestbps", "chol", "thalach", "oldpeak", "ca")
BY_MODE = ("ca",)  # a number of vessels, for which a mean makes no sense
GROUP, LABEL = "hospital", "num"


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the files, and the rows from which missing values are imputed.

    ``impute = "hospital"`` is what the code of the paper does: whole columns of a hospital are then constant,
    which reveals the hospital.
    """

    folder: str = "."
    impute: Literal["global", "hospital"] = "global"
    duplicates: preprocessing.DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "heart disease"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """One file for each hospital."""
        return tuple(
            published_files.find_file(folder / self.folder, f"processed.{name}.data") for name in HOSPITALS
        )

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """All patients of all hospitals; the label is whether num > 0."""
        parts = [
            (
                path,
                published_files.columns_by_position(
                    published_files.read_lines(path, len(NAMES) + 1), range(len(NAMES) + 1)
                ),
            )
            for path in paths
        ]
        features: dict[str, dataset.TableColumn] = {}
        for i, name in enumerate((*NAMES, LABEL)):
            found_in = np.concatenate(
                [published_files.parse_numbers(part[i], name, path) for path, part in parts]
            )
            features[name] = found_in if name in (*NUMBERS, LABEL) else _coded(found_in)
        ill = np.asarray(features.pop(LABEL))
        label = dataset.categorical(
            None if np.isnan(num) else "yes" if num > 0 else "no" for num in ill.tolist()
        )
        sizes = [len(part[0]) for _, part in parts]
        hospital = dataset.categorical(np.repeat(HOSPITALS, sizes).tolist())
        sheet = dataset.RawTable(features=features, label=label, groups={GROUP: hospital})
        return (
            preprocessing.impute_table(sheet, BY_MODE)
            if self.impute == "global"
            else _impute_within_hospitals(sheet, hospital)
        )


def _coded(answers: dataset.NumericColumn) -> dataset.CategoricalColumn:
    """Texts of a column of codes; the files write 3 also as 3.0."""
    return dataset.categorical(None if np.isnan(value) else f"{value:g}" for value in answers.tolist())


def _impute_within_hospitals(
    sheet: dataset.RawTable, hospital: dataset.CategoricalColumn
) -> dataset.RawTable:
    features = dict(sheet.features)
    for code, value in enumerate(hospital.values):
        own = np.flatnonzero(hospital.codes == code)
        for name, column in features.items():
            features[name] = _impute_rows(column, own, f"{name} of {value}", by_mode=name in BY_MODE)
    note = (
        "WARNING: missing values were imputed within each hospital; where many are missing, the constant "
        "reveals the hospital"
    )
    return replace(sheet, features=features, notes=(*sheet.notes, note))


def _impute_rows(column: dataset.TableColumn, own: Ints, name: str, *, by_mode: bool) -> dataset.TableColumn:
    """Impute the missing values of some rows from those rows."""
    if isinstance(column, dataset.CategoricalColumn):
        texts = preprocessing.impute_column(dataset.CategoricalColumn(column.codes[own], column.values), name)
        assert isinstance(texts, dataset.CategoricalColumn)
        codes = column.codes.copy()
        codes[own] = texts.codes
        return dataset.CategoricalColumn(codes, column.values)
    values = column.copy()
    part = preprocessing.impute_column(column[own], name, by_mode=by_mode)
    assert not isinstance(part, dataset.CategoricalColumn)
    values[own] = part
    return values
