import pytest

from domains.models.tiny_tables import COMPAS_NAMES, COMPAS_ROWS
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.sources import load_table

COMPAS = {"source": "compas"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "compas-scores-two-years.csv").write_text(f"{COMPAS_NAMES}\n{COMPAS_ROWS}")
    return tmp_path


def test_rows_match_propublica_analysis(folder):
    found = load_table(COMPAS, folder, 1)
    assert found.labels.tolist() == [0, 1, 0]  # not 31 days, no days, a traffic offence, -1
    assert found.rows[:, found.names.index("days_b_screening_arrest")].tolist() == pytest.approx(
        [29 / 60, 1, 0]
    )
    assert found.rows[:, found.names.index("c_charge_degree=M")].tolist() == [0, 0, 1]


def test_leaking_columns_are_features_on_request_only(folder):
    assert "is_recid" not in load_table(COMPAS, folder, 1).names
    found = load_table(COMPAS | {"is_recid": True}, folder, 1)
    assert found.rows[:, found.names.index("is_recid")].tolist() == [0, 1, 1]


def test_personal_columns_are_not_features(folder):
    assert {name.partition("=")[0] for name in load_table(COMPAS, folder, 1).names} == {
        "age", "age_cat", "c_charge_degree", "days_b_screening_arrest", "priors_count", "race", "sex",
    }  # fmt: skip


def test_rejects_other_file_of_same_name(folder):
    (folder / "compas-scores-two-years.csv").write_text("id,age\n1,2\n")
    with pytest.raises(
        BadInput,
        match=r"compas-scores-two-years\.csv has no columns 'c_charge_degree', .*as it was published",
    ):
        load_table(COMPAS, folder, 1)
