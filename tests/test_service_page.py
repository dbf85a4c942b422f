"""The page on auditing a running service: its plan works, it names what a plan may say."""

import json
import re
import tomllib
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest

from domains.queries.service.running_service import TOKEN, served
from leakgauge import api
from leakgauge.cli.main import main, parser
from leakgauge.domains.queries.challenger import build
from leakgauge.domains.queries.plan_tables import SERVICE_KEYS, read_challenger_table
from leakgauge.domains.queries.remote import request_templates
from leakgauge.domains.queries.remote.plan_tables import (
    AskRequest,
    CloseRequest,
    OpenRequest,
    QueriesServiceTable,
    RefusalRule,
)
from leakgauge.domains.queries.service.rounds import service_rounds

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
