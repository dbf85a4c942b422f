"""A run that is killed at any moment and continued ends like one that never was."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import leakgauge

DRIVER = """
import sys
import cloudpickle
import leakgauge.domains
leakgauge.domains.__path__.append(sys.argv.pop(1))
from leakgauge.domains.coin import challenger, knowledge
from leakgauge.domains.coin.attacks import peek, sleep
for module in (challenger, knowledge, peek, sleep):
    cloudpickle.register_pickle_by_value(module)
from leakgauge.cli.main import main
sys.exit(main())
"""

PLAN = """
seed = 7
[[audit]]
name = "coin"
domain = "coin"
rounds = 390
block = 10
challenger = { promised = 1.0, targets = 3, pause = 0.01 }
mechanism = { epsilon = 1.0 }
attacks = ["peek", "sleep"]
"""


@pytest.fixture(autouse=True)
def _own_package(tmp_path):
    """Give the runs a copy of the package, which nobody changes meanwhile."""
    source = Path(leakgauge.__file__).parent
    shutil.copytree(source, tmp_path / "package" / "leakgauge")  # with what was compiled, to start fast


def start(folder, *more):
    domains = str(Path(__file__).parent / "domains")
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, domains, "run", "plan.toml", *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "package")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_interruptible,
    )


def _interruptible():
    """Undo an ignored SIGINT, which a child inherits where the tests run as a background job."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(process):
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def state(folder):
    """All that a run leaves but its report, byte by byte."""
    names = [path for path in folder.rglob("*") if path.is_file() and path.name != "report.html"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def kill_and_continue(tmp_path, kills, rng, *more):
    """Kill a run ``kills`` times, each time a moment after it saved a block or while it starts."""
    landed = 0
    for _ in range(kills):
        process = start(tmp_path, "--out", "killed", *more)
        before = len(list((tmp_path / "killed").rglob("block-*.npz")))
        wanted, deadline = before + rng.randrange(12), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list((tmp_path / "killed").rglob("block-*.npz"))) >= wanted:
                break
            time.sleep(0.002)
        time.sleep(rng.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
        landed += process.returncode == -signal.SIGKILL
    finish(start(tmp_path, "--out", "killed", *more))
    return landed


def check(tmp_path, kills, rng, *more):
    (tmp_path / "plan.toml").write_text(PLAN)
    finish(start(tmp_path, "--out", "whole"))
    landed = kill_and_continue(tmp_path, kills, rng, *more)
    assert landed >= kills / 2, "most kills hit a running process"
    assert state(tmp_path / "killed") == state(tmp_path / "whole")


def test_a_killed_run_continues_to_the_same_bytes(tmp_path):
    check(tmp_path, 2, random.Random(1))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("kills", [4, pytest.param(12, marks=pytest.mark.nightly)])
def test_a_run_killed_many_times_continues_to_the_same_bytes(tmp_path, workers, kills):
    check(tmp_path, kills, random.Random(int(workers)), "--workers", workers)


def test_a_second_run_into_the_same_folder_is_refused(tmp_path):
    (tmp_path / "plan.toml").write_text(
        PLAN.replace("pause = 0.01", "pause = 0.1").replace("rounds = 390", "rounds = 150")
    )
    first = start(tmp_path, "--out", "both")
    while not list((tmp_path / "both").rglob("block-*.npz")):
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGSTOP)  # it keeps the folder however long the second one takes to start
    second = start(tmp_path, "--out", "both")
    _, errors = second.communicate(timeout=120)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert errors.startswith("leakgauge: another run is writing to both")
    assert errors.count("\n") == 1
    finish(first)


def test_an_interrupted_run_says_how_to_continue(tmp_path):
    (tmp_path / "plan.toml").write_text(
        PLAN.replace("pause = 0.01", "pause = 0.1").replace("rounds = 390", "rounds = 150")
    )
    process = start(tmp_path, "--out", "out")
    while not list((tmp_path / "out").rglob("block-*.npz")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == (
        "leakgauge: interrupted; finished blocks are kept; continue with: leakgauge run plan.toml --out out\n"
    )
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["seed"] == 7


def test_a_run_outlives_a_change_of_the_report_and_not_one_of_the_game(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace("rounds = 390", "rounds = 30"))
    finish(start(tmp_path, "--out", "out"))
    whole = state(tmp_path / "out")
    next((tmp_path / "out").rglob("block-00000001.npz")).unlink()
    comment(tmp_path / "package" / "leakgauge" / "report" / "page.py")
    finish(start(tmp_path, "--out", "out"))
    assert state(tmp_path / "out") == whole
    next((tmp_path / "out").rglob("block-00000001.npz")).unlink()
    before = state(tmp_path / "out")
    comment(tmp_path / "package" / "leakgauge" / "core" / "game.py")
    process = start(tmp_path, "--out", "out")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.startswith(
        "leakgauge: out cannot be continued: leakgauge itself changed: core/game.py; use the code that began"
    )
    assert errors.count("\n") == 1
    assert state(tmp_path / "out") == before
    finish(start(tmp_path, "--out", "out", "--fresh"))
    assert len(list((tmp_path / "out").rglob("block-*.npz"))) == 6


def comment(path):
    with path.open("a") as file:
        file.write("# a comment\n")
