import numpy as np
import pytest

from domains.models.tiny_tables import ADULT_DATA, write_adult
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.sources import load_table

ADULT = {"source": "adult"}


@pytest.mark.parametrize("packed", [False, True])
def test_both_files_are_read_as_published(tmp_path, packed):
    write_adult(tmp_path, packed=packed)
    found = load_table(ADULT | {"duplicates": "keep"}, tmp_path, 1)
    assert found.labels.tolist() == [0, 1, 0, 0, 1, 1]
    assert found.classes == ("<=50K", ">50K")  # with and without a dot
    age = found.rows[:, found.names.index("age")]
    assert age.tolist() == pytest.approx([14 / 25, 1, 3 / 25, 14 / 25, 0, 0])
    assert found.rows[:, found.names.index("sex=Male")].tolist() == [1, 0, 0, 0, 1, 1]
    assert {"marital-status=Divorced", "marital-status=Never-married"} & set(found.names) == {
        "marital-status=Never-married"  # two values are one feature
    }


def test_question_mark_becomes_most_frequent_value(tmp_path):
    write_adult(tmp_path)
    found = load_table(ADULT | {"duplicates": "keep"}, tmp_path, 1)
    assert "workclass=?" not in found.names
    assert found.rows[2, found.names.index("occupation=Sales")] == 1
    assert found.rows[2, found.names.index("native-country=United-States")] == 1
    assert "3 missing values in 3 columns were imputed by the mean or the most frequent" in found.notes[1]


def test_duplicate_rows_are_dropped(tmp_path):
    write_adult(tmp_path)
    found = load_table(ADULT, tmp_path, 1)
    assert len(found) == 5
    assert found.notes[-1] == "left out: 1 of 6 rows, which occur more than once"


def test_education_columns_are_removed_from_features(tmp_path):
    write_adult(tmp_path)
    found = load_table(ADULT | {"group": "education", "duplicates": "keep"}, tmp_path, 1)
    group = found.groups["education"]
    assert [group.values[code] for code in group.codes] == ["high", "low", "low", "low", "high", "high"]
    assert not [name for name in found.names if name.startswith("education")]


def test_two_groups_can_be_selected(tmp_path):
    write_adult(tmp_path)
    found = load_table(ADULT | {"group": ["sex", "race"]}, tmp_path, 1)
    assert set(found.groups) == {"sex", "race"}
    assert not [name for name in found.names if name.startswith(("sex", "race"))]


@pytest.mark.parametrize(
    ("group", "message"),
    [("age", "'age' holds numbers; a group is one of a few values"), ("sexx", "did you mean 'sex'?")],
)
def test_rejects_unknown_group(tmp_path, group, message):
    write_adult(tmp_path)
    with pytest.raises(BadInput, match=message.replace("?", r"\?")):
        load_table(ADULT | {"group": group}, tmp_path, 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("39, Private\n", "line 1 of adult.data has 2 values, not 15; use the file as it was published"),
        (ADULT_DATA.replace("39,", "old,", 1), "'age' of adult.data must hold numbers"),
    ],
)
def test_rejects_broken_file(tmp_path, data, message):
    write_adult(tmp_path, data=data)
    with pytest.raises(BadInput) as error:
        load_table(ADULT, tmp_path, 1)
    assert message in str(error.value)


def test_rejects_folder_without_files(tmp_path):
    with pytest.raises(BadInput, match=r"there is no file 'adult.data' \(nor with .gz\)"):
        load_table(ADULT | {"folder": "elsewhere"}, tmp_path, 1)


def test_digest_does_not_depend_on_location(tmp_path):
    (tmp_path / "below").mkdir()
    write_adult(tmp_path)
    write_adult(tmp_path / "below")
    here, there = load_table(ADULT, tmp_path, 1), load_table(ADULT | {"folder": "below"}, tmp_path, 1)
    assert here.digest == there.digest
    assert here.digest != load_table(ADULT | {"group": "sex"}, tmp_path, 1).digest
    assert np.array_equal(here.rows, there.rows)
