"""The positive control of a service over HTTP: an honest service passes it, a broken one does not."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from domains.queries.remote.faulty_service import reply
from leakgauge import api
from leakgauge.cli.main import main
from leakgauge.domains.queries.remote.auditor_questions import APART, MOST_QUESTIONS, n_pair_sessions
from leakgauge.plan import read_plan
from leakgauge.runner.dry_run import dry_run
from service_relay import running_relay

PLAN = """
seed = 5
[[audit]]
name = "ours"
domain = "queries"
rounds = 40
block = 20
data = { records = 100 }
mechanism = { name = "laplace", epsilon = 0.25 }
attacks = [{ name = "split_likelihood", queries = 2 }]
[audit.challenger]
budget = 0.5
own_service = true
service = { url = "http://127.0.0.1:%d", token = "LEAKGAUGE_TOKEN", rate = 5000.0, timeout = 60.0%s }
"""
TOKEN = "the-token-of-these-tests"
ONCE = 2 * APART + 1  # sessions of the auditor in a run, and how many requests they take at most
MOST_ONCE = 2 * APART * (2 + 2) + 4 * MOST_QUESTIONS
PAIRS = 2 * 2 * n_pair_sessions(20)  # sessions of the auditor in two blocks


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The address of ``serve-oracle`` in a process of its own."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "plan.toml").write_text(PLAN % (1, ""))
    process = subprocess.Popen(
        [Path(sys.executable).with_name("leakgauge"), "serve-oracle", "plan.toml", "--port", "0", "--json"],
        env={**os.environ, "LEAKGAUGE_TOKEN": TOKEN},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield json.loads(process.stderr.readline())["url"].removeprefix("http://")
    process.kill()
    process.communicate()


def changed(replace=lambda answer: answer, ignores_absent=False):
    """What a relay does that may replace the answers, or tell the service to leave out nobody."""
    lock = threading.Lock()

    def before(handler, content):
        return b'{"absent": []}' if handler.path == "/rounds" and ignores_absent else content

    def after(handler, status, content):
        if handler.path.endswith("/ask") and status == 200:
            with lock:
                replaced = replace(json.loads(content)["answer"])
            refused = replaced is None
            body = {"refused": "no"} if refused else {"answer": replaced}
            status, content = 403 if refused else 200, json.dumps(body).encode()
        reply(handler, status, content)

    return before, after


@pytest.fixture
def audit(service, tmp_path, monkeypatch):
    """Run the plan against the service behind a relay; return the exit code, requests and verdict."""
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    monkeypatch.setenv("LEAKGAUGE_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)

    def run(*replace, settings="", ignores_absent=False):
        with running_relay(service, *changed(*replace, ignores_absent=ignores_absent)) as relay:
            Path("plan.toml").write_text(PLAN % (relay.port, settings))
            code = main(["run", "plan.toml", "--out", "out"])
        file = Path("out/verdicts.json")
        verdict = json.loads(file.read_text())["verdicts"][0] if file.exists() else None
        return code, relay.n_requests, verdict

    return run


def first_answer_kept():
    kept = []

    def replace(answer):
        kept.append(answer)
        return kept[0]

    return replace


def test_honest_service_passes(audit):
    _, n_requests, verdict = audit()
    control = verdict["instrument"]["control"]
    assert (control["status"], control["rounds"]) == ("passed", 100)
    assert control["low"] > 0.95
    assert verdict["finding"] != "untestable"
    planned = (100 + 40 + PAIRS) * (2 + 2)  # questions, and one request to open and to close each round
    # one round is asked on, beyond its budget, and others once in a run
    assert planned <= n_requests <= planned + MOST_QUESTIONS + MOST_ONCE
    Path("policy.toml").write_text("[limits]\naccuracy = 0.98\n")
    main(["judge", "out", "--policy", "policy.toml"])
    (judged,) = json.loads(Path("out/verdicts.json").read_text())["verdicts"]
    assert judged["bounds"]["accuracy"] < 0.7  # by the noise that the plan states: it clears nothing here
    assert judged["risk"]["scope"] == "the attackers tried"
    cost = dry_run(read_plan(Path("plan.toml")))
    assert cost.work["session"] == 140 + PAIRS + ONCE
    assert max(n_requests, planned + 2) <= cost.work["request"] <= planned + 2 * MOST_QUESTIONS + MOST_ONCE
    assert cost.control_work == {"request": 400, "session": 100}
    assert cost.starts == 1
    assert cost.seconds > planned / 5000


@pytest.mark.parametrize(
    "replace",
    [pytest.param(lambda answer: 7.0, marks=pytest.mark.nightly), first_answer_kept()],
    ids=["constant", "cached"],
)
def test_same_answer_to_every_question_is_untestable(replace, audit):
    code, _, verdict = audit(replace)
    assert (code, verdict["finding"], verdict["certain"]) == (3, "untestable", False)
    assert verdict["instrument"]["control"]["status"] == "failed"


def test_service_that_leaves_nobody_out_is_untestable(audit):
    """Without this check every attack would be right in half of the rounds, and the release look harmless."""
    code, _, verdict = audit(ignores_absent=True)
    assert (code, verdict["finding"]) == (3, "untestable")
    assert verdict["instrument"]["control"]["status"] == "failed"


def test_control_by_questions_says_what_it_cannot_show(audit):
    """A service that leaves nobody out passes it, so the answer carries a warning."""
    _, _, verdict = audit(settings=', control = "questions"', ignores_absent=True)
    assert verdict["instrument"]["control"]["status"] == "passed"
    (warning,) = json.loads(Path("out/verdicts.json").read_text())["summary"]["warnings"]
    assert "not that the service leaves out a target" in warning


def test_service_that_refuses_everything_is_refused_before_the_first_round(audit, capsys):
    code, n_requests, verdict = audit(lambda answer: None)
    assert (code, verdict) == (2, None)
    said = capsys.readouterr().err
    assert "it gave no number for the first question in any of 20 rounds" in said
    assert said.count("\n") == 1
    assert n_requests <= 20 * 3  # one question in each round of a block, opened and closed
    assert not Path("out").exists()


def test_total_too_small_for_the_control(audit):
    """The control would take 400 requests: it is left out and said, and the counted rounds are played."""
    _, n_requests, verdict = audit(settings=", total = 200")
    control = verdict["instrument"]["control"]
    assert control["status"] == "not possible"
    assert "the service's total leaves 200 questions, and its 100 rounds need 400" in control["reason"]
    planned = (40 + PAIRS) * (2 + 2)
    assert planned <= n_requests <= planned + MOST_QUESTIONS


def test_dry_run_needs_no_token_and_says_how_many_starts_and_sessions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAKGAUGE_TOKEN", raising=False)
    Path("plan.toml").write_text(PLAN % (1, ", total = 450"))  # nobody listens there
    assert main(["run", "plan.toml", "--dry-run"]) == 0
    said = capsys.readouterr().out
    further = int(re.search(r"at most (\d+) of the requests are asked by the auditor", said)[1])
    assert 2 <= further - 4 * PAIRS <= 2 * MOST_QUESTIONS
    assert f"{560 + further} requests, 400 of them for the positive control" in said
    assert f"{140 + PAIRS} sessions, 100 of them for the positive control" in said
    assert (
        "service.total = 450 requests for each start of an audit: start the same command about 2 times"
        in said
    )
    assert main(["run", "plan.toml"]) == 2
    assert "'LEAKGAUGE_TOKEN' holds no token; export it" in capsys.readouterr().err
    assert not Path("runs").exists()
    Path("plan.toml").write_text(PLAN % (1, ""))
    assert main(["run", "plan.toml", "--dry-run"]) == 0
    assert "service.total = 100,000 requests for each start of an audit: one start" in capsys.readouterr().out
