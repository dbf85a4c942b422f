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


def loss_table(tmp_path, names, words=("1", "0"), marks=",."):
    path = tmp_path / "table.csv"
    rows = (f"A-{i:03},{words[i % 2]},{i % 7}.{i % 9 + 1}" for i in range(80))
    text = "\n".join([",".join(names), *rows]) + "\n"
    path.write_text(text if marks == ",." else text.replace(",", ";").replace(".", ","))
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("in_train", ("TRUE", "FALSE")),
        ("train_set", ("y", "n")),
        ("training", ("yes", "no")),
        ("split", ("Train", "Test")),
        ("Trainingsdaten", ("ja", "nein")),
        ("donn\u00e9es d'entra\u00eenement", ("oui", "non")),
        ("datos de entrenamiento", ("s\u00ed", "no")),
        ("dati di addestramento", ("si", "no")),
    ],
)
def test_names_and_words_of_members_are_known_in_five_languages(tmp_path, name, words):
    path = loss_table(tmp_path, ("Nummer", name, "Verlust"), words, ";,")
    assert recognised(path) == "losses"
    (audit,) = drafted_plan(path, "losses", tmp_path / "audit").audits  # the reader accepts it, too
    assert (audit.data["member"], audit.data["loss"]) == (name, "Verlust")


@pytest.mark.parametrize("answer", ["Verlust", "confidence", "Train Loss", "prob_true"])
def test_losses_beside_a_column_of_two_values_are_never_taken_for_people(tmp_path, answer):
    path = loss_table(tmp_path, ("Nummer", "Gruppe", answer))
    with pytest.raises(BadInput, match=r"It may be losses \(column .*; Gruppe may be the members\)"):
        recognised(path)
    assert drafted_table(path, "losses", tmp_path, member="Gruppe")["data"]["member"] == "Gruppe"


def test_a_split_into_more_than_two_parts_is_asked_for(tmp_path):
    path = tmp_path / "split.csv"
    rows = (f"{i},{('train', 'test', 'val')[i % 3]},0.{i + 10}" for i in range(80))
    path.write_text("row,Split,loss\n" + "\n".join(rows) + "\n")
    with pytest.raises(BadInput, match=r"It may be losses \(column loss \(loss\); Split may be the members"):
        recognised(path)


def test_members_in_other_words_are_refused_before_a_plan_is_written(tmp_path):
    path = loss_table(tmp_path, ("id", "is_member", "loss"), ("in use", "not"))
    with pytest.raises(
        BadInput, match=r"'is_member' does not say of every row .* write 1 or 0, true or false"
    ):
        drafted(path, "losses", tmp_path)
    path = loss_table(tmp_path, ("id", "is_member", "loss"), ("1.0", ""))  # the others are missing
    with pytest.raises(BadInput, match="or says the same of all"):
        drafted(path, "losses", tmp_path)
    path = loss_table(tmp_path, ("id", "is_member", "loss"), ("1.0", "0.0"))
    assert drafted_plan(path, "losses", tmp_path / "audit").audits


def test_a_column_about_training_is_a_feature_where_there_are_no_losses(tmp_path):
    path = tmp_path / "staff.csv"
    rows = (f"{i},{'yes' if i % 3 else 'no'},{i % 5},{i % 2}" for i in range(80))
    path.write_text("number,training,age,outcome\n" + "\n".join(rows) + "\n")
    assert recognised(path) == "rows"
