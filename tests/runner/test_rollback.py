"""Bad input that shows only when a release is made leaves no trace; nothing else is ever removed."""

import pytest

from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.runner.block_store import BlockStore
from leakgauge.runner.run import run_plan

PIPELINES = """
import numpy as np

def raises(counts, rng):
    raise ValueError("broken")

def wrong_shape(counts, rng):
    return counts[:3]

def not_finite(counts, rng):
    return counts * np.nan
"""

PLAN = """
seed = 1
[[audit]]
name = "mine"
domain = "locations"
rounds = 20
data = { source = "synthetic", users = 200, sites = 9, epochs = 12 }
mechanism = { name = "own", release = "pipelines:NAME" }
attacks = [{ name = "one_threshold", knowledge = "auxiliary" }]
challenger = { group_size = 20, targets = 1, splits = 1 }
"""


@pytest.fixture
def fails_at(monkeypatch):
    """Let the writing of some block be refused."""

    def at(index):
        save = BlockStore.save

        def refuse(self, block, trials):
            if block.index == index:
                raise BadInput("no such block")
            save(self, block, trials)

        monkeypatch.setattr(BlockStore, "save", refuse)

    return at


@pytest.mark.parametrize("name", ["raises", "wrong_shape", "not_finite"])
def test_failing_user_pipeline_leaves_no_files(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipelines.py").write_text(PIPELINES)
    (tmp_path / "plan.toml").write_text(PLAN.replace("NAME", name))
    assert main(["run", "plan.toml"]) == 2
    assert "mechanism.release" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_existing_folder_is_kept(plan, tmp_path, fails_at):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "lock").touch()
    fails_at(0)
    with pytest.raises(BadInput):
        run_plan(plan(), folder)
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_created_folder_is_removed_but_not_its_parent(plan, tmp_path, fails_at):
    around = tmp_path / "runs"
    around.mkdir()
    fails_at(0)
    with pytest.raises(BadInput):
        run_plan(plan(), around / "deep" / "down")
    assert list(around.iterdir()) == []


def test_run_with_blocks_is_kept(plan, tmp_path, fails_at):
    folder = tmp_path / "out"
    fails_at(2)
    with pytest.raises(BadInput):
        run_plan(plan(), folder)
    assert {path.name for path in folder.iterdir()} == {"audits", "lock", "manifest.json", "plan.toml"}
    assert len(list(folder.rglob("block-*.npz"))) == 2


def test_run_stopped_again_keeps_its_blocks(plan, tmp_path, fails_at):
    folder = tmp_path / "out"
    for index in (1, 1):
        fails_at(index)
        with pytest.raises(BadInput):
            run_plan(plan(), folder)
    assert [path.name for path in folder.rglob("block-*.npz")] == ["block-00000000.npz"]


def test_foreign_files_in_created_folder_are_kept(plan, tmp_path, monkeypatch):
    folder = tmp_path / "out"

    def leave_a_file(self, block, trials):
        (folder / "notes.txt").write_text("mine")
        raise BadInput("no such block")

    monkeypatch.setattr(BlockStore, "save", leave_a_file)
    with pytest.raises(BadInput):
        run_plan(plan(), folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
