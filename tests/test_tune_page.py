"""The page on tune shows what the command prints, and names what there is."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from leakgauge import catalog
from leakgauge.cli.main import main
from leakgauge.limits import Limits
from leakgauge.parameter_search.assessment import RiskAssessor
from leakgauge.plan import read_plan

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tune.md").read_text()


def block(language):
    (first, *_) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return first


def test_every_key_that_can_be_tuned_is_on_the_page():
    for domain in catalog.all_domains():
        for tunable in domain.tunable:
            assert f"`{tunable.key}`" in PAGE, tunable.key


@pytest.fixture(scope="module")
def assessor():
    plan = read_plan(ROOT / "examples" / "city-by-hour" / "plan.toml")
    audit = replace(plan.audits[0], name="city-by-hour")
    plan = replace(plan, audits=(audit,), limits=Limits(metrics={"accuracy": 0.6}))
    return RiskAssessor(plan=plan, audit=audit, confidence=0.95, engine=None)


def test_the_epsilon_of_the_example_is_the_largest_below_the_limit(assessor):
    under, over = (assessor.for_any_attacker({"mechanism.epsilon": one}) for one in (0.0833, 0.0834))
    assert "Largest epsilon confirmed under your limit: 0.0833; a count is off by 6.30 on average." in PAGE
    assert under.excess < 0 < over.excess
    assert under.utility["mean_absolute_error"] == pytest.approx(6.30, abs=0.01)


def test_the_computed_epsilon_of_the_example_is_the_largest_below_the_limit(assessor):
    under, over = (assessor.for_these_attackers({"mechanism.epsilon": one}) for one in (0.113, 0.114))
    assert "up to epsilon = 0.113." in " ".join(PAGE.split())
    assert under.excess < 0 < over.excess


@pytest.mark.nightly
def test_the_command_prints_what_the_page_shows(monkeypatch, tmp_path, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(block("bash"))[1:]) == 0
    assert capsys.readouterr().out.split() == block("text").split()
