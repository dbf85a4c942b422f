"""The page on tune shows what the command prints, and names what there is."""

import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from leakgauge import catalog
from leakgauge.cli.main import main
from leakgauge.limits import Limits
from leakgauge.parameter_search.assessment import RiskAssessor
from leakgauge.plan import plan_of

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
    plan = plan_of(tomllib.loads(block("toml")))
    plan = replace(plan, limits=Limits(metrics={"accuracy": 0.6}))
    return RiskAssessor(plan=plan, audit=plan.audits[0], confidence=0.95, engine=None)


def test_the_epsilon_of_the_example_is_the_largest_below_the_limit(assessor):
    under, over = (assessor.for_any_attacker({"mechanism.epsilon": one}) for one in (0.0639, 0.064))
    assert "Largest epsilon confirmed under your limit: 0.0639; a count is off by 14.9 on average." in PAGE
    assert under.excess < 0 < over.excess
    assert under.utility["mean_absolute_error"] == pytest.approx(14.9, abs=0.05)


def test_the_computed_epsilon_of_the_example_is_the_largest_below_the_limit(assessor):
    under, over = (assessor.for_these_attackers({"mechanism.epsilon": one}) for one in (0.106, 0.107))
    assert "up to epsilon = 0.106." in " ".join(PAGE.split())
    assert under.excess < 0 < over.excess


@pytest.mark.nightly
def test_the_command_prints_what_the_page_shows(monkeypatch, tmp_path, capsys):
    (tmp_path / "town.toml").write_text(block("toml"))
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(block("bash"))[1:]) == 0
    assert capsys.readouterr().out.split() == block("text").split()
