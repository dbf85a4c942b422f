import json
from pathlib import Path
from typing import NamedTuple

import pytest

import leakgauge.domains
from leakgauge import api
from leakgauge.cli.main import main

PLAN = """
seed = 7
[[audit]]
name = "coin"
domain = "coin"
rounds = 200
block = 100
challenger = { promised = 1.0 }
mechanism = { epsilon = 1.0 }
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _coins(monkeypatch, tmp_path):
    """Work in a folder of your own, where plans may name the domain ``coin``."""
    domains = Path(__file__).parents[1] / "runner" / "domains"
    monkeypatch.setattr(leakgauge.domains, "__path__", [*leakgauge.domains.__path__, str(domains)])
    monkeypatch.setattr(api, "call_limited", _call_here)  # another process would not know that domain
    monkeypatch.chdir(tmp_path)


def _call_here(_, function, argument):
    return json.loads(json.dumps(getattr(api, function)(argument), default=str))


@pytest.fixture
def call(capsys):
    """Call the command line in this process."""

    def run(*argv):
        code = main([str(word) for word in argv])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def plan(tmp_path):
    """Write the plan, with some of it replaced or added."""

    def write(*changes, more=""):
        text = PLAN
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "coin.toml").write_text(text + more)
        return "coin.toml"

    return write
