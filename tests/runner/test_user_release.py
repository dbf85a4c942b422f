"""Plans that name your own function, from the command line to the verdict."""

import json
from typing import NamedTuple

import pytest

from leakgauge import api
from leakgauge.cli.main import main
from night import others_at_night

MINE = """
import numpy as np
from scales import SCALE

def careless(dataset, rng):
    noise = rng.laplace(scale=SCALE, size=len(dataset))
    return np.round(np.asarray(dataset) + noise, 2)

pair = ([0.0, 5.0], [1.0, 5.0])
"""

PLAN = """
seed = 5
[[audit]]
name = "mine"
domain = "blackbox"
rounds = 1000
block = 125
challenger = { release = "mine:careless", pair = "mine:pair", epsilon = 1.0 }
attacks = [{ name = "learned_event", shadows = 1000 }]
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "scales.py").write_text("SCALE = 0.4\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def call(capsys, monkeypatch):
    """Call the command line; reports take seconds and have their own tests."""
    monkeypatch.setattr(api, "write_report", lambda *_: None)

    def run(*argv):
        code = main(argv)
        return Outcome(code, *capsys.readouterr())

    return run


def files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("block-*")}


def test_two_workers_match_one(call, tmp_path):
    one = call("run", "plan.toml", "--out", "one", "--json")
    two = call("run", "plan.toml", "--out", "two", "--workers", "2", "--json")
    assert (one.code, one.err) == (two.code, two.err) == (1, "")
    assert json.loads(one.out)["verdicts"] == json.loads(two.out)["verdicts"]
    assert len(files(tmp_path / "one")) == 8
    assert files(tmp_path / "one") == files(tmp_path / "two")
    [verdict] = json.loads(one.out)["verdicts"]
    assert 1.0 < verdict["metrics"]["epsilon"]["low"] <= 2.5, "the truth is 1 / 0.4"


@pytest.mark.parametrize("engine", others_at_night(["dask", "ray"], "dask"))
def test_cluster_matches_single_process(call, tmp_path, engine):
    assert call("run", "plan.toml", "--out", "one").code == 1
    outcome = call("run", "plan.toml", "--out", engine, "--engine", engine, "--workers", "2")
    assert (outcome.code, outcome.err) == (1, "")
    assert files(tmp_path / "one") == files(tmp_path / engine)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("mine.py", "[1.0, 5.0]", "[1.0, 6.0]"), ("mine.py", ", 2)", ", 3)"), ("scales.py", "0.4", "0.5")],
)
def test_rejects_changed_module(call, tmp_path, name, old, new):
    assert call("run", "plan.toml").code == 1
    before = files(tmp_path / "runs" / tmp_path.name)
    path = tmp_path / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    outcome = call("run", "plan.toml")
    assert outcome.code == 2
    assert "the data or code behind audit 'mine' changed; choose another --out" in outcome.err
    assert outcome.err.count("\n") == 1
    assert files(tmp_path / "runs" / tmp_path.name) == before
    path.write_text(path.read_text().replace(new, old))
    assert call("run", "plan.toml").code == 1


@pytest.mark.parametrize("workers", ["1", "2"])
def test_failing_release_exits_with_code_2(call, tmp_path, workers):
    (tmp_path / "scales.py").write_text("SCALE = -1\n")
    outcome = call("run", "plan.toml", "--workers", workers)
    assert outcome.code == 2
    assert outcome.err.startswith("leakgauge: audit 'mine': ")
    assert "release raised ValueError: scale < 0 (mine.py, line 6) in round" in outcome.err
    assert outcome.err.count("\n") == 1


def test_named_mechanism_needs_no_code(call, tmp_path):
    """Randomized response meets its epsilon with equality, so one seed in forty may accuse it; seed 0 does.

    (Over 300 seeds the share of right guesses was .73117 on average, and should be .73106; seed 0 alone was
    beyond three standard errors.)
    """
    (tmp_path / "plan.toml").write_text(
        """
        seed = 1
        [[audit]]
        name = "named"
        domain = "blackbox"
        mechanism = { name = "randomized_response", epsilon = 1.0 }
        challenger = { pair = [0, 1] }
        attacks = ["learned_event", { name = "likelihood", knowledge = "law" }]
        """
    )
    outcome = call("run", "plan.toml", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)["verdicts"]
    assert [verdict["label"] for verdict in found] == ["learned_event-simulator", "likelihood-law"]
    for verdict in found:
        assert 0.8 < verdict["metrics"]["epsilon"]["low"] <= 1.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mine:careless", "mine:carless", "has no 'carless'"),
        ("mine:careless", "yours:careless", "no yours.py"),
        ("mine:careless", "careless", 'must be written "module:name"'),
        ("epsilon = 1.0", "epsilon = -1.0", "epsilon must be >= 0, got -1.0"),
        ("epsilon = 1.0", "epsilonn = 1.0", "did you mean 'epsilon'?"),
        ("shadows = 1000", "shadows = 1", "shadows must be >= 100, got 1"),
        ("shadows = 1000", "shadow = 1000", "did you mean 'shadows'?"),
    ],
)
def test_errors_are_found_before_writing(call, tmp_path, old, new, words):
    assert old in PLAN
    (tmp_path / "plan.toml").write_text(PLAN.replace(old, new))
    outcome = call("run", "plan.toml")
    assert outcome.code == 2
    assert outcome.err.startswith("leakgauge: plan.toml: audit 'mine'")
    assert words in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()
