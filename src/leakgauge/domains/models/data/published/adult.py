"""Adult (Becker and Kohavi 1996): adult.data and adult.test as UCI publishes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from leakgauge.domains.models.data import dataset, preprocessing, published_files

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
NAMES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
EDUCATION = "education"
MAX_LOW_EDUCATION = 10  # education-num up to which it is low: some college is, against the paper's text


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the files, and the columns that are groups: any texts; education as low or high."""

    folder: str = "."
    group: str | tuple[str, ...] = ()
    duplicates: preprocessing.DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "Adult"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """Both parts: the whole of Adult has 48,842 rows."""
        return tuple(
            published_files.find_file(folder / self.folder, name) for name in ("adult.data", "adult.test")
        )

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """All rows; '?' is imputed by the most frequent value.

        Education is low up to education-num 10, as in the code of Humphries et al. (2023), whose text says
        otherwise; as a group it takes both of its columns out of the features.
        """
        sheet = preprocessing.impute_table(read_raw(paths))
        if EDUCATION in dataset.as_tuple(self.group):
            sheet = _group_by_education(sheet)
        return sheet.with_groups(dataset.as_tuple(self.group))


def read_raw(paths: Sequence[Path]) -> dataset.RawTable:
    """All rows, with missing values where the file has '?'."""
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
    for i, name in enumerate(NAMES):
        if name in NUMBERS:
            features[name] = np.concatenate(
                [published_files.parse_numbers(part[i], name, path) for path, part in parts]
            )
        else:
            features[name] = dataset.categorical(
                published_files.parse_texts(chain.from_iterable(part[i] for _, part in parts))
            )
    incomes = chain.from_iterable(part[len(NAMES)] for _, part in parts)
    # adult.test ends them with a dot
    label = dataset.categorical(income.removesuffix(".") for income in incomes)
    return dataset.RawTable(features=features, label=label, groups={})


def _group_by_education(sheet: dataset.RawTable) -> dataset.RawTable:
    features = dict(sheet.features)
    del features[EDUCATION]
    years = features.pop("education-num")
    assert not isinstance(years, dataset.CategoricalColumn)
    low = dataset.categorical(np.where(years <= MAX_LOW_EDUCATION, "low", "high").tolist())
    return dataset.RawTable(features=features, label=sheet.label, groups={EDUCATION: low}, notes=sheet.notes)
