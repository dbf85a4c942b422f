import shutil
from pathlib import Path

import numpy as np
import pytest

from domains.drafted import drafted, drafted_plan, drafted_table, recognised
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


def test_a_flower_app_is_found_with_the_function_that_loads_its_data(tmp_path):
    shutil.copytree(APP, tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__", "plan.toml"))
    assert recognised(tmp_path / "app") == "flower-app"
    audit = drafted_table(tmp_path / "app", "flower-app", tmp_path / "app", epsilon="2")
    challenger = {"app": ".", "data_hook": "task:load_data", "targets": 1, "promise": {"epsilon": 2.0}}
    assert audit["challenger"] == challenger


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match="name the folder of a Flower app"):
        drafted(tmp_path, "flower-app", tmp_path)
