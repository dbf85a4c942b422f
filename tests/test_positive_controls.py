"""Every attack of every domain passes its positive control on a healthy path, and fails on a broken one."""

from dataclasses import dataclass, replace
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.core.game import NoControl, Reading, Scorer
from leakgauge.plan import Contender
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.positive_control import judge_control, play_control
from remembered_releases import RememberedReleases

GAMES = Path(__file__).parent / "domains"
NOISE = 0.9  # of the protected release; below 1 the oracle of the queries charges existing records only

CONTENDERS = [
    (domain.name, attack)
    for domain in catalog.all_domains()
    for attack in catalog.module_names(domain.attacks_package)
    if catalog.accepted_knowledge(domain.name, attack)[0] not in domain.controls
]
# Attacks that train for long: they are played every night; tests of their own play them with every change.
LONG = {("federated", "planted_layers")} | {
    ("models", name) for name in ("one_threshold", "two_threshold", "trajectory_likelihood")
}
HEALTHY = [pytest.param(one, marks=pytest.mark.nightly) if one in LONG else one for one in CONTENDERS]
FIRST_OF_DOMAINS = list({domain: (domain, attack) for domain, attack in reversed(CONTENDERS)}.values())
# A broken path looks the same to every attack of a domain: with every change, the first and the last of each.
LAST_OF_DOMAINS = list(
    {domain: (domain, attack) for domain, attack in CONTENDERS if (domain, attack) not in LONG}.values()
)
BROKEN = [
    one
    if one in [*FIRST_OF_DOMAINS, *LAST_OF_DOMAINS] and one not in LONG
    else pytest.param(one, marks=pytest.mark.nightly)
    for one in CONTENDERS
]


@dataclass
class Setting:
    """A control and the attacker that plays it."""

    domain: str
    control: Any
    contender: Contender
    played: Any  # the control, or one that makes its releases once for all attacks on it

    def prepare(self, label):
        return catalog.prepare_contenders(self.domain, self.control, [self.contender], 1)

    def play(self, control=None, prepare=None):
        given = self.played if control is None else control
        played = play_control(given, prepare or self.prepare, ["it"], 1, InProcessEngine())
        return judge_control(played["it"])


@pytest.fixture(params=HEALTHY, ids="-".join)
def setting(request, tmp_path):
    domain, attack = request.param
    game = run_path(str(GAMES / domain / "conformance_game.py"))
    tables = game["tables"](NOISE, tmp_path, attack)
    challenger = catalog.get_domain(domain).build_challenger(
        data=tables.get("data", {}),
        challenger=tables["challenger"],
        mechanism=tables["mechanism"],
        folder=tmp_path,
        seed=1,
    )
    knowledge = catalog.accepted_knowledge(domain, attack)[0]
    control = challenger.control()
    played = RememberedReleases(control) if game.get("SHARED_RELEASES", False) else control
    return Setting(domain, control, Contender(attack=attack, knowledge=knowledge, label="it"), played)


class IgnoresTheBit:
    """A challenger whose releases are always those without the target."""

    def __init__(self, challenger):
        self._challenger = challenger

    def __getattr__(self, name):
        return getattr(self._challenger, name)

    def release(self, members, rng):
        return self._challenger.release(np.zeros_like(members), rng)

    def release_rounds(self, rounds, members, rng):
        return self._challenger.release_rounds(rounds, np.zeros_like(members), rng)


def test_attack_passes_without_protection(setting):
    assert not isinstance(setting.control, NoControl)
    assert setting.play()["status"] == "passed"


@pytest.mark.parametrize("setting", BROKEN, indirect=True, ids="-".join)
def test_attack_fails_if_the_release_ignores_the_bit(setting):
    found = setting.play(IgnoresTheBit(setting.played))
    assert found["status"] == "failed"
    assert found["low"] < 0.6
    assert found["reason"]


@pytest.mark.parametrize("setting", FIRST_OF_DOMAINS, indirect=True, ids="-".join)
def test_attack_that_says_nothing_fails(setting):
    class ZeroScores:
        def study(self, knowledge, rng):
            return Scorer(
                lambda view, rng: np.zeros((100, setting.control.n_targets)), Reading(threshold=0.0)
            )

    def prepare(label):
        return replace(setting.prepare(label), attacks={label: ZeroScores()})

    found = setting.play(prepare=prepare)
    assert found["status"] == "failed"
    assert "the same score" in found["reason"]
