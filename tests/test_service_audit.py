"""An audit of a service over HTTP, from the outside: faults, kills and restarts change no verdict."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from domains.queries.remote.faulty_service import drop, reply
from leakgauge import api
from leakgauge.cli.main import main
from leakgauge.runner import play_block
from leakgauge.runner.block_store import BlockStore
from leakgauge.theory import query_splitting
from service_relay import running_relay

PLAN = """
seed = 5
[[audit]]
name = "ours"
domain = "queries"
rounds = 100
block = 10
data = { records = 60 }
mechanism = { name = "laplace", epsilon = 0.25 }
metrics = { confidence = 0.9999 }
attacks = [{ name = "split_likelihood", queries = 4 }, { name = "refusal", queries = 5 }]
[audit.challenger]
budget = 1.0
accountant = "%s"
own_service = true
[audit.challenger.service]
url = "http://127.0.0.1:%d"
token = "LEAKGAUGE_TOKEN"
control = "none"
rate = 5000.0
timeout = 60.0
"""
TOKEN = "the-token-of-these-tests"


@pytest.fixture(autouse=True)
def _ours(monkeypatch, tmp_path):
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    monkeypatch.setenv("LEAKGAUGE_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


@pytest.fixture
def serve(tmp_path):
    """Start the service of a plan in a process of its own; it ends with the test at the latest."""
    started = []

    def start(port, *more, token=TOKEN):
        script = Path(sys.executable).with_name("leakgauge")
        environment = {name: value for name, value in os.environ.items() if name != "LEAKGAUGE_TOKEN"}
        process = subprocess.Popen(
            [script, "serve-oracle", "plan.toml", "--port", str(port), *more],
            env=environment | ({} if token is None else {"LEAKGAUGE_TOKEN": token}),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def write(tmp_path, port, accountant="sequential", **changes):
    text = PLAN % (accountant, port)
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "plan.toml").write_text(text)


def blocks(folder):
    return {str(path): path.read_bytes() for path in Path(folder).rglob("block-*.npz")}


def verdicts(folder):
    found = json.loads((Path(folder) / "verdicts.json").read_text())["verdicts"]
    return {verdict["attack"]: verdict for verdict in found}


def require_right(folder):
    """The best attack on four answers is right as often as theory says, and refusals tell nothing."""
    found = verdicts(folder)
    accuracy = found["split_likelihood"]["metrics"]["accuracy"]
    assert accuracy["low"] < query_splitting.optimum_laplace(4, 0.25)[0] < accuracy["high"]
    assert (found["split_likelihood"]["rounds"], found["refusal"]["rounds"]) == (100, 100)
    assert found["refusal"]["metrics"]["auc"]["value"] == 0.5
    assert all(verdict["finding"] == "not violated" for verdict in found.values())


def test_server_prints_address_and_stops_on_signal(serve, port, tmp_path):
    write(tmp_path, port)
    process = serve(0, token=None)
    url = re.search(r"audit 'ours' is served at (http://127\.0\.0\.1:\d+);", process.stderr.readline())[1]
    token = process.stderr.readline().partition("export LEAKGAUGE_TOKEN=")[2].strip()
    assert len(token) >= 32
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/rounds", "{}", headers)
    assert connection.getresponse().status == 201
    connection.close()
    process.send_signal(signal.SIGTERM)
    assert (*process.communicate(timeout=120), process.returncode) == ("", "", 0)


@pytest.fixture
def after_saves(monkeypatch):
    """Do something once, when so many files of blocks are saved."""
    save, n_saved = BlockStore.save, [0]

    def wait_for(count, action):
        def save_and_act(*arguments):
            save(*arguments)
            n_saved[0] += 1
            if n_saved[0] == count:
                action()

        monkeypatch.setattr(BlockStore, "save", save_and_act)

    return wait_for


@pytest.mark.nightly
def test_restarted_service_changes_no_verdict(serve, port, tmp_path, capsys, after_saves):
    write(tmp_path, port, tries=("timeout = 60.0", "timeout = 60.0\ntries = 100"))
    first = serve(port)
    first.stderr.readline()

    def kill_and_start_again():
        first.kill()
        first.wait()
        serve(port)  # the audit waits for it

    after_saves(4, kill_and_start_again)
    code = main(["run", "plan.toml", "--out", "runs/one"])
    assert code == 0, capsys.readouterr().err
    assert first.returncode == -signal.SIGKILL
    require_right("runs/one")
    here = PLAN % ("sequential", port)
    (tmp_path / "here.toml").write_text(here[: here.index("own_service")])
    assert main(["run", "here.toml", "--out", "runs/here"]) == 0
    require_right("runs/here")
    for attack, found in verdicts("runs/here").items():
        there = verdicts("runs/one")[attack]
        assert there["bounds"] == found["bounds"]
        assert there["promised"] == found["promised"]
        assert there["metrics"]["accuracy"]["low"] < found["metrics"]["accuracy"]["high"]
        assert found["metrics"]["accuracy"]["low"] < there["metrics"]["accuracy"]["high"]


@pytest.mark.nightly
def test_run_without_service_is_incomplete_and_continues(
    serve, port, tmp_path, capsys, monkeypatch, after_saves
):
    monkeypatch.setattr(play_block, "RETRY_SECONDS", (0.01,))
    write(tmp_path, port, tries=("timeout = 60.0", "timeout = 60.0\ntries = 2"))
    assert main(["run", "plan.toml", "--out", "runs/one"]) == 3  # nobody is there yet
    assert "no connection to http://127.0.0.1" in capsys.readouterr().err
    first = serve(port)
    first.stderr.readline()

    after_saves(6, lambda: (first.kill(), first.wait()))
    assert main(["run", "plan.toml", "--out", "runs/one"]) == 3
    said = capsys.readouterr().err
    assert said.startswith("leakgauge: audit 'ours': rounds ")
    assert "finished blocks are kept: continue with: leakgauge run" in said
    assert said.count("\n") == 1
    kept = blocks("runs/one")
    assert len(kept) == 6
    serve(port).stderr.readline()
    assert main(["run", "plan.toml", "--out", "runs/one"]) == 0
    assert kept.items() <= blocks("runs/one").items()
    require_right("runs/one")
    assert not [
        path for path in Path("runs").rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()
    ]


def test_request_total_stops_run_and_same_command_continues(serve, port, tmp_path, capsys, monkeypatch):
    few = ("rounds = 100", "rounds = 120")
    write(tmp_path, port, total=("timeout = 60.0", "timeout = 60.0\ntotal = 1100"), few=few)
    service = serve(port, "--json")
    told = {"url": f"http://127.0.0.1:{port}", "audit": "ours", "token": None}
    assert json.loads(service.stderr.readline()) == told

    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("LEAKGAUGE_TOKEN", "another-token")
        assert main(["run", "plan.toml"]) == 2
    assert "status 401: the token is missing or wrong; check service.token" in capsys.readouterr().err
    assert not Path("runs").exists()

    assert main(["run", "plan.toml"]) == 3
    assert "service.total = 1100 requests were sent; run the same command again" in capsys.readouterr().err
    assert 2 <= len(blocks("runs")) < 24
    assert main(["run", "plan.toml"]) == 0
    assert len(blocks("runs")) == 24
    service.send_signal(signal.SIGINT)
    assert (*service.communicate(timeout=120), service.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--workers", "2"], 2, "at most 1 local worker"),
        (["--engine", "dask"], 2, "at most 1 local worker"),
    ],
)
def test_rejects_several_workers(port, tmp_path, capsys, more, code, said):
    write(tmp_path, port)
    assert main(["run", "plan.toml", *more]) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not Path("runs").exists()


# -- a bad line between the two ---------------------------------------------------------------------------


FAULTS = ["busy", "drop before", "drop after", "half", 500, 502, 504]


class Faults:
    """Spoil one request in ten: before or after it was served."""

    def __init__(self, seed):
        self.rng, self.spoilt, self.lock = random.Random(seed), 0, threading.Lock()
        self.drawn = {}

    def before(self, handler, content):
        with self.lock:
            fault = self.rng.choice(FAULTS) if self.rng.random() < 0.1 else None
            self.spoilt += fault is not None
        self.drawn[threading.get_ident()] = fault  # a thread serves one request at a time
        if fault == "busy":
            return reply(handler, 503, b"", {"Retry-After": "0"})
        return drop(handler) if fault == "drop before" else content

    def after(self, handler, status, content):
        match self.drawn.pop(threading.get_ident()):
            case "drop after":
                return drop(handler)
            case "half":
                return reply(handler, status, content[: len(content) // 2])
            case int(fault):
                return reply(handler, fault, b"")
        return reply(handler, status, content)


def test_transport_faults_are_no_evidence(serve, port, tmp_path, capsys):
    """Under this accountant only members are refused: one charge too many, and a member is refused too soon;
    one fault taken for a refusal, and a non-member is taken for a member."""
    faults = Faults(1)
    one = ('{ name = "split_likelihood", queries = 4 }, ', "")
    with running_relay(f"127.0.0.1:{port}", faults.before, faults.after) as relay:
        write(tmp_path, relay.port, "per_row", few=("rounds = 100", "rounds = 60"), one=one)
        serve(port).stderr.readline()
        code = main(["run", "plan.toml", "--out", "runs/line"])
    assert code == 3, capsys.readouterr().err  # neither a promise nor a limit
    assert faults.spoilt > 25
    assert verdicts("runs/line")["refusal"]["metrics"]["accuracy"]["value"] == 1.0
    trials = [np.load(path) for path in sorted(Path("runs/line").rglob("refusal*/block-*.npz"))]
    scores, members = (np.concatenate([one[name] for one in trials]) for name in ("scores", "members"))
    np.testing.assert_allclose(np.unique(scores[members]), [1 / 5])  # after four answers of 0.25
    assert np.unique(scores[~members]).tolist() == [-1.0]
