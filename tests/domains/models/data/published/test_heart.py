import pytest

from domains.models.tiny_tables import HEART, write_heart
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.sources import load_table

HEART_TABLE = {"source": "heart"}


def column(found, name, low, high):
    """The values before they were scaled."""
    return (found.rows[:, found.names.index(name)] * (high - low) + low).tolist()


def test_label_is_num_above_zero(tmp_path):
    write_heart(tmp_path)
    found = load_table(HEART_TABLE, tmp_path, 1)
    assert [found.classes[label] for label in found.labels] == ["no", "yes", "no", "yes", "yes", "yes"]
    group = found.groups["hospital"]
    assert [group.values[code] for code in group.codes] == [
        "cleveland", "cleveland", "hungarian", "switzerland", "switzerland", "va",
    ]  # fmt: skip
    assert "cp=4" in found.names  # written as 4.0 by one hospital, and as 4 by others
    assert "cp=4.0" not in found.names


def test_gaps_are_filled_over_all_hospitals(tmp_path):
    gap = HEART["hungarian"].replace(",132,", ",?,")
    write_heart(tmp_path, hungarian=gap)
    found = load_table(HEART_TABLE, tmp_path, 1)
    assert column(found, "chol", 0, 286)[2] == pytest.approx((233 + 286 + 0 + 0 + 260) / 5, abs=1e-4)
    assert column(found, "ca", 0, 3) == [0, 3, 0, 0, 0, 0]  # the most frequent, no mean
    assert found.rows[3, found.names.index("thal=3")] == 1


def test_filling_per_hospital_gives_a_warning(tmp_path):
    write_heart(
        tmp_path,
        va=HEART["va"].replace("2,?,7", "2,3,7"),
        switzerland="32,1,1,95,0,0,0,127,0,.7,1,1,3,1\n38,0,4,105,?,1,0,166,0,2.8,1,?,3,4\n",
        hungarian=HEART["hungarian"].replace("?", "1"),
    )
    found = load_table(HEART_TABLE | {"impute": "hospital"}, tmp_path, 1)
    assert column(found, "chol", 0, 286)[4] == 0  # the mean of Switzerland
    assert column(found, "ca", 0, 3)[4] == 1
    assert "the constant reveals the hospital" in found.notes[1]


def test_rejects_filling_for_hospital_without_values(tmp_path):
    write_heart(tmp_path)
    with pytest.raises(BadInput, match="'slope of hungarian' has no value in any of 1 rows"):
        load_table(HEART_TABLE | {"impute": "hospital"}, tmp_path, 1)


def test_rejects_patient_without_diagnosis(tmp_path):
    write_heart(tmp_path, va=HEART["va"].replace(",2\n", ",?\n"))
    with pytest.raises(BadInput, match="the label has no value in 1 of 6 rows"):
        load_table(HEART_TABLE, tmp_path, 1)
