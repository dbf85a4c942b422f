"""A run that is killed at any moment and continued ends like one that never was."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import leakgauge

# Every file that a run saves is flushed twice: before it gets its name and after. SIGNALS says who gets which
# signal after which flush, so that no test depends on time.
DRIVER = """
import json, os, sys
import cloudpickle, psutil
import leakgauge.domains
leakgauge.domains.__path__.append(sys.argv.pop(1))
from leakgauge.domains.coin import challenger, knowledge
from leakgauge.domains.coin.attacks import peek, sleep
for module in (challenger, knowledge, peek, sleep):
    cloudpickle.register_pickle_by_value(module)
from leakgauge import api
from leakgauge.cli.main import main
api.write_report = lambda *_: None  # it takes seconds
flush, n_flushes, signals = os.fsync, 0, json.loads(os.environ.get("SIGNALS", "{}"))

def workers():
    children = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in children if "popen_loky" in "".join(child.cmdline())]

def flush_and_signal(file):
    global n_flushes
    flush(file)
    n_flushes += 1
    whom, signal = signals.get(str(n_flushes), ("nobody", 0))
    if whom != "nobody":
        os.kill(os.getpid() if whom == "run" else workers()[0].pid, signal)

os.fsync = flush_and_signal
sys.exit(main())
"""

PATIENCE = 300  # seconds, for a process that hangs
PLAN = """
seed = 7
[[audit]]
name = "coin"
domain = "coin"
rounds = 390
block = 10
challenger = { promised = 1.0, targets = 3 }
mechanism = { epsilon = 1.0 }
attacks = ["peek", "sleep"]
"""


@pytest.fixture(autouse=True)
def _own_package(tmp_path):
    """Give the runs a copy of the package, which nobody changes meanwhile."""
    copy_package(tmp_path)


def copy_package(folder):
    """Copy it with what was compiled, to start fast, and without what another process is writing."""
    source, unfinished = Path(leakgauge.__file__).parent, shutil.ignore_patterns("*.pyc.*", "tmp.*")
    shutil.copytree(source, folder / "package" / "leakgauge", ignore=unfinished)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run of the plan leaves that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    copy_package(folder)
    (folder / "plan.toml").write_text(PLAN)
    finish(start(folder, "--out", "out"))
    return state(folder / "out")


FIRST_BLOCK = 6  # flushes until the first file of a block is saved, after the manifest and the plan


def start(folder, *more, signals=()):
    """Start a run; ``signals``: after so many flushes, "run" or "worker" gets a signal."""
    at = {str(flushes): (whom, int(number)) for flushes, whom, number in signals}
    domains = str(Path(__file__).parent / "domains")
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, domains, "run", "plan.toml", *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "package"), "SIGNALS": json.dumps(at)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_interruptible,
    )


def _interruptible():
    """Undo an ignored SIGINT, which a child inherits where the tests run as a background job."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(process):
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors


def state(folder):
    """All that a run leaves but its report, byte by byte."""
    names = [path for path in folder.rglob("*") if path.is_file() and path.name != "report.html"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def kill_and_continue(tmp_path, kills, rng, *more):
    """Kill a run ``kills`` times, while it starts, while it saves a block or between two of them."""
    for _ in range(kills):
        at = [(rng.randrange(1, 20), "run", signal.SIGKILL)]
        process = start(tmp_path, "--out", "killed", *more, signals=at)
        process.wait(PATIENCE)  # its workers may keep the pipe open for longer
        process.stderr.close()
        assert process.returncode == -signal.SIGKILL
    finish(start(tmp_path, "--out", "killed", *more))


def check(tmp_path, whole, kills, rng, *more):
    (tmp_path / "plan.toml").write_text(PLAN)
    kill_and_continue(tmp_path, kills, rng, *more)
    assert state(tmp_path / "killed") == whole


def test_a_killed_run_continues_to_the_same_bytes(tmp_path, whole):
    check(tmp_path, whole, 2, random.Random(1))


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("kills", [4, 12])
def test_a_run_killed_many_times_continues_to_the_same_bytes(tmp_path, whole, workers, kills):
    check(tmp_path, whole, kills, random.Random(int(workers)), "--workers", workers)


def test_a_killed_worker_is_replaced(tmp_path, whole):
    (tmp_path / "plan.toml").write_text(PLAN)
    kills = [(flushes, "worker", signal.SIGKILL) for flushes in (FIRST_BLOCK, FIRST_BLOCK + 41)]
    finish(start(tmp_path, "--out", "out", "--workers", "2", signals=kills))
    assert state(tmp_path / "out") == whole


@pytest.mark.nightly
def test_a_worker_killed_again_and_again_stops_the_run(tmp_path):
    """Where the cause is gone, the run goes on and ends as if nothing had been."""
    (tmp_path / "mine.py").write_text(
        "import os, pathlib, signal\n"
        "MAIN = os.getpid()\n"
        f"CAUSE = pathlib.Path({str(tmp_path / 'cause')!r})\n"
        "def release(dataset, rng):\n"
        "    if os.getpid() != MAIN and CAUSE.exists():\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return dataset + rng.laplace()\n"
    )
    (tmp_path / "plan.toml").write_text(
        "seed = 1\n[[audit]]\nname = 'own'\ndomain = 'blackbox'\nrounds = 200\nblock = 50\n"
        "challenger = { release = 'mine:release', pair = [0.0, 1.0], epsilon = 2.0 }\n"
        "attacks = [{ name = 'learned_event', shadows = 200 }]\n"
    )
    finish(start(tmp_path, "--out", "whole"))
    (tmp_path / "cause").touch()
    process = start(tmp_path, "--out", "out", "--workers", "2")
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    # joblib may mention, in two lines for each, what the killed process left behind
    said = re.sub(
        r"^\S*resource_tracker\.py:\d+: UserWarning: resource_tracker: .*\n  warnings\.warn\(.*\n",
        "",
        errors,
        flags=re.MULTILINE,
    )
    assert said == (
        "leakgauge: audit 'own': a worker process was killed 3 times in a row, perhaps because memory ran "
        "out; use fewer workers; finished blocks are kept: continue with: "
        "leakgauge run plan.toml --out out\n"
    )
    (tmp_path / "cause").unlink()
    finish(start(tmp_path, "--out", "out"))
    assert state(tmp_path / "out") == state(tmp_path / "whole")


def test_a_second_run_into_the_same_folder_is_refused(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    first = start(tmp_path, "--out", "both", signals=[(FIRST_BLOCK, "run", signal.SIGSTOP)])
    os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WNOWAIT)  # it keeps the folder until it may go on
    second = start(tmp_path, "--out", "both")
    _, errors = second.communicate(timeout=PATIENCE)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert errors.startswith("leakgauge: another run is writing to both")
    assert errors.count("\n") == 1
    finish(first)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_run_that_is_asked_to_end_says_how_to_continue(tmp_path, number, code, word):
    (tmp_path / "plan.toml").write_text(PLAN)
    process = start(tmp_path, "--out", "out", signals=[(FIRST_BLOCK, "run", number)])
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert errors == (
        f"leakgauge: {word}; finished blocks are kept; continue with: leakgauge run plan.toml --out out\n"
    )
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["seed"] == 7


@pytest.mark.nightly
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
    _, errors = process.communicate(timeout=PATIENCE)
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
