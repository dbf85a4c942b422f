from pathlib import Path

import pytest

import leakgauge.domains
from leakgauge.plan import read_plan

DOMAINS = Path(__file__).parent / "domains"


@pytest.fixture(autouse=True)
def _coins(monkeypatch):
    """Let plans name the domain ``coin``."""
    monkeypatch.setattr(leakgauge.domains, "__path__", [*leakgauge.domains.__path__, str(DOMAINS)])


@pytest.fixture
def plan(tmp_path):
    """Write a plan of one audit of a coin and read it; keywords replace or add lines of the audit."""

    def write(*, seed=7, top="", **lines):
        settings = {
            "name": '"coin"',
            "domain": '"coin"',
            "rounds": 100,
            "block": 30,
            "mechanism": "{ epsilon = 1.0 }",
            "challenger": "{ promised = 1.0 }",
        }
        settings |= lines
        text = "\n".join([top, f"seed = {seed}", "[[audit]]", *(f"{k} = {v}" for k, v in settings.items())])
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return read_plan(path)

    return write
