"""A run on a disk that is full goes on when there is space again, and ends as if it never stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DOMAINS = Path(__file__).parent / "domains"
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
# In a mount namespace of its own, so that nothing stays mounted whatever happens.
DRIVER = """
import contextlib, io, json, os, subprocess, sys
from pathlib import Path
import cloudpickle
import leakgauge.domains
leakgauge.domains.__path__.append(sys.argv[1])
from leakgauge.domains.coin import challenger, knowledge
from leakgauge.domains.coin.attacks import peek, sleep
for module in (challenger, knowledge, peek, sleep):
    cloudpickle.register_pickle_by_value(module)
from leakgauge import api
from leakgauge.cli.main import main
api.write_report = lambda *_: None

workers, disk = sys.argv[2], Path("disk")
mount = ["mount", "-t", "tmpfs", "tmpfs", disk]
if subprocess.run([*mount, "-o", "size=128k"], capture_output=True).returncode:
    sys.exit(77)

def run(folder, *more):
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        code = main(["run", "plan.toml", "--out", str(folder), "--json", "--workers", workers, *more])
    return code, errors.getvalue()

def state(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}

print(json.dumps(run(Path("here/whole"))), file=sys.stderr)
for size in ("128k", "256k", "256k"):  # full, full again a few blocks later, and still full
    subprocess.run([*mount[:1], "-o", f"remount,size={size}", disk], check=True)
    print(json.dumps([*run(disk / "out"), sorted(state(disk / "out"))]), file=sys.stderr)
subprocess.run([*mount[:1], "-o", "remount,size=8m", disk], check=True)
print(json.dumps(run(disk / "out")), file=sys.stderr)
print(json.dumps(state(disk / "out") == state(Path("here/whole"))), file=sys.stderr)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["1", "2"])
def test_run_on_a_full_disk_is_continued_when_there_is_space(tmp_path, workers):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "disk").mkdir()
    try:
        done = subprocess.run(
            ["unshare", "--map-root-user", "--mount", sys.executable, "-c", DRIVER, DOMAINS, workers],
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed, which makes a small disk for this test")
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip("this system does not allow the test to mount a small disk")
    assert done.returncode == 0, done.stderr
    whole, *stopped, last, same = [json.loads(line) for line in done.stderr.splitlines()]
    assert whole == [0, ""]
    problem, n_blocks = "cannot be written (No space left on device); free some space", []
    for code, error, files in stopped:
        assert (code, error.count("\n")) == (3, 1), error
        assert problem in error
        assert not [name for name in files if name.endswith(".partial")]
        assert "verdicts.json" not in files
        n_blocks.append(len([name for name in files if "block-" in name]))
    for _, error, _ in stopped[:2]:
        assert error.startswith("leakgauge: audit 'coin': disk/out/audits/coin/")
        assert error.endswith(
            f": {problem}; finished blocks are kept: continue with: leakgauge run plan.toml --out disk/out\n"
        )
    assert 0 < n_blocks[0] < n_blocks[1] == n_blocks[2] < 78
    assert last == [0, ""]
    assert same is True
