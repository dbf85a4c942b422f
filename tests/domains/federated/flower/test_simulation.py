"""Real simulations: Flower and Ray are started."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.plan import read_plan
from leakgauge.runner.in_memory import judge

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr  # noqa: F401

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[3]

BOTH = """
seed = 3
[[audit]]
name = "here"
domain = "federated"
rounds = 20
data = { rows = 600, features = 64, classes = 4 }
challenger = { targets = 2, batch = 10, clients = 2, engine = "ENGINE" }
mechanism = { name = "bitrand", epsilon = 3.0 }
attacks = ["likelihood_neuron", { name = "likelihood_neuron", form = "ratio", hinges = 3, label = "ratio" }]
"""

OWN = """
import torch
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.train()
def train(message, context):
    data = message.content["data"]
    rows, labels = (torch.from_numpy(data[name].numpy()) for name in ("rows", "labels"))
    weights = message.content["arrays"].to_torch_state_dict()
    (units, features), (classes, neurons) = weights["0.weight"].shape, weights["4.weight"].shape
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    model = torch.nn.Sequential(
        linear(features, units), relu(), linear(units, neurons), relu(), linear(neurons, classes)
    )
    model.load_state_dict(weights)
    torch.nn.functional.cross_entropy(model(rows), labels).backward()
    with torch.no_grad():
        for weight in model.parameters():
            weight -= 0.1 * weight.grad
    return Message(content=RecordDict({"arrays": ArrayRecord(model.state_dict())}), reply_to=message)
"""

LISTENING = """
import sys


def hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        with open("{file}", "a") as file:
            file.write(f"{{arguments}}\\n")


sys.addaudithook(hook)
"""

AUDIT = """
import time
from pathlib import Path

from domains.federated.flower.in_process_clients import block, networks
from leakgauge.domains.federated.flower.engine import read_flower_engine

clients = block(mechanism=None, clients=2)
played = read_flower_engine("mine:app", Path()).start(clients)
here, there = clients.train(networks()), played.train(networks())
print(max(abs(got - 0.1 * due).max() for row, other in zip(there, here) for got, due in zip(row, other)))
print([bool(got.any()) for row in there for got in row] == [bool(due.any()) for row in here for due in row])
print(any(due.any() for row in here for due in row), flush=True)
time.sleep(600)
"""


@pytest.fixture
def short():
    """A folder for temporary files whose name is short enough for sockets."""
    with TemporaryDirectory(prefix="lg", dir="/tmp") as folder:
        yield Path(folder)


def trials(engine, folder):
    file = folder / f"{engine}.toml"
    file.write_text(BOTH.replace("ENGINE", engine))
    plan = read_plan(file)
    game = catalog.prepare_audit(plan.audits[0], plan)
    adversaries = {
        label: Adversary(knowledge, game.attacks[label].study(knowledge, stream(3, Role.STUDY)))
        for label, knowledge in game.knowledges.items()
    }
    return play(game.challenger, adversaries, 3, range(20), 0)


@pytest.mark.nightly  # the next test trains in Flower too, with every change
def test_scores_and_verdicts_match_in_process_game(tmp_path, short, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    here, there = (trials(engine, tmp_path) for engine in ("local", "flower"))
    assert len(here) == 2
    assert not processes(short)
    assert not list(short.iterdir())
    for label, due in here.items():
        got = there[label]
        np.testing.assert_allclose(got.scores, due.scores, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(got.scores > 0, due.scores > 0)  # zero is zero there too
        assert 0 < np.mean(due.scores > 0) < 1
        one, other = (
            judge(each.members, each.scores, rounds=each.rounds, targets=each.targets, epsilon=0.1)
            for each in (due, got)
        )
        assert one.finding == other.finding
        assert one.metrics["epsilon"].low == pytest.approx(other.metrics["epsilon"].low, abs=1e-9)


WHOLE = """
seed = 3
[[audit]]
name = "here"
domain = "federated"
rounds = 40
data = { rows = 600, features = 64, classes = 4 }
challenger = { targets = 1, batch = 10, engine = "flower", gradient_noise = { sigma = 0.15 } }
mechanism = { name = "none" }
attacks = [{ name = "full_gradient", units = 32 }]
"""


@pytest.mark.nightly
def test_whole_noisy_gradients_are_read_in_flower(tmp_path, short, monkeypatch):
    """A separation of 1 / 0.15: an error has a chance of 4e-4 in a game."""
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    (tmp_path / "plan.toml").write_text(WHOLE)
    plan = read_plan(tmp_path / "plan.toml")
    game = catalog.prepare_audit(plan.audits[0], plan)
    ((label, knowledge),) = game.knowledges.items()
    scorer = game.attacks[label].study(knowledge, stream(3, Role.STUDY))
    got = play(game.challenger, {label: Adversary(knowledge, scorer)}, 3, range(40), 0)[label]
    assert np.mean((got.scores >= scorer.reading.threshold) == got.members) >= 0.95
    assert 0.2 < np.mean(got.members) < 0.8
    separation = got.scores[got.members].mean() - got.scores[~got.members].mean()
    assert separation == pytest.approx((1 / 0.15) ** 2, rel=0.15)  # of log-likelihood ratios


def test_user_app_runs_locally_and_leaves_no_process(tmp_path, short):
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(LISTENING.format(file=tmp_path / "asked.txt"))
    (tmp_path / "home").mkdir()
    path = os.pathsep.join((str(tmp_path / "site"), str(TESTS)))
    where = {"HOME": str(tmp_path / "home"), "TMPDIR": str(short), "PYTHONPATH": path}
    with (tmp_path / "stderr.txt").open("w") as said:
        audit = subprocess.Popen(
            [sys.executable, "-c", AUDIT],
            cwd=tmp_path,
            env={**os.environ, **where},
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    with audit:
        assert audit.stdout is not None
        away, same_zeros, some_active = (audit.stdout.readline().strip() for _ in range(3))
        running = processes(short)
        audit.send_signal(signal.SIGKILL)
    assert (tmp_path / "stderr.txt").read_text() == ""
    assert (same_zeros, some_active) == ("True", "True")
    assert float(away) < 1e-6  # a step of 0.1 along the gradient, on weights of single precision
    assert running
    until = time.monotonic() + 300
    while (processes(short) or list(short.iterdir())) and time.monotonic() < until:
        time.sleep(0.2)
    assert not processes(short)
    assert not list(short.iterdir())
    assert not list((tmp_path / "home").iterdir())
    asked = (tmp_path / "asked.txt").read_text().splitlines()
    assert asked
    assert not [line for line in asked if "localhost" not in line and "127.0.0.1" not in line]


def processes(folder):
    """The processes that were told about a folder."""
    told = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            told.append(str(folder).encode() in file.read_bytes())
        except OSError:
            continue
    return sum(told)
