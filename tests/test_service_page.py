"""The page on auditing a running service: its plan works, it names what a plan may say."""

import json
import re
import tomllib
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from math import exp
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from domains.queries.service.running_service import TOKEN, served
from leakgauge import api
from leakgauge.cli.main import main, parser
from leakgauge.domains.queries import conformance
from leakgauge.domains.queries.challenger import build
from leakgauge.domains.queries.oracle import MANY_ROUNDS, NOISE_SCALES, OracleRules
from leakgauge.domains.queries.plan_tables import SERVICE_KEYS, read_challenger_table
from leakgauge.domains.queries.remote import auditor_questions, request_templates
from leakgauge.domains.queries.remote.plan_tables import (
    AskRequest,
    CloseRequest,
    OpenRequest,
    QueriesServiceTable,
    RefusalRule,
)
from leakgauge.domains.queries.service import connections, request_limits, rounds
from leakgauge.domains.queries.service.rounds import service_rounds
from leakgauge.domains.queries.side_channels import NOTICEABLE_TIME
from leakgauge.domains.queries.transcript import Outcome
from leakgauge.mechanisms import geometric, laplace

PAGE = (Path(__file__).parent.parent / "docs" / "service.md").read_text()
PLAN, OWN = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.nightly
def test_plan_on_page_is_served_and_audited(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    monkeypatch.setenv("LEAKGAUGE_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    (audit,) = tomllib.loads(PLAN)["audit"]
    here = {key: value for key, value in audit["challenger"].items() if key not in SERVICE_KEYS}
    challenger = build(
        data=audit["data"], challenger=here, mechanism=audit["mechanism"], folder=tmp_path, seed=20240501
    )
    with served(service_rounds(challenger)) as url:
        few = PLAN.replace("http://127.0.0.1:8700", url).replace("rounds = 200", "rounds = 20")
        (tmp_path / "plan.toml").write_text(few)
        with redirect_stdout(
            StringIO()
        ) as printed:  # not capsys: the server's log would keep its closed file
            assert main(["run", "plan.toml"]) == 1  # some session answers for more than the stated promise
    found = json.loads((tmp_path / "runs" / tmp_path.name / "verdicts.json").read_text())["verdicts"]
    right = {verdict["attack"]: verdict["metrics"]["accuracy_own"]["value"] for verdict in found}
    assert right["refusal"] == 1.0
    assert right["split_likelihood"] < 1.0
    shown, _ = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert " ".join(shown.split()) in " ".join(printed.getvalue().split())


def test_user_service_on_page_is_read():
    setting = read_challenger_table(tomllib.loads(OWN.replace("[audit.", "["))["challenger"])
    service = setting.service
    assert (service.open.round, service.asking.answer) == ("session.id", "rows.0.0")
    assert (service.refused.status, service.refused.equals) == (402, "budget")
    assert service.asking.places == {"round", "sql", "request"}


@pytest.mark.parametrize("table", [QueriesServiceTable, OpenRequest, AskRequest, CloseRequest, RefusalRule])
def test_keys_are_documented(table):
    for key in fields(table):
        assert re.search(rf"^\|[^|]*`{key.name}`|`{key.name}`.*\|", PAGE, re.MULTILINE), key.name


def test_placeholders_are_documented():
    known = (
        request_templates.TABLES
        | request_templates.ROUND
        | request_templates.QUESTION
        | request_templates.REQUEST
        | request_templates.TOKEN
    )
    rows = re.findall(r"^\| ((?:`\{\w+\}`(?:, )?)+) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"\w+", row)}
    assert named == set(known)


def test_defaults_match_page():
    service = QueriesServiceTable(url="http://127.0.0.1:8700")
    for key in ("rate", "total", "connections", "timeout", "tries"):
        (said,) = re.findall(rf"^\| `{key}` \|.*\| (\d+) \|$", PAGE, re.MULTILINE)
        assert float(said) == getattr(service, key), key


def test_command_options_are_documented():
    (command,) = (action for action in parser()._actions if action.choices)
    options = {name for action in command.choices["serve-oracle"]._actions for name in action.option_strings}
    for option in options - {"-h", "--help"}:
        assert f"`{option}" in PAGE


def test_sessions_of_the_auditor_are_as_many_as_the_page_says():
    words = " ".join(PAGE.split())
    for name, said in {
        laplace.Mechanism(epsilon=1.0): "for every {} rounds of a block (at most {} of each)",
        geometric.Mechanism(epsilon=1.0): "of ε = 1 a session of each kind for every {} rounds (at most {})",
        geometric.Mechanism(epsilon=2.0): "of ε = 2 for every {} (at most {})",
        geometric.Mechanism(epsilon=4.0): "of ε = 4 for every {} (at most {})",
    }.items():
        every = auditor_questions.rounds_per_pair(OracleRules(noise=name))
        assert said.format(every, auditor_questions.n_pair_sessions(10**6, every)) in words


def test_limits_on_page_are_those_of_the_service():
    words = " ".join(PAGE.split())
    for said in (
        f"413 for more than {request_limits.LARGEST_BODY // 10**6} MB",
        f"more than {request_limits.LONGEST_PREDICATE:,} characters or {request_limits.MOST_SYMBOLS:,} words",
        f"closed after {connections.IDLE_SECONDS:g} seconds without a complete request",
        f"whose body takes more than {request_limits.BODY_SECONDS:g} seconds",
        f"Of more than {rounds.MOST_OPEN:,} open rounds",
        f"at least {MANY_ROUNDS} rounds of a block must agree",
        f"at most {auditor_questions.MOST_QUESTIONS} of each",
        f"differ by {NOISE_SCALES:g} scales",
        f"Times count from {1 / (1 + exp(-NOTICEABLE_TIME)):.0%}".replace("%", " %") + " of rounds on",
    ):
        assert said in words, said


def test_message_that_nothing_was_answered_is_that_of_an_audit():
    shown = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    n = int(re.search(r"all (\d+) questions", shown)[1])
    said = conformance._unanswered(SimpleNamespace(outcomes=np.full((1, n), Outcome.REFUSED)))
    assert said in " ".join(shown.split())


def test_answers_that_show_one_exact_answer_in_ten():
    """Of whole-number noise, at an error of 1e-4 as one of five tests at confidence 0.999 has."""
    said = re.search(r"in some ([\d,]+) answers at ε = 2, and ([\d,]+) at ε = 4", PAGE)
    for epsilon, number in zip((2.0, 4.0), said.groups(), strict=True):
        n, zero = int(number.replace(",", "")), np.tanh(epsilon / 2)
        for answers, enough in ((n, True), (0.85 * n, False)):
            least = binom.isf(1e-4, int(answers), zero)
            assert (binom.sf(least, int(answers), 0.9 * zero + 0.1) >= 0.9) == enough
