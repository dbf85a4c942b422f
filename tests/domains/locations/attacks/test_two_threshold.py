import pickle

import numpy as np
import pytest

from domains.locations.small_town import RAW, game, pipeline_file, town
from domains.locations.threshold_games import alone_with, play_out, same_halves
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations.attacks import one_threshold
from leakgauge.domains.locations.attacks.two_threshold import Attack
from leakgauge.domains.locations.knowledge import build
from leakgauge.support.user_code import UserCodeLoader
from leakgauge.theory.threshold_attacks import chance_of_votes, least_votes
from night import others_at_night

HALF = {"name": "laplace", "epsilon": 0.5}
SEVERAL = {"targets": {"n": 5, "min_visits": 3}, "group_size": 30}
CHAINS = [
    {"name": "laplace", "epsilon": 1.0},
    {"name": "gaussian", "sigma": 1.5, "delta": 1e-5},
    {"name": "geometric", "epsilon": 1.0, "clamp": True},
    {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1},
    {"name": "laplace", "epsilon": 1.0, "clamp": True, "suppress": 2},
    {"name": "raw", "suppress": 3},
]
PARAMETERS = {
    "partial": {"theta": 0.3},
    "past": {"releases": 60},
    "friends": {"friends": 3},
    "zero": {"trace": 0.8},
}


@pytest.mark.parametrize("shadows", [None, 2_000])
def test_informed_accuracy_matches_exact_value(shadows):
    """60 cells of Laplace noise of scale 2: .9580, exactly."""
    found = play_out(alone_with(60, 3, HALF), Attack(shadows=shadows), "informed", rounds=50_000, block=5_000)
    assert found.accuracy == pytest.approx(0.958, abs=0.005)


def test_sum_beats_votes_under_gaussian_noise():
    noise = {"name": "gaussian", "sigma": 8.2543, "delta": 1e-5}
    votes, sums = (
        play_out(alone_with(60, 3, noise), attack, "informed", rounds=50_000, block=5_000).accuracy
        for attack in (Attack(), one_threshold.Attack())
    )
    assert votes == pytest.approx(0.6453, abs=4 * 0.48 / np.sqrt(50_000))
    assert sums == pytest.approx(0.6805, abs=4 * 0.47 / np.sqrt(50_000))


@pytest.mark.parametrize("shadows", [None, 2_000])
def test_accuracy_matches_liu24_figure_7(shadows):
    """2,000 of 10,000 people, 1 % of them in each of 60 cells: .745."""
    rng = np.random.default_rng(20240501)
    visits = np.stack([rng.permutation(10_000) < 100 for _ in range(60)], axis=1)
    challenger = same_halves(visits, np.ones((1, 60)), HALF, group_size=2_001)
    found = play_out(challenger, Attack(shadows=shadows), "auxiliary", rounds=20_000)
    assert found.accuracy == pytest.approx(0.745, abs=0.01)


def test_informed_cut_is_half_a_visit_and_half_of_votes():
    knowledge = build("informed", {}, alone_with(60, 3, HALF), seed=1)
    rule = Attack().study(knowledge, stream(1, Role.STUDY)).score.target_rules[0].rule
    assert rule.cuts.tolist() == [0.5] * 60
    assert rule.least == 30.0  # a tie of 30 is a member: equation 10
    assert rule(np.repeat([[1.0, 0.0]], 30, axis=1).reshape(1, 60)).tolist() == [0.0]


def test_cell_at_its_cut_counts_as_vote():
    knowledge = build("informed", {}, alone_with(3, 3, {"name": "geometric", "epsilon": 1.0}), seed=1)
    rule = Attack(cell_fpr=0.3).study(knowledge, stream(1, Role.STUDY)).score.target_rules[0].rule
    r = np.exp(-1.0)
    assert r / (1 + r) <= 0.3 < 1 / (1 + r)  # the chances of noise of at least 1, and of at least 0
    assert rule.cuts.tolist() == [1.0] * 3
    assert rule.votes(np.array([[1.0, 1.0, 0.0]])).tolist() == [2.0]


@pytest.mark.parametrize("cell_fpr", [None, 0.2])
@pytest.mark.parametrize("mechanism", CHAINS, ids=str)
@pytest.mark.parametrize("relation", others_at_night(["add_remove", "replace_one"], "replace_one"))
def test_computed_vote_moments_match_shadows(mechanism, relation, cell_fpr):
    rng = np.random.default_rng(3)
    visits = rng.random((2_000, 12)) < rng.uniform(0.01, 0.3, 12)
    challenger = same_halves(visits, np.ones((1, 12)), mechanism, group_size=40, relation=relation)
    knowledge = build("auxiliary", {}, challenger, seed=1)
    rule = Attack(cell_fpr=cell_fpr).study(knowledge, stream(1, Role.STUDY)).score.target_rules[0].rule
    shadows = knowledge.simulator.independent(0, np.arange(12), 20_000, rng)
    outside, inside = shadows.outputs[~shadows.members], shadows.outputs[shadows.members]
    if cell_fpr is None:
        np.testing.assert_allclose(rule.cuts, (outside.mean(axis=0) + inside.mean(axis=0)) / 2, atol=0.12)
    else:
        assert ((outside >= rule.cuts).mean(axis=0) <= cell_fpr + 0.02).all()
        assert ((outside >= rule.cuts - 1.01).mean(axis=0) >= cell_fpr - 0.02).all()
    usual = (rule.votes(outside).mean() + rule.votes(inside).mean()) / 2
    assert rule.least == pytest.approx(usual, abs=0.15)


@pytest.mark.parametrize("mechanism", CHAINS, ids=str)
def test_computed_and_learned_thresholds_agree(mechanism):
    challenger = game(town(400, density=0.1), mechanism, group_size=60, targets={"n": 1, "min_visits": 4})
    computed, learned = (
        play_out(challenger, Attack(shadows=n), "auxiliary", rounds=2_000) for n in (None, 4_000)
    )
    assert computed.auc == pytest.approx(learned.auc, abs=0.03)
    assert computed.accuracy == pytest.approx(learned.accuracy, abs=0.04)


@pytest.mark.parametrize("mechanism", CHAINS, ids=str)
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_more_knowledge_gives_higher_accuracy(mechanism, theta):
    challenger = game(town(400, density=0.1), mechanism, **SEVERAL)
    knows_less = play_out(challenger, Attack(), "auxiliary", rounds=1_000)
    knows_more = play_out(challenger, Attack(), "partial", {"theta": theta}, rounds=1_000)
    assert knows_more.auc > knows_less.auc
    assert knows_more.accuracy > knows_less.accuracy


def test_votes_of_independent_cells_are_poisson_binomial():
    """25 cells that vote by accident with the chance of Laplace noise of at least one half."""
    challenger = alone_with(25, 3, {"name": "laplace", "epsilon": 1.0})
    found = play_out(challenger, Attack(fpr=0.05), "informed", rounds=20_000, block=5_000)
    alarms = [np.exp(-0.5) / 2] * 25
    assert float(found.scorer.score.target_rules[0].rule.least) == least_votes(alarms, 0.05)
    exact = float(chance_of_votes(alarms, least_votes(alarms, 0.05)))
    assert found.fpr == pytest.approx(exact, abs=4 * np.sqrt(exact / 10_000))


@pytest.mark.parametrize(("knowledge", "parameters"), [("auxiliary", {}), ("partial", {"theta": 0.6})])
@pytest.mark.parametrize("mechanism", [CHAINS[0], CHAINS[3]], ids=str)
def test_correlated_cells_need_more_votes(knowledge, parameters, mechanism):
    """A quarter of the people visit most of 30 cells: counts move together, and so do votes."""
    rng = np.random.default_rng(5)
    visits = rng.random((1_500, 30)) < np.where(rng.random((1_500, 1)) < 0.25, 0.7, 0.01)
    challenger = same_halves(visits, np.ones((1, 30)), mechanism, group_size=60)
    found = play_out(challenger, Attack(fpr=0.05), knowledge, parameters, rounds=4_000)
    assert 0.01 < found.fpr < 0.075
    apart = play_out(challenger, ignoring_joint_visits(Attack(fpr=0.05)), knowledge, parameters, rounds=1_000)
    assert apart.fpr > 0.12


def ignoring_joint_visits(attack):
    """The same attack, taking all cells as independent."""

    class Apart(type(attack)):
        def _shared(self, knowledge, target, law):
            return 0.0

    return Apart(fpr=attack.fpr)


@pytest.mark.parametrize("fpr", others_at_night([0.05, 0.2], 0.05))
@pytest.mark.parametrize("knowledge", ["informed", "auxiliary"])
@pytest.mark.parametrize("mechanism", CHAINS[:5], ids=str)
def test_target_fpr_is_kept(fpr, knowledge, mechanism):
    """On average over splits into pool and reference; votes are whole, so it may be well below."""
    rates = []
    for seed in range(8):
        challenger = game(town(500, density=0.1, seed=seed), mechanism, seed, **SEVERAL)
        rates.append(play_out(challenger, Attack(fpr=fpr), knowledge, rounds=500).fpr)
    assert fpr / 10 < np.mean(rates) < 1.25 * fpr


@pytest.mark.parametrize("knowledge", Attack.accepts)
@pytest.mark.parametrize("mechanism", [HALF, CHAINS[3]], ids=str)
def test_works_with_every_accepted_knowledge(knowledge, mechanism):
    challenger = game(town(300, density=0.08), {**mechanism, "epsilon": 3.0}, **SEVERAL)
    for attack in (Attack(), Attack(fpr=0.1, cell_fpr=0.3)):
        found = play_out(challenger, attack, knowledge, PARAMETERS.get(knowledge), rounds=400, block=200)
        assert np.isfinite(found.scores).all()
        assert found.auc > (0.5 if knowledge == "friends" else 0.6)
        copy = pickle.loads(pickle.dumps(found.scorer))
        assert copy.reading == found.scorer.reading


def test_accepts_every_knowledge():
    assert set(Attack.accepts) == set(DOMAIN.knowledge_terms)


def test_user_pipeline_uses_shadows(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts + rng.normal(size=counts.shape)\n")
    own = {"name": "own", "release": "mine:publish"}
    challenger = game(town(200), own, loader=UserCodeLoader(tmp_path), group_size=30)
    assert play_out(challenger, Attack(), "auxiliary", rounds=200, block=200).auc > 0.6


def test_uncertain_cell_has_fractional_vote():
    knowledge = build("friends", {"friends": 3}, game(town(300, density=0.08), RAW, **SEVERAL), seed=1)
    rule = Attack().study(knowledge, stream(1, Role.STUDY)).score.target_rules[0].rule
    np.testing.assert_array_equal(rule.weights, knowledge.sketches[0].weights)
    assert rule.least < rule.weights.sum()


@pytest.mark.parametrize(
    ("parameters", "knowledge", "message"),
    [
        ({"fpr": 0.0}, "auxiliary", "fpr must be"),
        ({"cell_fpr": float("nan")}, "auxiliary", "cell_fpr must be"),
        ({"shadows": 3}, "auxiliary", "shadows must be 0 or >= 10"),
        ({"shadows": 100}, "past", "earlier releases take their place"),
    ],
)
def test_rejects_invalid_settings(parameters, knowledge, message):
    known = build(knowledge, {}, game(town(), RAW), seed=1)
    with pytest.raises(BadInput, match=message):
        Attack(**parameters).study(known, stream(1, Role.STUDY))
