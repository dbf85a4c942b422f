"""The shims of the documentation run, and can be audited over a real connection.

SmartNoise SQL itself is not run here: it wants an older OpenDP than we do, and an environment to itself. A
stand-in takes its place: a module ``snsql`` that has what the shim calls, and does what version 1.0.10 was
seen to do (Laplace noise, the fraction cut off). So these tests show that page, shim, plan and adapter fit
one another. They cannot show that SmartNoise SQL has not changed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "shims.md").read_text()

STAND_IN = '''
"""What the shim uses of SmartNoise SQL."""
import random


class Privacy:
    def __init__(self, *, epsilon, delta):
        self.epsilon = epsilon


class Reader:
    def __init__(self, connection, privacy):
        self.connection, self.privacy = connection, privacy

    def execute(self, sql):
        ((count,),) = self.connection.execute(sql).fetchall()
        noise = random.expovariate(self.privacy.epsilon) - random.expovariate(self.privacy.epsilon)
        return [["???"], (int(count + noise),)]


def from_connection(connection, *, engine, metadata, privacy):
    assert engine == "sqlite"
    table = metadata[""]["main"]["records"]
    assert table["row_privacy"] and not table["censor_dims"] and not table["clamp_counts"]
    return Reader(connection, privacy)
'''

FUNCTION = """
def answer(world, sql):
    return {"with": 2, "without": 1}[world] + len(sql) / 1000
"""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


SMARTNOISE, ANYTHING = blocks("python")


@pytest.fixture
def folder(tmp_path):
    rows = "\n".join(f"{i},{20 + i % 60}" for i in range(100))
    (tmp_path / "records.csv").write_text(f"id,age\n{rows}\n")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "snsql.py").write_text(STAND_IN)
    (tmp_path / "modules" / "service.py").write_text(FUNCTION)
    return tmp_path


@contextmanager
def served(code, folder):
    """Serve a shim in a process of its own, on a port that is free."""
    (folder / "shim.py").write_text(code)
    command = [sys.executable, "-m", "uvicorn", "shim:app", "--host", "127.0.0.1", "--port", "0"]
    where = {**os.environ, "PYTHONPATH": str(folder / "modules"), "PYTHONUNBUFFERED": "1"}
    log = folder / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, env=where, stderr=file, stdout=subprocess.DEVNULL)
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(120)


def _address(process, log):
    for _ in range(2400):
        if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text()):
            return found[1]
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(log.read_text())


def ask(address, world, sql):
    body = json.dumps({"world": world, "sql": sql}).encode()
    with urlopen(Request(f"{address}/ask", body, {"Content-Type": "application/json"}), timeout=120) as reply:
        return json.load(reply)["answer"]


@pytest.mark.nightly
def test_plan_on_page_audits_the_smartnoise_shim(folder):
    (plan,) = blocks("toml")
    with served(SMARTNOISE, folder) as address:
        everybody = 'SELECT COUNT(*) FROM main.records WHERE "age" < 200'
        assert abs(ask(address, "with", everybody) - 100) < 30  # noise of scale 1
        for said, instead in {
            "http://127.0.0.1:8701": address,
            "rounds = 400": "rounds = 150",
            "rate = 100.0": "rate = 10000.0",
        }.items():
            assert plan.count(said) == 1
            plan = plan.replace(said, instead)
        (folder / "plan.toml").write_text(plan)
        script = Path(sys.executable).with_name("leakgauge")
        done = subprocess.run(
            [script, "run", "plan.toml", "--out", "run", "--json"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 3, done.stderr  # as the page says: the noise is not as stated
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert (verdict["finding"], verdict["about"]) == ("not violated", "mechanism")
    (file,) = (folder / "run" / "audits").rglob("block-*.npz")
    with np.load(file) as block:
        right = int(((block["scores"] >= 0) == block["members"]).sum())
    assert stats.binomtest(right, 150, 0.897).pvalue > 1e-6
    shutil.rmtree(folder / "run")


def test_short_shim_serves_any_function(folder):
    with served(ANYTHING, folder) as address:
        assert ask(address, "with", "x" * 100) == pytest.approx(2.1)
        assert ask(address, "without", "x" * 100) == pytest.approx(1.1)


def test_request_and_reply_on_page_are_those_of_the_shim_and_the_plan(folder):
    (shown,) = blocks("text")
    request, reply = (json.loads(text) for text in re.findall(r"\{.*\}", shown))
    (plan,) = blocks("toml")
    (table,) = re.findall(r'^table = "(.*)"', plan, re.MULTILINE)
    (template,) = re.findall(r"^ask = (.*)", plan, re.MULTILINE)
    assert f"POST {tomllib.loads(f'ask = {template}')['ask']['path']} " in shown
    assert request.keys() == tomllib.loads(f"ask = {template}")["ask"]["json"].keys()
    assert f" FROM {table} WHERE " in request["sql"]
    with served(SMARTNOISE, folder) as address:
        body = json.dumps(request).encode()
        sent = Request(f"{address}/ask", body, {"Content-Type": "application/json"})
        with urlopen(sent, timeout=120) as answer:
            said = json.load(answer)
    assert said.keys() == reply.keys()
    assert {2 * number % 2 for number in (said["answer"], reply["answer"])} <= {
        0,
        1,
    }  # halves, as on the page


def test_stated_successes_match_truncated_laplace_noise():
    rng, n = np.random.default_rng(1), 40_000
    members = rng.random(n) < 0.5
    exact = 1 + members[:, None] + rng.laplace(size=(n, 10))
    cut = np.trunc(exact)
    middle = cut + np.sign(cut) / 2

    def success(answers):
        """Of a sum of answers about one known record, clipped to what lies between the worlds."""
        return 100 * np.mean((np.clip(answers - 1, 0, 1).sum(axis=1) >= 5) == members)

    def likelihood(counts, true):
        low = np.where(counts > 0, counts, counts - 1)
        high = np.where(counts < 0, counts, counts + 1)
        return np.log(stats.laplace.cdf(high - true) - stats.laplace.cdf(low - true)).sum(axis=1)

    best = 100 * np.mean((likelihood(cut, 2) >= likelihood(cut, 1)) == members)
    for value, stated in {
        success(exact): "91.7",
        success(middle): "89.7",
        best: "89.7",
        success(cut): "80.0",
    }.items():
        assert abs(value - float(stated)) < 0.6  # four standard deviations
        assert f"{stated}%" in PAGE
