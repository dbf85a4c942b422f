"""The control without the model: what the records of a finished model alone reveal."""

from pathlib import Path

import numpy as np
import pytest

import leakgauge
from leakgauge.core.errors import BadInput

PLAN = """
seed = 3
[limits]
attackers = ["training_loss", "blind"]
accuracy = 0.6
[[audit]]
name = "ours"
domain = "models"
rounds = 1
data = { source = "patients.csv", label = "outcome" }
challenger = { game = "given", model = "ours:model" }
attacks = [{ name = "loss_threshold" }, { name = "blind" }]
"""
CODE = """
import numpy as np


def model(rows):
    return np.full((len(rows), 2), 0.5)  # it says the same of every record
"""


def write_audit(folder: Path, shift: float) -> Path:
    """A model that reveals nothing, and members whose first feature is higher by ``shift``."""
    rng = np.random.default_rng(1)
    members = np.arange(400) % 2 == 0
    features = rng.normal(size=(400, 3)) + np.outer(members, [shift, 0, 0])
    table = np.column_stack([features, rng.integers(2, size=400), members])
    np.savetxt(folder / "patients.csv", table, "%.6g", ",", header="a,b,c,outcome,member", comments="")
    (folder / "ours.py").write_text(CODE)
    (folder / "plan.toml").write_text(PLAN)
    return folder / "plan.toml"


def test_members_who_differ_are_recognised_without_the_model(tmp_path: Path) -> None:
    verdicts = leakgauge.run(write_audit(tmp_path, shift=3.0), out=tmp_path / "run")
    blind = next(verdict for verdict in verdicts if verdict.attack == "blind")
    ideal = 0.933  # of the best rule for two normal distributions 3 standard deviations apart
    assert blind.metrics["accuracy_own"].value == pytest.approx(ideal, abs=0.05)
    assert blind.risk.status != "within"


def test_members_drawn_at_random_are_not(tmp_path: Path) -> None:
    verdicts = leakgauge.run(write_audit(tmp_path, shift=0.0), out=tmp_path / "run")
    blind = next(verdict for verdict in verdicts if verdict.attack == "blind")
    assert blind.metrics["accuracy_own"].value == pytest.approx(0.5, abs=0.1)  # 4 standard errors


def test_records_without_features_have_no_blind_control(tmp_path: Path) -> None:
    (tmp_path / "losses.csv").write_text("member,loss\n" + "1,0.5\n0,0.9\n" * 30)
    plan = PLAN.replace("patients.csv", "losses.csv").replace('label = "outcome"', 'loss = "loss"')
    (tmp_path / "plan.toml").write_text(plan.replace(', model = "ours:model"', ""))
    with pytest.raises(BadInput, match="knowledge 'blind': the control learns how the records of members"):
        leakgauge.run(tmp_path / "plan.toml", out=tmp_path / "run")
