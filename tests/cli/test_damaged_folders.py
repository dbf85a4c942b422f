"""Every file of a run folder damaged in turn: each command says so in one line, and nothing is lost."""

import json
import os
import shutil

import pytest

from leakgauge import api
from leakgauge.runner.rollback import EXPOSURE_FILE
from leakgauge.support.files import json_digest

COMMANDS = (
    ("status", "runs/coin"),
    ("judge", "runs/coin"),
    ("gate", "runs/coin"),
    ("report", "runs/coin", "--format", "md"),
    ("run", "coin.toml"),
)
BLOCK = "audits/coin/peek-nothing/block-00000000.npz"
NAMES = ("manifest.json", "verdicts.json", EXPOSURE_FILE, "plan.toml", BLOCK)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def become_folder(path):
    path.unlink()
    path.mkdir()
    (path / "mine.txt").write_text("mine")


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": truncate,
    "text": lambda path: path.write_text("{}"),
    "list": lambda path: path.write_text("[]"),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "nested": lambda path: path.write_text("[" * 100_000),
    "missing": lambda path: path.unlink(),
    "folder": become_folder,
    "unreadable": lambda path: path.chmod(0),
}


@pytest.fixture
def run(call, plan, tmp_path, monkeypatch):
    """A complete run with an exposure, and a copy of it for each trial."""
    plan()
    with monkeypatch.context() as patch:
        patch.setattr(api, "write_report", lambda *_: None)
        assert call("run", "coin.toml").code == 0
    folder = tmp_path / "runs" / "coin"
    summary = {"schema": 1, "audits": []}
    (folder / EXPOSURE_FILE).write_text(json.dumps({**summary, "checksum": json_digest(summary)}))
    shutil.copytree(folder, tmp_path / "good")
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", NAMES)
def test_damage_is_named_in_one_line(call, run, tmp_path, monkeypatch, name, damage):
    if damage == "unreadable" and os.geteuid() == 0:
        pytest.skip("root may read everything")
    monkeypatch.setattr(api, "write_report", lambda folder, *_, **__: folder / "report.md")
    for command in COMMANDS:
        shutil.rmtree(run)
        shutil.copytree(tmp_path / "good", run)
        DAMAGES[damage](run / name)
        outcome = call(*command)
        assert outcome.code in (0, 2, 3), (command, outcome)
        assert "Traceback" not in outcome.err, (command, outcome.err)
        assert outcome.err.count("\n") == (outcome.code != 0), (command, outcome.err)
        if name == "manifest.json":
            assert outcome.code == 2, command
            assert "runs/coin" in outcome.err
        if name == BLOCK and command[0] in ("judge", "gate", "report"):
            assert outcome.code == 3, (command, outcome)
        if (run / name).is_dir():
            assert (run / name / "mine.txt").read_text() == "mine"
        others = {path for path in NAMES if path != name and path != "verdicts.json"}
        if command[0] in ("status", "gate"):
            kept = others | {"verdicts.json"} - {name}
            assert all((run / path).read_bytes() == (tmp_path / "good" / path).read_bytes() for path in kept)
