import numpy as np
import pytest

from domains.models.tiny_tables import ADULT_DATA, census_row, write_adult, write_census
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.sources import load_table

CENSUS = {"source": "census"}
NOBODY = {"_1": "Not in universe", "_9": "Not in universe", "_4": "Children", "_0": "7", "_16": "0"}
ROWS = [
    census_row(),  # the first of Adult
    census_row(_0="40", _34="South Korea"),
    census_row(_34="?", **NOBODY),
    census_row(_40="95", _0="90"),
    census_row(_41="50000+.", _34="Hong Kong", _9="Handlers equip cleaners etc "),
]


@pytest.fixture
def folder(tmp_path):
    write_adult(tmp_path)
    write_census(tmp_path, ROWS)
    return tmp_path


def values(found, name):
    return {feature.partition("=")[2] for feature in found.names if feature.startswith(f"{name}=")}


@pytest.mark.parametrize("parquet", [False, True])
def test_reads_both_census_formats(tmp_path, parquet):
    write_adult(tmp_path)
    write_census(tmp_path, ROWS, parquet)
    found = load_table(CENSUS | {"duplicates": "keep"}, tmp_path, 1)
    group = found.groups["data_set"]
    assert [group.values[code] for code in group.codes] == ["census"] * 4 + ["adult"] * 6  # not that of 1995
    assert [found.classes[label] for label in found.labels[:4]] == ["<=50K"] * 3 + [">50K"]
    assert np.array_equal(found.rows[0], found.rows[4])  # mapped to the values of Adult
    assert values(found, "occupation") == {"Adm-clerical", "Sales", "Not-in-universe", "Handlers-cleaners"}


def test_spelling_does_not_reveal_data_set(folder):
    shared = load_table(CENSUS, folder, 1)
    assert values(shared, "native-country") == {"United-States", "South", "Unknown", "Mexico", "Hong"}
    gap = next(i for i, age in enumerate(shared.rows[:, 0]) if age == pytest.approx(21 / 43))  # 28 years
    assert shared.rows[gap, shared.names.index("occupation=Not-in-universe")] == 1
    assert shared.rows[gap, shared.names.index("native-country=Unknown")] == 1


def test_paper_mapping_keeps_spellings(folder):
    paper = load_table(CENSUS | {"mapping": "paper"}, folder, 1)
    assert values(paper, "native-country") == {
        "United-States", "South", "South-Korea", "Unknown", "Mexico", "Hong",
    }  # fmt: skip
    gap = next(i for i, age in enumerate(paper.rows[:, 0]) if age == pytest.approx(21 / 43))
    assert paper.rows[gap, paper.names.index("occupation=Sales")] == 1


def test_person_in_both_sets_is_kept_once_by_seed(folder):
    group = [load_table(CENSUS, folder, seed).groups["data_set"] for seed in range(12)]
    sizes = {tuple(np.bincount(one.codes).tolist()) for one in group}  # adult, census
    assert sizes == {(5, 3), (4, 4)}  # 6 and 4, less one twin in Adult, less one of both


def test_rejects_unknown_values(tmp_path):
    write_adult(tmp_path, data=ADULT_DATA)
    write_census(tmp_path, [census_row(_12="M")])
    with pytest.raises(
        BadInput, match=r"'sex' of census-income\.data holds values that are not of the census in 1 rows"
    ):
        load_table(CENSUS, tmp_path, 1)
