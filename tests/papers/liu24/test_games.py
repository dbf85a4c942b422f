from types import SimpleNamespace

import pytest

from leakgauge.papers.liu24 import games
from leakgauge.papers.liu24.games import (
    AUXILIARY,
    FEW,
    HUNDRED,
    INFORMED,
    LARGE,
    MANY,
    NETWORK,
    USUAL,
    Player,
)
from leakgauge.papers.paper import Scale, Scope
from leakgauge.plan import read_plan

RUNS = (*USUAL.values(), *LARGE.values(), games.HUNDRED_UNITS)
QUICK, FULL = Scope(scale=Scale.QUICK), Scope(scale=Scale.FULL)


def plan_of(run, scope, folder):
    path = folder / "plan.toml"
    path.write_text(run.plan(scope))
    return read_plan(path)


def verdict(audit, contender):
    """As much of a verdict as is needed to know who played."""
    parameters = {"attack": contender.attack_parameters, "knowledge": contender.knowledge_parameters}
    return SimpleNamespace(
        audit=audit, attack=contender.attack, knowledge=contender.knowledge, parameters=parameters
    )


@pytest.mark.parametrize("scope", [QUICK, FULL], ids=["quick", "full"])
@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_the_game_is_that_of_the_paper(run, scope, tmp_path):
    for audit in plan_of(run, scope, tmp_path).audits:
        assert audit.name.partition("-")[0] == run.name
        assert audit.data == {
            "source": "synthetic", "users": 15_793, "sites": 96, "epochs": 800, "visits": 10, "skew": 1.5,
        }  # fmt: skip
        assert audit.challenger["group_size"] == 2_000
        assert audit.challenger["per_epoch"] == 1
        assert audit.challenger["reference"] == 0.5
        assert audit.challenger["targets"]["n"] == 1
        assert audit.challenger["targets"]["min_visits"] >= 140
        assert audit.mechanism["name"] == run.name.partition("_")[0].replace("hundred", "laplace")
        assert audit.mechanism["epsilon"] == 0.5
        assert not {"round", "clamp", "suppress"} & set(audit.mechanism)


def test_at_full_scale_all_is_as_large_as_in_the_paper(tmp_path):
    audits = plan_of(LARGE["laplace"], FULL, tmp_path).audits
    assert {audit.rounds for audit in audits} == {50_000}
    assert {audit.challenger["targets"]["min_visits"] for audit in audits} == set(range(140, 150))
    assert len(audits) == 10 * 11  # so that what is done is kept
    shadows = {c.attack_parameters.get("shadows") for audit in audits for c in audit.contenders}
    assert shadows == {None, FEW, MANY}


def test_a_quick_look_plays_fifty_thousand_rounds(tmp_path):
    assert sum(audit.rounds for audit in plan_of(USUAL["laplace"], QUICK, tmp_path).audits) == 50_000


@pytest.mark.parametrize(
    "player",
    [
        Player(attack="one_threshold", knowledge=INFORMED, n=5),
        Player(attack=NETWORK, knowledge=AUXILIARY, n=60, shadows=FEW),
        Player(attack=NETWORK, knowledge=INFORMED, n=60, shadows=FEW, hidden=HUNDRED),
    ],
)
def test_a_player_is_known_again_by_its_verdict(player, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(games.write_audit("it-0", QUICK, "laplace", [player], 0))
    (audit,) = read_plan(path).audits
    (contender,) = audit.contenders
    assert Player.of(verdict(audit.name, contender)) == player


def test_verdicts_of_several_targets_come_together():
    player = Player(attack="one_threshold", knowledge=INFORMED, n=5)
    contender = SimpleNamespace(
        attack="one_threshold",
        knowledge=INFORMED,
        attack_parameters={},
        knowledge_parameters={"observations": 5},
    )
    found = [verdict(name, contender) for name in ("laplace-0", "laplace-1", "laplace_large-0")]
    assert games.games(found, USUAL["laplace"]) == {player: (found[0], found[1])}
    assert games.games(found, LARGE["laplace"]) == {player: (found[2],)}
    assert games.games(found, USUAL["gaussian"]) == {}


def test_a_quick_look_learns_from_200k_where_it_matters():
    assert games.many_shadows("laplace", Scale.QUICK) == MANY
    assert games.many_shadows("gaussian", Scale.QUICK) == MANY // 10
    assert games.many_shadows("laplace", Scale.QUICK, HUNDRED) == MANY // 10
    assert (
        games.many_shadows("gaussian", Scale.FULL)
        == games.many_shadows("laplace", Scale.FULL, HUNDRED)
        == MANY
    )
