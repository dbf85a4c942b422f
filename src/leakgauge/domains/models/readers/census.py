"""Census-Income (KDD): people of the survey of 1994, beside those of Adult, by the ten columns of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.table_files import table_file
from leakgauge.domains.models.readers import adult
from leakgauge.domains.models.readers import census_values as values
from leakgauge.domains.models.readers.files import columns, found, lines, numbers
from leakgauge.domains.models.table.imputing import filled_sheet
from leakgauge.domains.models.table.preparing import Duplicates
from leakgauge.domains.models.table.sheet import Category, Column, Sheet, category

GROUP = "data_set"
FIELDS, YEAR, INCOME = 42, 40, 41
NUMBERS = {"age": 0, "capital-gain": 16, "capital-loss": 17}
TEXTS: dict[str, tuple[int, Mapping[str, str]]] = {
    "workclass": (1, values.WORKCLASS),
    "education": (4, values.EDUCATION),
    "marital-status": (7, values.MARITAL_STATUS),
    "occupation": (9, values.OCCUPATION),
    "race": (10, values.RACE),
    "sex": (12, values.SEX),
}
COUNTRY, OF_BIRTH = "native-country", 34
GAPS = {"workclass": values.NOT_ASKED, "occupation": values.NOT_ASKED, COUNTRY: values.UNKNOWN}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Which folders hold the census and Adult, and what a value that only one of them writes becomes.

    ``mapping = "shared"``: '?' of Adult is what the census calls not in universe (or an unknown country), and
    Adult's South is South Korea, so that no spelling tells the data set. "paper" is the mapping of Humphries
    et al. (2023): '?' of Adult becomes the most frequent value, that of the census and South Korea do not.
    """

    folder: str = "."
    adult: str = "."
    mapping: Literal["shared", "paper"] = "shared"
    duplicates: Duplicates = "remove"

    @property
    def name(self) -> str:
        """What reports call the data."""
        return "census and Adult"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The training file of the census, of 199,523 people, and both files of Adult."""
        census = found(folder / self.folder, "census-income.data", "census-income.data.parquet")
        parts = (found(folder / self.adult, name, key="adult") for name in ("adult.data", "adult.test"))
        return census, *parts

    def read(self, paths: Sequence[Path]) -> Sheet:
        """The people of both; the group says which data set somebody is from."""
        census, *parts = paths
        own = _of_1994(census)
        other = adult.read_raw(parts)
        if self.mapping == "paper":
            other = filled_sheet(other)
        features: dict[str, Column] = {}
        for name, place in NUMBERS.items():
            features[name] = np.concatenate([numbers(own[place], name, census), other.features[name]])
        for name, (place, known) in TEXTS.items():
            called = _called(own[place], known, name, census)
            features[name] = category([*called, *_texts(other.features[name], GAPS.get(name))])
        korea = {"South Korea": values.SOUTH} if self.mapping == "shared" else {}
        names = values.COUNTRY | korea
        countries = [names.get(country, country) for country in own[OF_BIRTH]]
        features[COUNTRY] = category([*countries, *_texts(other.features[COUNTRY], GAPS[COUNTRY])])
        incomes = _called(own[INCOME], values.INCOME, "income", census)
        label = category([*incomes, *_texts(other.label, None)])
        group = category(["census"] * len(incomes) + ["adult"] * len(other))
        return Sheet(features=features, label=label, groups={GROUP: group}, notes=other.notes)


def _of_1994(path: Path) -> dict[int, list[str]]:
    """The columns of the people of 1994, by place."""
    places = [*NUMBERS.values(), *(place for place, _ in TEXTS.values()), OF_BIRTH, INCOME]
    if not path.name.endswith(".parquet"):
        return columns((row for row in lines(path, FIELDS) if row[YEAR] == "94"), places)
    with table_file(path, "data.folder") as (connection, types):
        if len(types) != FIELDS:
            raise BadInput(f"data.folder: {path.name} has {len(types)} columns, not {FIELDS}")
        quoted = ['"' + name.replace('"', '""') + '"' for name in types]
        texts = ", ".join(f"trim(CAST({quoted[place]} AS VARCHAR))" for place in places)
        rows = connection.execute(f"SELECT {texts} FROM given WHERE {quoted[YEAR]} = 94").fetchall()
    by_order = columns(rows, range(len(places)))
    return {place: by_order[i] for i, place in enumerate(places)}


def _called(texts: Sequence[str], known: Mapping[str, str], name: str, path: Path) -> list[str]:
    for text in set(texts):
        if text not in known:
            raise BadInput(
                f"data.folder: {name!r} of {path.name} holds {text[:40]!r}, which the census does not have"
            )
    return [known[text] for text in texts]


def _texts(column: Column, gap: str | None) -> list[str | None]:
    assert isinstance(column, Category)
    return [gap if code < 0 else column.values[code] for code in column.codes.tolist()]
