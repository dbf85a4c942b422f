import pickle

import numpy as np
import pytest

from domains.locations.small_town import RAW, game, town
from domains.locations.threshold_games import alone_with, play_out, same_halves
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations.attacks.one_threshold import Attack, expected_sum
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.scorers.thresholds import known_tail_distribution
from leakgauge.theory.threshold_attacks import group_variance
from leakgauge.theory.threshold_attacks import one_threshold as known_accuracy
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


@pytest.mark.parametrize("shadows", [None, 2_000])
def test_informed_accuracy_matches_exact_value(shadows):
    """60 cells of Laplace noise of scale 2: .9150, exactly."""
    found = play_out(alone_with(60, 3, HALF), Attack(shadows=shadows), "informed", rounds=50_000, block=5_000)
    assert found.accuracy == pytest.approx(0.915, abs=0.005)


@pytest.mark.parametrize("shadows", [None, 2_000])
def test_accuracy_matches_liu24_figure_7(shadows):
    """2,000 of 10,000 people, 1 % of them in each of 60 cells: .786."""
    rng = np.random.default_rng(20240501)
    visits = np.stack([rng.permutation(10_000) < 100 for _ in range(60)], axis=1)
    challenger = same_halves(visits, np.ones((1, 60)), HALF, group_size=2_001)
    found = play_out(challenger, Attack(shadows=shadows), "auxiliary", rounds=10_000)
    known = known_accuracy(60, group_variance(2_000, visits.sum(axis=1).var(), population=10_000) + 60 * 8)
    assert known == pytest.approx(0.786, abs=0.01)
    assert found.accuracy == pytest.approx(float(known), abs=4 * 0.41 / 100)


@pytest.mark.parametrize("mechanism", CHAINS, ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_computed_moments_match_shadows(mechanism, relation):
    """Mean and spread of the score, with people who visit several of the cells."""
    rng = np.random.default_rng(3)
    active = rng.random((2_000, 1)) < 0.3
    visits = rng.random((2_000, 12)) < np.where(active, 0.4, 0.02)
    challenger = same_halves(visits, np.ones((1, 12)), mechanism, group_size=40, relation=relation)
    knowledge = build("auxiliary", {}, challenger, seed=1)
    law = expected_sum(knowledge, 0, known_tail_distribution(knowledge))
    shadows = knowledge.simulator.independent(0, np.arange(12), 20_000, rng)
    sums, members = shadows.outputs.sum(axis=1), shadows.members
    deviation = sums[members].std()
    assert law.without == pytest.approx(sums[~members].mean(), abs=5 * deviation / 100)
    assert law.with_target == pytest.approx(sums[members].mean(), abs=5 * deviation / 100)
    # Shadows are drawn without replacement, and do not show that the reference is a sample.
    n, of_one = 39, visits.sum(axis=1).var()
    more = n * of_one * (1 + n / 2_000) - group_variance(n, of_one, population=2_000)
    wide = (sums[members].var() + sums[~members].var()) / 2 + more
    assert law.variance == pytest.approx(wide, rel=0.1)


def test_variance_includes_sampling_of_reference():
    """Group and reference are different draws of one population: n V (1 + n / sample), and the noise."""
    visits = np.random.default_rng(3).random((80, 6)) < 0.3
    challenger = same_halves(visits, np.ones((1, 6)), HALF, group_size=41)
    knowledge = build("auxiliary", {}, challenger, seed=1)
    wide = 40 * visits.sum(axis=1).var() * (1 + 40 / 80) + 6 * 2 * 2.0**2
    assert expected_sum(knowledge, 0, known_tail_distribution(knowledge)).variance == pytest.approx(wide)


@pytest.mark.parametrize("mechanism", CHAINS, ids=str)
def test_computed_and_learned_thresholds_agree(mechanism):
    challenger = game(town(400, density=0.1), mechanism, group_size=60, targets={"n": 1, "min_visits": 4})
    computed, learned = (
        play_out(challenger, Attack(shadows=n), "auxiliary", rounds=1_000) for n in (None, 4_000)
    )
    assert computed.auc == pytest.approx(learned.auc, abs=1e-12)  # the same sum
    differ = computed.says != learned.says
    sums = np.unique(computed.scores[differ].round(6))
    whole = mechanism["name"] == "geometric"  # then thresholds may have one whole number between them
    assert sums.size <= 1 if whole else float(differ.mean()) < 0.03


@pytest.mark.parametrize("mechanism", CHAINS, ids=str)
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_more_knowledge_gives_higher_accuracy(mechanism, theta):
    challenger = game(town(400, density=0.1), mechanism, **SEVERAL)
    knows_less = play_out(challenger, Attack(), "auxiliary", rounds=1_000)
    knows_more = play_out(challenger, Attack(), "partial", {"theta": theta}, rounds=1_000)
    assert knows_more.auc > knows_less.auc
    assert knows_more.accuracy > knows_less.accuracy


@pytest.mark.parametrize("fpr", others_at_night([0.02, 0.1], 0.02))
@pytest.mark.parametrize("knowledge", ["informed", "auxiliary"])
@pytest.mark.parametrize("mechanism", CHAINS[:5], ids=str)
def test_target_fpr_is_approximately_kept(fpr, knowledge, mechanism):
    """On average over splits into pool and reference, which the threshold allows for."""
    rates = []
    for seed in range(8):
        challenger = game(town(500, density=0.1, seed=seed), mechanism, seed, **SEVERAL)
        rates.append(play_out(challenger, Attack(fpr=fpr), knowledge, rounds=500).fpr)
    assert fpr / 2 < np.mean(rates) < 1.6 * fpr


@pytest.mark.parametrize("shadows", [None, 40])
@pytest.mark.parametrize("mechanism", [RAW, {"name": "raw", "suppress": 2}])
def test_target_fpr_is_kept_for_certain_counts(mechanism, shadows):
    """Raw counts, everybody else known: no score of a non-member varies, and none may raise an alarm."""
    people = np.ones((12, 3))
    challenger = same_halves(people, np.ones(3), mechanism, group_size=8)
    found = play_out(challenger, Attack(fpr=0.05, shadows=shadows), "informed", rounds=200, block=200)
    assert (found.fpr, found.accuracy) == (0.0, 1.0)


def test_fpr_threshold_lies_above_midpoint():
    challenger = game(town(400), **SEVERAL)
    strict, middle = (play_out(challenger, Attack(fpr=fpr), "auxiliary", rounds=500) for fpr in (1e-4, None))
    assert (strict.scores < middle.scores).all()
    assert not strict.scorer.reading.signed
    assert middle.scorer.reading.signed
    assert strict.scorer.reading.threshold == middle.scorer.reading.threshold == 0.0


PARAMETERS = {
    "partial": {"theta": 0.3},
    "past": {"releases": 60},
    "friends": {"friends": 3},
    "zero": {"trace": 0.8},
}


@pytest.mark.parametrize("knowledge", Attack.accepts)
@pytest.mark.parametrize("mechanism", [HALF, CHAINS[3]], ids=str)
def test_works_with_every_accepted_knowledge(knowledge, mechanism):
    challenger = game(town(300, density=0.08), {**mechanism, "epsilon": 3.0}, **SEVERAL)
    found = play_out(challenger, Attack(), knowledge, PARAMETERS.get(knowledge), rounds=400, block=200)
    assert np.isfinite(found.scores).all()
    assert found.auc > (0.5 if knowledge == "friends" else 0.6)
    copy = pickle.loads(pickle.dumps(found.scorer))
    assert copy.reading == found.scorer.reading


def test_accepts_every_knowledge():
    assert set(Attack.accepts) == set(DOMAIN.knowledge_terms)


def test_zero_knowledge_uses_synthetic_people():
    challenger = game(town(300, density=0.08), {"name": "laplace", "epsilon": 3.0}, **SEVERAL)
    found = play_out(challenger, Attack(shadows=400), "zero", rounds=400)
    assert found.auc > 0.6


def test_places_without_times_are_weighted_by_probability():
    challenger = game(town(300, density=0.08), RAW, **SEVERAL)
    knowledge = build("auxiliary", {"places": 2}, challenger, seed=1)
    target_rule = Attack().study(knowledge, stream(1, Role.STUDY)).score.target_rules[0]
    np.testing.assert_array_equal(target_rule.rule.weights, knowledge.sketches[0].weights)
    assert (target_rule.rule.weights < 1).all()


def test_user_pipeline_uses_shadows(tmp_path):
    from domains.locations.small_town import pipeline_file
    from leakgauge.support.user_code import UserCodeLoader

    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts + rng.normal(size=counts.shape)\n")
    own = {"name": "own", "release": "mine:publish"}
    challenger = game(town(200), own, loader=UserCodeLoader(tmp_path), group_size=30)
    assert play_out(challenger, Attack(), "auxiliary", rounds=200, block=200).auc > 0.6
    with pytest.raises(BadInput, match="needs a known noise distribution"):
        play_out(challenger, Attack(shadows=0), "auxiliary")


def test_counted_rounds_are_not_used_for_study():
    """The same study before any round, whatever will be played."""
    knowledge = build("auxiliary", {}, game(town(200), **SEVERAL), seed=1)
    one, other = (Attack(shadows=50).study(knowledge, stream(1, Role.STUDY)).score for _ in range(2))
    assert [float(w.rule.threshold) for w in one.target_rules] == [
        float(w.rule.threshold) for w in other.target_rules
    ]
    fresh = Attack(shadows=50).study(knowledge, stream(2, Role.STUDY)).score
    assert [float(w.rule.threshold) for w in one.target_rules] != [
        float(w.rule.threshold) for w in fresh.target_rules
    ]


@pytest.mark.parametrize(
    ("parameters", "knowledge", "message"),
    [
        ({"fpr": float("nan")}, "auxiliary", "fpr must be"),
        ({"fpr": 1.0}, "auxiliary", "fpr must be"),
        ({"shadows": 3}, "auxiliary", "shadows must be 0 or >= 10"),
        ({"shadows": 100}, "past", "earlier releases take their place"),
    ],
)
def test_rejects_invalid_settings(parameters, knowledge, message):
    known = build(knowledge, {}, game(town(), RAW), seed=1)
    with pytest.raises(BadInput, match=message):
        Attack(**parameters).study(known, stream(1, Role.STUDY))


def test_rejects_too_few_earlier_releases():
    known = build("past", {"releases": 1}, game(town(), RAW), seed=1)
    with pytest.raises(BadInput, match=r"raise knowledge\.releases"):
        Attack().study(known, stream(1, Role.STUDY))


def test_attack_has_description():
    assert Attack.accepts[0] == "auxiliary"
    assert pickle.loads(pickle.dumps(Attack(fpr=0.1))) == Attack(fpr=0.1)
