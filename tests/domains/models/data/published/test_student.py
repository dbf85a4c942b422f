import pytest

from domains.models.tiny_tables import STUDENT
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.sources import load_table


@pytest.mark.parametrize("text", [STUDENT, STUDENT.replace('"', "")])  # as published, and without quotes
def test_label_is_ten_points_and_leaking_columns_are_dropped(tmp_path, text):
    (tmp_path / "student-por.csv").write_text(text)
    found = load_table({"source": "student"}, tmp_path, 1)
    assert [found.classes[label] for label in found.labels] == ["pass", "fail", "pass"]
    assert found.groups["school"].values == ("GP", "MS")
    assert found.groups["school"].codes.tolist() == [0, 0, 1]
    assert found.names == ("sex=M", "age", "Mjob=at_home", "Mjob=health", "Mjob=teacher")
    assert found.rows[:, 1].tolist() == pytest.approx([1, 2 / 3, 0])


def test_rejects_pupil_without_grade(tmp_path):
    (tmp_path / "student-por.csv").write_text(STUDENT.replace(";11\n", ";\n"))
    with pytest.raises(BadInput, match=r"'G3' of student-por\.csv must be a number in each row"):
        load_table({"source": "student"}, tmp_path, 1)


def test_rejects_pupil_without_age(tmp_path):
    (tmp_path / "student-por.csv").write_text(STUDENT.replace("18", ""))
    with pytest.raises(BadInput, match=r"'age' has no value \(or NaN\) in 1 of 3 rows"):
        load_table({"source": "student"}, tmp_path, 1)


def test_course_in_mathematics_is_read_too(tmp_path):
    (tmp_path / "student-mat.csv").write_text(STUDENT)
    for table in ({"source": "student"}, {"source": "student", "course": "mat"}):
        assert len(load_table(table, tmp_path, 1)) == 3
    with pytest.raises(BadInput, match=r"there is no file 'student-por\.csv'"):
        load_table({"source": "student", "course": "por"}, tmp_path, 1)
    other = STUDENT.replace(";11\n", ";3\n")
    (tmp_path / "student-por.csv").write_text(other)
    found = load_table({"source": "student"}, tmp_path, 1)
    assert [found.classes[label] for label in found.labels].count("fail") == 2


def test_rule_makes_the_label_of_a_grade(tmp_path):
    (tmp_path / "grades.csv").write_text(STUDENT)
    rule = {"column": "G3", "at_least": 10}
    found = load_table({"source": "grades.csv", "label": rule, "drop": ["G1", "G2"]}, tmp_path, 1)
    assert [found.classes[label] for label in found.labels] == ["at least 10", "below 10", "at least 10"]
    assert "G3" not in found.names
    with pytest.raises(BadInput, match=r"'sex' holds texts"):
        load_table({"source": "grades.csv", "label": {"column": "sex", "at_least": 1}}, tmp_path, 1)
