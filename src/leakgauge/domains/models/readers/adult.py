"""Adult (Becker and Kohavi 1996): adult.data and adult.test as UCI publishes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from leakgauge.domains.models.readers.files import columns, found, given, lines, numbers
from leakgauge.domains.models.table.imputing import filled_sheet
from leakgauge.domains.models.table.preparing import Duplicates
from leakgauge.domains.models.table.sheet import Category, Column, Sheet, category, listed

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
NAMES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
EDUCATION = "education"
LOW = 10  # education-num up to which it is low: some college is, against the paper's text


@dataclass(frozen=True, kw_only=True)
class Table:
    """Which folder holds the files, and which columns are groups: any texts, education as low or high."""

    folder: str = "."
    group: str | tuple[str, ...] = ()
    duplicates: Duplicates = "remove"

    @property
    def name(self) -> str:
        """What reports call the data."""
        return "Adult"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """Both parts: the whole of Adult has 48,842 rows."""
        return tuple(found(folder / self.folder, name) for name in ("adult.data", "adult.test"))

    def read(self, paths: Sequence[Path]) -> Sheet:
        """All rows; '?' is filled in by the most frequent value.

        Education is low up to education-num 10, as in the code of Humphries et al. (2023), whose text says
        otherwise; as a group it takes both of its columns out of the features.
        """
        sheet = filled_sheet(read_raw(paths))
        if EDUCATION in listed(self.group):
            sheet = _by_education(sheet)
        return sheet.grouped(listed(self.group))


def read_raw(paths: Sequence[Path]) -> Sheet:
    """All rows, with gaps where a value is '?'."""
    parts = [(path, columns(lines(path, len(NAMES) + 1), range(len(NAMES) + 1))) for path in paths]
    features: dict[str, Column] = {}
    for i, name in enumerate(NAMES):
        if name in NUMBERS:
            features[name] = np.concatenate([numbers(part[i], name, path) for path, part in parts])
        else:
            features[name] = category(given(chain.from_iterable(part[i] for _, part in parts)))
    incomes = chain.from_iterable(part[len(NAMES)] for _, part in parts)
    label = category(income.removesuffix(".") for income in incomes)  # adult.test ends them with a dot
    return Sheet(features=features, label=label, groups={})


def _by_education(sheet: Sheet) -> Sheet:
    features = dict(sheet.features)
    del features[EDUCATION]
    years = features.pop("education-num")
    assert not isinstance(years, Category)
    low = category(np.where(years <= LOW, "low", "high").tolist())
    return Sheet(features=features, label=sheet.label, groups={EDUCATION: low}, notes=sheet.notes)
