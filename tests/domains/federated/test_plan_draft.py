import shutil
from pathlib import Path

import numpy as np
import pytest

from domains.drafted import drafted, drafted_plan, drafted_table, recognised
from leakgauge import draft
from leakgauge.core.errors import BadInput

APP = Path(__file__).parents[3] / "examples" / "flower-app"


@pytest.fixture
def features(tmp_path):
    rng = np.random.default_rng(4)
    names = ",".join(f"f{i}" for i in range(40))
    rows = [",".join(f"{x:.3f}" for x in rng.normal(size=40)) + f",{i % 3}" for i in range(120)]
    path = tmp_path / "features.csv"
    path.write_text(f"{names},class\n" + "\n".join(rows) + "\n")
    return path


def test_many_columns_of_numbers_and_a_class_become_a_plan_that_can_be_run(features, tmp_path):
    assert recognised(features) == "features"
    (audit,) = drafted_plan(features, "features", tmp_path / "audit").audits
    assert audit.data["keys"] == {"labels": "class"}
    assert len(audit.data["features"]) == 40
    assert audit.mechanism == {"name": "bitrand", "epsilon": 3.0}


@pytest.mark.parametrize("name", ["laplace", "ome", "none"])
def test_every_choice_of_noise_can_be_run(features, tmp_path, name):
    plan = drafted_plan(features, "features", tmp_path / "audit", perturbation=name, batch="10")
    assert plan.audits[0].mechanism["name"] == name


def test_a_file_of_arrays_needs_no_columns(tmp_path):
    path = tmp_path / "e.npz"
    np.savez(path, embedding=np.random.default_rng(5).normal(size=(60, 12)), label=np.arange(60) % 2)
    assert recognised(path) == "features"
    drafted_plan(path, "features", tmp_path / "audit", batch="5")


def test_arrays_with_other_names_are_found_by_their_shapes(tmp_path):
    path, rng = tmp_path / "e.npz", np.random.default_rng(5)
    rows, classes = rng.normal(size=(60, 12)), np.array(["a", "b"])[np.arange(60) % 2]
    np.savez(path, emb=rows.astype(np.float32), klasse=classes, is_train=np.arange(60) < 30, scale=1.5)
    (audit,) = drafted_plan(path, "features", tmp_path / "audit", batch="5").audits
    assert audit.data["keys"] == {"rows": "emb", "labels": "klasse"}
    np.savez(path, emb=rows, index=np.arange(60), Klasse=classes, other=np.arange(20))
    assert drafted_table(path, "features", tmp_path)["data"]["keys"] == {"rows": "emb", "labels": "Klasse"}


def test_what_arrays_leave_open_must_be_named(tmp_path):
    path, rows, classes = tmp_path / "e.npz", np.zeros((60, 12)), np.arange(60) % 2
    np.savez(path, a=rows, b=rows, c=classes, d=classes)
    with pytest.raises(
        BadInput, match=r"holds the rows\? The file has a \(60, 12\), b .* answer with --rows"
    ):
        drafted(path, "features", tmp_path)
    with pytest.raises(BadInput, match=r"holds the class of each row.*answer with --label"):
        drafted(path, "features", tmp_path, rows="b")
    with pytest.raises(BadInput, match=r"--label: e\.npz: no array is called 'e'; known: a, b, c, d"):
        drafted(path, "features", tmp_path, rows="b", label="e")
    keys = drafted_table(path, "features", tmp_path, rows="b", label="d")["data"]["keys"]
    assert keys == {"rows": "b", "labels": "d"}
    np.savez(path, a=rows)
    with pytest.raises(
        BadInput, match=r"needed are an array of numbers \(rows, features\) and one of classes"
    ):
        drafted(path, "features", tmp_path)
    path.write_bytes(b"x")
    with pytest.raises(BadInput, match=r"it must be a whole \.npz file"):
        drafted(path, "features", tmp_path)


@pytest.mark.parametrize("name", ["Klasse", "classe", "clase", "etichetta", "\u00e9tiquette"])
def test_a_class_is_known_in_five_languages_and_features_are_offered(tmp_path, name):
    path = tmp_path / "v.csv"
    names = ";".join(f"f{i}" for i in range(8))
    path.write_text(f"{name};{names}\n" + "".join(f"{'ab'[i % 2]};{f'{i},5;' * 7}1\n" for i in range(40)))
    file = draft.open_file(path, None)
    assert {match.kind for match in draft.match_kinds(file)} >= {"rows", "features"}
    assert drafted_table(path, "features", tmp_path)["data"]["keys"] == {"labels": name}


def test_a_flower_app_is_found_with_the_function_that_loads_its_data(tmp_path):
    shutil.copytree(APP, tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__", "plan.toml"))
    assert recognised(tmp_path / "app") == "flower-app"
    audit = drafted_table(tmp_path / "app", "flower-app", tmp_path / "app", epsilon="2")
    challenger = {
        "app": ".",
        "data_hook": "task:load_data",
        "targets": 1,
        "iterations": 3,
        "promise": {"epsilon": 2.0},
    }
    assert audit["challenger"] == challenger


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match="name the folder of a Flower app"):
        drafted(tmp_path, "flower-app", tmp_path)
