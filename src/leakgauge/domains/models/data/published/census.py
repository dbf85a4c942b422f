"""Census-Income (KDD): people of the survey of 1994, beside those of Adult, by the ten columns of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset, preprocessing, published_files
from leakgauge.domains.models.data.published import adult
from leakgauge.support.tabular import open_table_file

NOT_ASKED, UNKNOWN = "Not-in-universe", "Unknown"
ADULT_SOUTH_KOREA = "South"  # what is left of South Korea in Adult

WORKCLASS_NAMES = {
    "Federal government": "Federal-gov",
    "Local government": "Local-gov",
    "Never worked": "Never-worked",
    "Not in universe": NOT_ASKED,
    "Private": "Private",
    "Self-employed-incorporated": "Self-emp-inc",
    "Self-employed-not incorporated": "Self-emp-not-inc",
    "State government": "State-gov",
    "Without pay": "Without-pay",
}
EDUCATION_NAMES = {
    "Children": "Children",  # Adult has none
    "Less than 1st grade": "Preschool",
    "1st 2nd 3rd or 4th grade": "1st-4th",
    "5th or 6th grade": "5th-6th",
    "7th and 8th grade": "7th-8th",
    "9th grade": "9th",
    "10th grade": "10th",
    "11th grade": "11th",
    "12th grade no diploma": "12th",
    "High school graduate": "HS-grad",
    "Some college but no degree": "Some-college",
    "Associates degree-occup /vocational": "Assoc-voc",
    "Associates degree-academic program": "Assoc-acdm",
    "Bachelors degree(BA AB BS)": "Bachelors",
    "Masters degree(MA MS MEng MEd MSW MBA)": "Masters",
    "Prof school degree (MD DDS DVM LLB JD)": "Prof-school",
    "Doctorate degree(PhD EdD)": "Doctorate",
}
MARITAL_STATUS_NAMES = {
    "Divorced": "Divorced",
    "Married-A F spouse present": "Married-AF-spouse",
    "Married-civilian spouse present": "Married-civ-spouse",
    "Married-spouse absent": "Married-spouse-absent",
    "Never married": "Never-married",
    "Separated": "Separated",
    "Widowed": "Widowed",
}
OCCUPATION_NAMES = {
    "Adm support including clerical": "Adm-clerical",
    "Armed Forces": "Armed-Forces",
    "Executive admin and managerial": "Exec-managerial",
    "Farming forestry and fishing": "Farming-fishing",
    "Handlers equip cleaners etc": "Handlers-cleaners",
    "Machine operators assmblrs & inspctrs": "Machine-op-inspct",
    "Not in universe": NOT_ASKED,
    "Other service": "Other-service",
    "Precision production craft & repair": "Craft-repair",
    "Private household services": "Priv-house-serv",
    "Professional specialty": "Prof-specialty",
    "Protective services": "Protective-serv",
    "Sales": "Sales",
    "Technicians and related support": "Tech-support",
    "Transportation and material moving": "Transport-moving",
}
RACE_NAMES = {
    "Amer Indian Aleut or Eskimo": "Amer-Indian-Eskimo",
    "Asian or Pacific Islander": "Asian-Pac-Islander",
    "Black": "Black",
    "Other": "Other",
    "White": "White",
}
SEX_NAMES = {"Female": "Female", "Male": "Male"}
COUNTRY_NAMES = {  # all others have the same name in both
    "?": UNKNOWN,
    "Hong Kong": "Hong",
    "Outlying-U S (Guam USVI etc)": "Outlying-US(Guam-USVI-etc)",
    "South Korea": "South-Korea",
}
INCOME_NAMES = {"- 50000.": "<=50K", "50000+.": ">50K"}


GROUP = "data_set"
FIELDS, YEAR, INCOME = 42, 40, 41
NUMBERS = {"age": 0, "capital-gain": 16, "capital-loss": 17}
TEXTS: dict[str, tuple[int, Mapping[str, str]]] = {
    "workclass": (1, WORKCLASS_NAMES),
    "education": (4, EDUCATION_NAMES),
    "marital-status": (7, MARITAL_STATUS_NAMES),
    "occupation": (9, OCCUPATION_NAMES),
    "race": (10, RACE_NAMES),
    "sex": (12, SEX_NAMES),
}
COUNTRY, OF_BIRTH = "native-country", 34
GAPS = {"workclass": NOT_ASKED, "occupation": NOT_ASKED, COUNTRY: UNKNOWN}


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folders of the census and of Adult, and the mapping of values that only one of them has.

    ``mapping = "shared"``: '?' of Adult is what the census calls not in universe (or an unknown country), and
    Adult's South is South Korea, so that no spelling reveals the data set. "paper" is the mapping of
    Humphries et al. (2023): '?' of Adult becomes the most frequent value; that of the census and South Korea
    stay as they are.
    """

    folder: str = "."
    adult: str = "."
    mapping: Literal["shared", "paper"] = "shared"
    duplicates: preprocessing.DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "census and Adult"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The training file of the census, of 199,523 people, and both files of Adult."""
        census = published_files.find_file(
            folder / self.folder, "census-income.data", "census-income.data.parquet"
        )
        parts = (
            published_files.find_file(folder / self.adult, name, key="adult")
            for name in ("adult.data", "adult.test")
        )
        return census, *parts

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """The people of both; the group is the data set that a person is from."""
        census, *parts = paths
        own = _read_1994(census)
        other = adult.read_raw(parts)
        if self.mapping == "paper":
            other = preprocessing.impute_table(other)
        features: dict[str, dataset.TableColumn] = {}
        for name, place in NUMBERS.items():
            features[name] = np.concatenate(
                [published_files.parse_numbers(own[place], name, census), other.features[name]]
            )
        for name, (place, known) in TEXTS.items():
            called = _renamed(own[place], known, name, census)
            features[name] = dataset.categorical([*called, *_texts(other.features[name], GAPS.get(name))])
        korea = {"South Korea": ADULT_SOUTH_KOREA} if self.mapping == "shared" else {}
        names = COUNTRY_NAMES | korea
        countries = [names.get(country, country) for country in own[OF_BIRTH]]
        features[COUNTRY] = dataset.categorical([*countries, *_texts(other.features[COUNTRY], GAPS[COUNTRY])])
        incomes = _renamed(own[INCOME], INCOME_NAMES, "income", census)
        label = dataset.categorical([*incomes, *_texts(other.label, None)])
        group = dataset.categorical(["census"] * len(incomes) + ["adult"] * len(other))
        return dataset.RawTable(features=features, label=label, groups={GROUP: group}, notes=other.notes)


def _read_1994(path: Path) -> dict[int, list[str]]:
    """The columns of the people of 1994, by position."""
    places = [*NUMBERS.values(), *(place for place, _ in TEXTS.values()), OF_BIRTH, INCOME]
    if not path.name.endswith(".parquet"):
        return published_files.columns_by_position(
            (row for row in published_files.read_lines(path, FIELDS) if row[YEAR] == "94"), places
        )
    with open_table_file(path, "data.folder") as (connection, types):
        if len(types) != FIELDS:
            raise BadInput(f"data.folder: {path.name} has {len(types)} columns, not {FIELDS}")
        quoted = ['"' + name.replace('"', '""') + '"' for name in types]
        texts = ", ".join(f"trim(CAST({quoted[place]} AS VARCHAR))" for place in places)
        rows = connection.execute(f"SELECT {texts} FROM given WHERE {quoted[YEAR]} = 94").fetchall()
    by_order = published_files.columns_by_position(rows, range(len(places)))
    return {place: by_order[i] for i, place in enumerate(places)}


def _renamed(texts: Sequence[str], known: Mapping[str, str], name: str, path: Path) -> list[str]:
    if wrong := sum(text not in known for text in texts):
        raise BadInput(
            f"data.folder: {name!r} of {path.name} holds values that are not of the census in {wrong} rows; "
            "use the file as it was published"
        )
    return [known[text] for text in texts]


def _texts(column: dataset.TableColumn, gap: str | None) -> list[str | None]:
    assert isinstance(column, dataset.CategoricalColumn)
    return [gap if code < 0 else column.values[code] for code in column.codes.tolist()]
