import csv
import json

import numpy as np
import pytest

import leakgauge
from leakgauge import exposure
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import Against, Exposure
from leakgauge.exposure import Exposed
from leakgauge.plan import read_plan

PLAN = """
seed = 5
[[audit]]
name = "city"
domain = "locations"
rounds = 20
data = { source = "synthetic", users = 200, sites = 9, epochs = 24, visits = 6 }
mechanism = { name = "laplace", epsilon = 1.0, round = true, clamp = true, suppress = 1 }
challenger = { group_size = 60 }
"""
BLACKBOX = """
seed = 5
[[audit]]
name = "box"
domain = "blackbox"
challenger = { pair = [0, 1] }
mechanism = { name = "laplace", epsilon = 1.0 }
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def made_up(names: list[str], auc: list[float]) -> Exposed:
    values = np.array(auc)
    one = Against(
        adversary="informed", basis="the best", accuracy=values, auc=values, tpr=values / 2, error=1e-4
    )
    return Exposed(
        "city", "locations", Exposure(names=np.array(names), cells=np.arange(len(names)), against=(one,))
    )


def test_everybody_is_in_the_file_the_most_exposed_first(tmp_path):
    exposure.save([made_up(['a "b"', "c,d", "e\nf"], [0.6, 0.9, 0.5])], tmp_path)
    with (tmp_path / "exposure.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["person"] for row in rows] == ["c,d", 'a "b"', "e\nf"]
    assert rows[0] == {
        "audit": "city",
        "person": "c,d",
        "cells": "1",
        "informed_accuracy": "0.90000",
        "informed_auc": "0.90000",
        "informed_tpr_at_fpr_0.01": "0.45000",
    }


def test_the_file_with_people_is_its_owners_alone_and_nothing_else_names_them(tmp_path):
    summary = exposure.save([made_up(["Ada Lovelace", "Alan Turing"], [0.6, 0.9])], tmp_path)
    assert (tmp_path / "exposure.csv").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"exposure.csv", "exposure.json"}
    for text in (json.dumps(summary), (tmp_path / "exposure.json").read_text()):
        assert "Ada" not in text
        assert "Turing" not in text
    assert exposure.read_summary(tmp_path) == summary


def test_a_summary_holds_quantiles_and_a_histogram():
    auc = np.linspace(0.5, 1.0, 101)
    (audit,) = exposure.summarise([made_up([str(i) for i in range(101)], auc.tolist())])["audits"]
    (one,) = audit["adversaries"]
    assert audit["people"] == 101
    assert one["metrics"]["auc"]["quantiles"]["0.5"] == pytest.approx(0.75)
    assert one["metrics"]["auc"]["quantiles"]["1.0"] == 1.0
    assert sum(one["histogram"]["people"]) == 101
    assert one["error"] == 1e-4


def test_adversaries_of_one_audit_alone_leave_gaps_in_another(tmp_path):
    other = made_up(["x"], [0.7])
    renamed = Against(**{**vars(other.exposure.against[0]), "adversary": "log"})
    second = Exposed(
        "log",
        "queries",
        Exposure(names=np.array(["x"]), cells=np.ones(1, dtype=np.int64), against=(renamed,)),
    )
    exposure.save([other, second], tmp_path)
    with (tmp_path / "exposure.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["informed_auc"], rows[0]["log_auc"]) == ("0.70000", "")
    assert (rows[1]["informed_auc"], rows[1]["log_auc"]) == ("", "0.70000")


def test_a_plan_without_people_is_refused(tmp_path):
    (tmp_path / "box.toml").write_text(BLACKBOX)
    with pytest.raises(BadInput, match=r"'blackbox'.*'locations'"):
        exposure.expose_plan(read_plan(tmp_path / "box.toml"))


def test_expose_returns_everybody_and_writes_nothing_unless_told(plan, tmp_path):
    (found,) = leakgauge.expose(plan)
    assert found.audit == "city"
    assert found.exposure.n_people == 200
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
    (again,) = leakgauge.expose(plan, seed=6)
    assert not np.array_equal(again.exposure.cells, found.exposure.cells)


def test_a_folder_with_another_run_is_left_alone(plan, tmp_path):
    folder = tmp_path / "run"
    leakgauge.run(plan, out=folder)
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(BadInput, match="another plan"):
        leakgauge.expose(plan, out=folder, seed=9)
    assert {path.name for path in folder.iterdir()} == before


def test_the_report_of_a_run_tells_of_the_exposure_and_of_nobody(plan, tmp_path):
    folder = tmp_path / "run"
    leakgauge.run(plan, out=folder)
    assert "Exposure of everybody" not in (folder / "report.html").read_text()
    leakgauge.expose(plan, out=folder)
    assert "Exposure of everybody" in (folder / "report.html").read_text()
    assert "Exposure of everybody" in (folder / "exposure.html").read_text()
    leakgauge.run(plan, out=folder)
    assert "Exposure of everybody" in (folder / "report.html").read_text()


def test_a_damaged_summary_is_told(tmp_path):
    (tmp_path / "exposure.json").write_text("{")
    with pytest.raises(BadInput, match="damaged"):
        exposure.read_summary(tmp_path)
    assert exposure.read_summary(tmp_path / "nowhere") is None
