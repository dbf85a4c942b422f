import numpy as np
import pytest

from domains.drafted import drafted, drafted_plan, drafted_table, recognised
from leakgauge.core.errors import BadInput


@pytest.fixture
def patients(tmp_path):
    rng = np.random.default_rng(6)
    rows = [
        f"{i + 500},{rng.integers(18, 90)},{'' if i == 3 else f'{rng.normal():.2f}'},{'abc'[i % 3]},{i % 2}"
        for i in range(120)
    ]
    path = tmp_path / "patients.csv"
    path.write_text("number,age,weight,ward,outcome\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def losses(tmp_path):
    rng = np.random.default_rng(7)
    path = tmp_path / "losses.csv"
    path.write_text(
        "is_member,loss\n" + "\n".join(f"{i % 2},{rng.exponential():.3f}" for i in range(80)) + "\n"
    )
    return path


def test_rows_with_a_class_become_a_plan_that_can_be_run(patients, tmp_path):
    assert recognised(patients) == "rows"
    (audit,) = drafted_plan(patients, "rows", tmp_path / "audit").audits
    assert audit.data == {
        "source": "../patients.csv",
        "label": "outcome",
        "drop": ["number"],  # it names every row
        "impute": True,  # a weight is missing
    }
    assert audit.challenger["members"] == 30
    assert audit.mechanism == {"name": "none"}


@pytest.mark.parametrize("answers", [{"model": "random_forest"}, {"epsilon": "2"}])
def test_other_models_can_be_run(patients, tmp_path, answers):
    plan = drafted_plan(patients, "rows", tmp_path / "audit", **answers)
    assert plan.audits[0].mechanism["name"] == ("dp_sgd" if "epsilon" in answers else "none")


def test_a_column_that_is_not_there_is_refused(patients, tmp_path):
    with pytest.raises(
        BadInput, match=r"--label: patients\.csv: no column is called 'outcomes'; did you mean"
    ):
        drafted(patients, "rows", tmp_path, label="outcomes")


def test_losses_and_members_become_a_plan_that_can_be_run(losses, tmp_path):
    assert recognised(losses) == "losses"
    (audit,) = drafted_plan(losses, "losses", tmp_path / "audit").audits
    assert audit.data == {"source": "../losses.csv", "member": "is_member", "loss": "loss"}
    assert audit.challenger == {"game": "given"}
    assert audit.rounds == 1


def test_a_promise_is_tested_only_where_members_were_drawn_at_random(losses, tmp_path):
    plan = drafted_plan(losses, "losses", tmp_path, assignment="random", epsilon="1")
    assert plan.audits[0].challenger == {"game": "given", "randomised": True, "epsilon": 1.0}
    audit = drafted_table(losses, "losses", tmp_path, assignment="given", epsilon="1")
    assert audit["challenger"] == {"game": "given"}


def test_a_probability_is_no_loss(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("member,confidence\n1,0.9\n0,0.4\n1,0.8\n0,0.3\n")
    assert drafted_table(path, "losses", tmp_path)["data"]["probability"] == "confidence"


def test_a_model_file_asks_for_its_rows(losses, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"x")
    assert recognised(path) == "model"
    with pytest.raises(BadInput, match="answer with --data"):
        drafted(path, "model", tmp_path)
    audit = drafted_table(path, "model", tmp_path / "audit", data=str(losses))
    assert audit["challenger"]["model"] == "../m.onnx"
    assert audit["data"]["source"] == "../losses.csv"


def test_own_training_code_without_rows_is_trained_on_generated_ones(tmp_path):
    assert drafted_table(None, "training", tmp_path)["data"] == {"source": "synthetic"}


def test_own_training_code_gets_an_example_that_can_be_run(patients, tmp_path):
    plan = drafted_plan(patients, "training", tmp_path / "audit")
    assert plan.audits[0].challenger["train"] == "training:fit"


def test_german_and_french_files_with_decimal_commas_become_plans_that_can_be_run(losses, patients, tmp_path):
    german = tmp_path / "verluste.csv"
    text = (
        losses.read_text().replace(",", ";").replace(".", ",").replace("is_member;loss", "Mitglied;Verlust")
    )
    german.write_text(text)
    assert recognised(german) == "losses"
    data = drafted_plan(german, "losses", tmp_path / "audit").audits[0].data
    assert data == {
        "source": "../verluste.csv",
        "decimal": ",",
        "member": "Mitglied",
        "loss": "Verlust",
    }
    french = tmp_path / "malades.csv"
    names = "numéro;âge;poids;service;résultat"
    text = patients.read_text().replace(",", ";").replace(".", ",")
    french.write_bytes("\n".join([names, *text.splitlines()[1:]]).encode("latin-1"))
    assert recognised(french) == "rows"
    data = drafted_plan(french, "rows", tmp_path / "audit").audits[0].data
    assert (data["label"], data["encoding"], data["decimal"]) == ("résultat", "latin-1", ",")
    roles = {role.meaning: role.columns for role in drafted(french, "rows", tmp_path).roles}
    assert roles == {"predicted": ("résultat",), "features": ("âge", "poids", "service")}


def test_dates_and_times_of_day_are_no_features(tmp_path):
    rows = [f"{i / 4},{1 + i % 28:02}.05.2024,{i % 24:02}:30,{'yes' if i % 3 else 'no'}" for i in range(80)]
    path = tmp_path / "visits.csv"
    path.write_text("age,day,clock,outcome\n" + "\n".join(rows) + "\n")
    assert drafted_plan(path, "rows", tmp_path / "audit").audits[0].data["drop"] == ["day", "clock"]
