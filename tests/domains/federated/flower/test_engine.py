import sys
import warnings
from pathlib import Path

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated import challenger
from leakgauge.domains.federated.flower import engine
from leakgauge.domains.federated.flower.engine import FlowerClients

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr  # noqa: F401

OWN = """
from flwr.clientapp import ClientApp

app = ClientApp()
number = 3


@app.train()
def train(message, context):
    return message
"""


def build(folder=Path(), **said):
    return challenger.build(
        data={"rows": 60, "features": 4, "classes": 2},
        challenger={"targets": 1, "batch": 5, **said},
        mechanism={"name": "none"},
        folder=folder,
        seed=1,
    )


def test_plan_selects_flower_clients():
    import numpy as np

    here, there = build(), build(engine="flower")
    members = np.ones((2, 1), bool)
    one, other = (made.release(members, np.random.default_rng(5)) for made in (here, there))
    assert isinstance(other, FlowerClients)
    assert other.clients.seed == one.seed
    assert "clients are run by Flower's simulation" in there.notes


def test_changed_app_changes_digest(tmp_path):
    digests = set()
    for noise in (1, 2):
        (tmp_path / "mine.py").write_text(f"{OWN}\nNOISE = {noise}\n")
        digests.add(build(tmp_path, engine="flower", client_app="mine:app").digest)
    assert len(digests) == 2


def test_telemetry_is_off_before_flower_is_imported(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        f"import os\n{OWN}\nassert os.environ['FLWR_TELEMETRY_ENABLED'] == '0'\n"
    )
    monkeypatch.delenv("FLWR_TELEMETRY_ENABLED", raising=False)
    engine.read_flower_engine("mine:app", tmp_path)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"client_app": "mine:app"}, 'is for Flower; add engine = "flower"'),
        ({"engine": "flowers"}, "engine"),
        ({"engine": "flower", "client_app": "mine"}, 'client_app: must be written "module:name"'),
        ({"engine": "flower", "client_app": "mine:ap"}, "has no 'ap'"),
        (
            {"engine": "flower", "client_app": "mine:number"},
            "mine:number must be a ClientApp of flwr, got int",
        ),
        ({"engine": "flower", "client_app": "yours:app"}, "no yours.py"),
    ],
)
def test_rejects_invalid_apps(tmp_path, said, told):
    (tmp_path / "mine.py").write_text(OWN)
    with pytest.raises(BadInput, match=told):
        build(tmp_path, **said)


def test_rejects_app_that_cannot_be_pickled(tmp_path):
    held = "import threading\nlock = threading.Lock()\n" + OWN.replace("return message", "return lock")
    (tmp_path / "mine.py").write_text(held)
    with pytest.raises(BadInput, match="cannot be sent to the simulation"):
        build(tmp_path, engine="flower", client_app="mine:app")


def test_missing_flower_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(engine, "find_spec", lambda name: None if name == "flwr" else sys)
    with pytest.raises(
        BadInput, match=r"flwr is not installed; run: pip install 'leakgauge\[federated,ml\]'"
    ):
        build(engine="flower")
