"""The positive control of a service over HTTP: an honest service passes it, a broken one does not."""

import http.client
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from domains.queries.remote.faulty_service import reply
from leakgauge import api
from leakgauge.cli.main import main
from leakgauge.plan import read_plan
from leakgauge.runner.dry_run import dry_run

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


class Line:
    """Stands between audit and service, and may replace the replies to questions."""

    def __init__(self, service, replace=lambda answer: answer, ignores_absent=False):
        self.n_requests, self.lock = 0, threading.Lock()
        line = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def pass_on(self):
                content = self.rfile.read(int(self.headers.get("content-length") or 0))
                with line.lock:
                    line.n_requests += 1
                if self.path == "/rounds" and ignores_absent:
                    content = b'{"absent": []}'
                    del self.headers["content-length"]
                connection = http.client.HTTPConnection(service, timeout=60)
                connection.request(self.command, self.path, content or None, dict(self.headers))
                answer = connection.getresponse()
                status, content = answer.status, answer.read()
                connection.close()
                if self.path.endswith("/ask") and status == 200:
                    with line.lock:
                        replaced = replace(json.loads(content)["answer"])
                    refused = replaced is None
                    body = {"refused": "no"} if refused else {"answer": replaced}
                    status, content = 403 if refused else 200, json.dumps(body).encode()
                reply(self, status, content)

            do_POST = do_DELETE = pass_on  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def audit(service, tmp_path, monkeypatch):
    """Run the plan against the service behind a line; return the exit code, the requests and the verdict."""
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    monkeypatch.setenv("LEAKGAUGE_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)

    def run(*replace, settings="", ignores_absent=False):
        line = Line(service, *replace, ignores_absent=ignores_absent)
        try:
            Path("plan.toml").write_text(PLAN % (line.port, settings))
            code = main(["run", "plan.toml", "--out", "out"])
        finally:
            line.server.shutdown()
            line.server.server_close()
        file = Path("out/verdicts.json")
        verdict = json.loads(file.read_text())["verdicts"][0] if file.exists() else None
        return code, line.n_requests, verdict

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
    assert n_requests == (100 + 40) * (2 + 2)  # questions, and one request to open and to close each round
    Path("policy.toml").write_text("[limits]\naccuracy = 0.98\n")
    main(["judge", "out", "--policy", "policy.toml"])
    (judged,) = json.loads(Path("out/verdicts.json").read_text())["verdicts"]
    assert judged["bounds"]["accuracy"] < 0.7  # by the noise that the plan states: it clears nothing here
    assert judged["risk"]["scope"] == "the attackers tried"
    cost = dry_run(read_plan(Path("plan.toml")))
    assert (cost.work, cost.control_work) == ({"request": n_requests}, {"request": 400})
    assert cost.seconds > n_requests / 5000


@pytest.mark.parametrize("replace", [lambda answer: 7.0, first_answer_kept()], ids=["constant", "cached"])
def test_same_answer_to_every_question_is_untestable(replace, audit):
    code, _, verdict = audit(replace)
    assert code == 3
    assert verdict["finding"] == "untestable"
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
    assert "it refused the first question in all 20 rounds" in said
    assert said.count("\n") == 1
    assert n_requests <= 20 * 3  # one question in each round of a block, opened and closed
    assert not Path("out").exists()


def test_total_too_small_for_the_control(audit):
    """The control would take 400 requests: it is left out and said, and the counted rounds are played."""
    _, n_requests, verdict = audit(settings=", total = 200")
    control = verdict["instrument"]["control"]
    assert control["status"] == "not possible"
    assert "the service's total leaves 200 questions, and its 100 rounds need 400" in control["reason"]
    assert n_requests == 40 * (2 + 2)
