"""Audits of real services, started here: SmartNoise SQL and PostgreSQL, with the code of the documentation.

They are nightly, and skipped with the reason where a library or PostgreSQL cannot be installed or started.
Set LEAKGAUGE_SERVICES_PYTHON to the Python of an environment that has ``LIBRARIES`` to build none.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

pytestmark = pytest.mark.nightly
DOCS = Path(__file__).parent.parent / "docs"
LIBRARIES = ("smartnoise-sql", "psycopg[binary]", "fastapi", "uvicorn")
N_PEOPLE = 120


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of an environment with the libraries of the services."""
    if given := os.environ.get("LEAKGAUGE_SERVICES_PYTHON"):
        return given
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
    pip = [folder / "bin" / "pip", "install", "-q", *LIBRARIES]
    done = subprocess.run(pip, check=False, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        pytest.skip(f"pip install {' '.join(LIBRARIES)}: {done.stderr.strip().splitlines()[-1]}")
    return str(folder / "bin" / "python")


def blocks(page, language):
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@contextmanager
def served(python, module, folder, **environment) -> Iterator[str]:
    """Serve an application on a free port of this machine; give its address."""
    command = [python, "-m", "uvicorn", f"{module}:app", "--host", "127.0.0.1", "--port", "0"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    log = folder / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, cwd=folder, env={**clean, **environment}, stderr=file, stdout=subprocess.DEVNULL
        )
    try:
        for _ in range(2400):
            if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text()):
                break
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(log.read_text())
        yield found[1]
    finally:
        process.terminate()
        process.wait(120)


def audit(folder, plan, changes):
    """Run a plan with some of its text replaced; return the exit code and verdicts.json."""
    for said, instead in changes.items():
        assert plan.count(said) == 1, said
        plan = plan.replace(said, instead)
    (folder / "plan.toml").write_text(plan)
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    command = [Path(sys.executable).with_name("leakgauge"), "run", "plan.toml", "--out", str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
    file = out / "verdicts.json"
    assert file.exists(), done.stderr
    return done.returncode, json.loads(file.read_text())["verdicts"], out


# -- SmartNoise SQL ------------------------------------------------------------------------------------


@pytest.fixture
def smartnoise(python, tmp_path):
    rows = "\n".join(f"{i},{20 + i % 60}" for i in range(N_PEOPLE))
    (tmp_path / "records.csv").write_text(f"id,age\n{rows}\n")
    (tmp_path / "shim.py").write_text(blocks("shims.md", "python")[0])
    with served(python, "shim", tmp_path) as address:
        yield tmp_path, {"http://127.0.0.1:8701": address, "rate = 100.0": "rate = 10000.0"}


def test_counts_of_smartnoise(smartnoise):
    """The page says: the best attack on ten counts is right 89.7 % of the time."""
    folder, changes = smartnoise
    plan = blocks("shims.md", "toml")[0]
    code, (verdict,), out = audit(folder, plan, changes | {"rounds = 400": "rounds = 150"})
    assert (code, verdict["finding"], verdict["about"]) == (3, "not violated", "mechanism")
    assert verdict["instrument"]["control"]["status"] == "passed"
    right = 0
    for file in (out / "audits").rglob("block-*.npz"):
        with np.load(file) as block:
            right += int(((block["scores"] >= 0) == block["members"]).sum())
    assert stats.binomtest(right, 150, 0.897).pvalue > 1e-6


def test_sums_of_smartnoise(smartnoise):
    """Values are clipped to 1000 by SmartNoise, so that one person changes a sum by at most 1000."""
    folder, changes = smartnoise
    _, (verdict,), _ = audit(
        folder,
        blocks("shims.md", "toml")[0],
        changes
        | {
            "rounds = 400": "rounds = 60",
            "queries = 10": "queries = 2",
            'cache = "none"': 'cache = "none"\nquery = { kind = "sum", column = "age", bound = 1000.0 }',
            'table = "main.records"': 'table = "main.records"\nsums = "plain"\ncontrol = "none"',
        },
    )
    assert verdict["rounds"] == 60
    assert verdict["spent"]["obtained"]["mean"] == 2.0


# -- PostgreSQL ----------------------------------------------------------------------------------------


def _programs():
    """The folder with PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    which = shutil.which("initdb")
    if not found and which is None:
        pytest.skip("PostgreSQL is not installed; on Debian: apt install postgresql")
    return found[-1].parent if found else Path(str(which)).resolve().parent


@pytest.fixture(scope="module")
def database():
    """A cluster of its own in a folder of its own, reached by a socket in it; never over the network."""
    programs = _programs()
    user = {"user": "postgres"} if os.geteuid() == 0 else {}  # PostgreSQL refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if user:
        shutil.chown(folder, **user)
    folder.chmod(0o755)

    def run(program, *arguments):
        command = [programs / program, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **user)
        return done.returncode, done.stderr.strip()

    code, said = run("initdb", "-D", folder / "data", "-U", "leakgauge", "-A", "trust", "--no-sync")
    if code != 0:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"initdb: {said.splitlines()[-1]}")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    code, said = run(
        "pg_ctl", "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "-t", "120", "start"
    )
    try:
        if code != 0:
            pytest.skip(f"pg_ctl start: {said.splitlines()[-1]}")
        psql = [programs / "psql", "-h", folder, "-U", "leakgauge", "-d", "postgres", "-v", "ON_ERROR_STOP=1"]
        make = (
            "CREATE TABLE people (id bigint PRIMARY KEY, age int);"
            f"INSERT INTO people SELECT i, 20 + i % 60 FROM generate_series(0, {N_PEOPLE - 1}) AS i;"
            "CREATE ROLE reader LOGIN; GRANT SELECT ON people TO reader;"
        )
        subprocess.run([*psql, "-c", make], check=True, capture_output=True, cwd=folder)
        yield f"host={folder} user=reader dbname=postgres"
    finally:
        run("pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


BREAK = {
    "answers on": ("len(answers) >= ANSWERS", "False"),
    "three too many": ("len(answers) >= ANSWERS", "len(answers) >= ANSWERS + 3"),
    "redraws for free": ("if where not in answers:", "if True:"),
    "no noise": ("noise = draw.expovariate(EPSILON) - draw.expovariate(EPSILON)", "noise = 0.0"),
    "half the noise": (
        "noise = draw.expovariate(EPSILON) - draw.expovariate(EPSILON)",
        "noise = draw.expovariate(2 * EPSILON) - draw.expovariate(2 * EPSILON)",
    ),
    "small counts refused": (
        "        noise = draw",
        '        if true < 2:\n            return JSONResponse({"refused": True}, 403)\n        noise = draw',
    ),
    "errors with the target": (
        "        noise = draw",
        '        if "17" in where and 17 not in absent and draw.random() < 0.5: 1 / 0\n        noise = draw',
    ),
    "noise by question": (
        "noise = draw.expovariate(EPSILON)",
        "draw = random.Random(where)\n        noise = draw.expovariate(EPSILON)",
    ),
}

MORE = {  # what a plan says else
    "no noise": {"block = 50": "metrics = { confidence = 0.999 }"},  # blocks of the default size
    # a promise of 2.5 allows 92 % of right guesses: errors must be right in some 120 counted rounds
    "errors with the target": {"rounds = 200": "rounds = 300"},
}


@contextmanager
def counts(python, database, folder, change=None):
    """The service of the page, perhaps with a change, and what a plan must say of it."""
    (code,) = blocks("postgresql.md", "python")
    if change is not None:
        assert code.count(change[0]) == 1
        code = code.replace(*change)
    (folder / "counts.py").write_text(code)
    rows = "\n".join(f"{i},{20 + i % 60}" for i in range(N_PEOPLE))
    (folder / "people.csv").write_text(f"id,age\n{rows}\n")
    with served(python, "counts", folder, DATABASE=database) as address:
        yield {
            "http://127.0.0.1:8702": address,
            "rate = 1000.0": "rate = 100000.0",
            "block = 50": "block = 50\nmetrics = { confidence = 0.999 }",
        }


def test_correct_service_on_postgresql(python, database, tmp_path):
    (plan,) = blocks("postgresql.md", "toml")
    with counts(python, database, tmp_path) as changes:
        code, verdicts, _ = audit(tmp_path, plan, changes)
    assert code == 0
    assert {verdict["finding"] for verdict in verdicts} == {"not violated"}
    assert {verdict["instrument"]["control"]["status"] for verdict in verdicts} == {"passed"}
    split = next(verdict for verdict in verdicts if verdict["attack"] == "split_likelihood")
    assert split["spent"]["reported"]["most"] == split["spent"]["obtained"]["most"] == 2.5


@pytest.mark.parametrize("way", BREAK)
def test_broken_service_on_postgresql_is_found(python, database, tmp_path, way):
    (plan,) = blocks("postgresql.md", "toml")
    with counts(python, database, tmp_path, BREAK[way]) as changes:
        code, verdicts, _ = audit(tmp_path, plan, changes | MORE.get(way, {}))
    assert code == 1, [(verdict["label"], verdict["finding"]) for verdict in verdicts]
    assert "violated" in {verdict["finding"] for verdict in verdicts}


def test_service_may_only_read(python, database, tmp_path):
    """PostgreSQL itself refuses what is more than a question."""
    with counts(python, database, tmp_path) as changes:
        address = changes["http://127.0.0.1:8702"]

        def send(path, body):
            request = urllib.request.Request(
                address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)

        name = send("/sessions", {"absent": []})["session"]
        with pytest.raises(urllib.error.HTTPError, match="500"):
            send(f"/sessions/{name}/count", {"where": "1 = 1); DELETE FROM people WHERE (1 = 1"})
        assert abs(send(f"/sessions/{name}/count", {"where": "TRUE"})["answer"] - N_PEOPLE) < 200
