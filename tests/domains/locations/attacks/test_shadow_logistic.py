import pickle

import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.attacks.shadow_logistic import (
    CERTAIN,
    Attack,
    ContradictionRule,
    contradiction_applies,
)
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity, generate_city
from leakgauge.domains.locations.knowledge import build


def test_rule_is_used_for_raw_counts_and_known_traces():
    people = town()
    for mechanism, used in (
        (RAW, True),
        (RAW | {"round": True, "clamp": True}, True),
        (RAW | {"suppress": 1}, False),
        (LAPLACE, False),
    ):
        knowledge = build("auxiliary", {}, game(people, mechanism), seed=1)
        assert contradiction_applies(knowledge.public, knowledge.sketches[0]) == used


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("friends", {}),
        ("auxiliary", {"trace": 0.5}),
        ("zero", {"places": "all", "spread": "greedy"}),
        ("auxiliary", {"places": 1, "spread": "random"}),
        ("auxiliary", {"observations": 1}),
    ],
)
def test_rule_is_not_used_for_partial_traces(name, known):
    guessed = build(name, known, game(town(), RAW), seed=1)
    assert not contradiction_applies(guessed.public, guessed.sketches[0])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_rule_finds_exactly_the_contradictions(relation):
    challenger = game(town(density=0.03), RAW, relation=relation, targets=3)
    members = challenger.flip(400, np.random.default_rng(1))
    played = challenger.release(members, np.random.default_rng(2))
    knowledge = build("auxiliary", {}, challenger, seed=1)
    front = ContradictionRule(knowledge.public, knowledge.sketches)
    found = front(knowledge.view(played), np.zeros((400, 3))) == -CERTAIN
    counts = played.rounds.counts()
    for target, person in enumerate(challenger.people.targets):
        own = challenger.traces.visits[[person]].toarray().ravel() == 1
        empty = np.array([(row[own] == 0).any() or (row[~own] == 20).any() for row in counts])
        np.testing.assert_array_equal(found[:, target], empty)
    assert not found[members].any()
    assert found[~members].any()


def test_full_cell_contradicts_absence():
    visits = np.zeros((60, 3), dtype=int)
    visits[:, 0] = 1  # everybody is here
    visits[0] = [0, 1, 1]  # but one
    visits[1:, 1] = 1
    visits[1:, 2] = 1
    challenger = next(
        made
        for made in (game(traces(visits), RAW, seed=seed, relation="replace_one") for seed in range(1000))
        if made.people.targets[0] == 0
    )
    members = np.array([[True], [False]])
    seen = build("auxiliary", {}, challenger, seed=1)
    front = ContradictionRule(seen.public, seen.sketches)
    scores = front(seen.view(challenger.release(members, np.random.default_rng(1))), np.ones((2, 1)))
    assert scores.ravel().tolist() == [1.0, -CERTAIN]


CITY = generate_city(SyntheticCity(users=1600, sites=25, epochs=48, visits=15.0), seed=3).traces
NOISE = {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True}


def city(mechanism, n_targets=6, **setting):
    targets = {"n": n_targets, "min_visits": 10}
    return game(CITY, mechanism, group_size=300, reference=0.5, targets=targets, **setting)


def mean_auc(trials):
    found = []
    for target in range(trials.targets.max() + 1):
        own = trials.where(trials.targets == target)
        inside, outside = own.scores[own.members], own.scores[~own.members]
        found.append(np.mean(np.sign(inside[:, None] - outside) / 2 + 0.5))
    return np.mean(found)


def adversary(challenger, attack, name="auxiliary", **known):
    knowledge = build(name, known, challenger, seed=1)
    return Adversary(knowledge, attack.study(knowledge, stream(1, Role.STUDY)))


def trials(challenger, adversaries, n_rounds=200):
    return play(challenger, adversaries, seed=1, rounds=range(n_rounds), block=0)


@pytest.mark.parametrize("name", sorted({*Attack.accepts} - {"friends"}))
def test_works_with_every_accepted_knowledge(name):
    challenger = city({"name": "laplace", "epsilon": 4.0}, n_targets=2)
    known = {"partial": {"theta": 0.5}, "past": {"releases": 200}}.get(name, {})
    who = adversary(challenger, Attack(), name, **known)
    found = trials(challenger, {"it": who})["it"]
    assert np.isfinite(found.scores).all()
    assert mean_auc(found) > 0.8
    assert found.reading.threshold == 0.0


def test_traces_of_friends_help_a_little():
    challenger = city(RAW, n_targets=4)
    found = trials(challenger, {"it": adversary(challenger, Attack(shadows=200), "friends")}, 400)["it"]
    assert 0.55 < mean_auc(found) < 0.9


def test_paired_shadows_beat_independent_ones_under_noise():
    """Guan et al. (2024), section 6.4."""
    challenger = city(NOISE | {"epsilon": 0.7})
    found = trials(
        challenger,
        {how: adversary(challenger, Attack(sampling=how)) for how in ("paired", "independent")},
    )
    assert mean_auc(found["paired"]) > mean_auc(found["independent"]) + 0.03


def test_contradiction_rule_reveals_members_of_raw_counts():
    """Guan et al. (2024), section 6.1: at least .99."""
    sparse = generate_city(SyntheticCity(users=1600, sites=100, epochs=168, visits=15.0), seed=3).traces
    challenger = game(sparse, RAW, group_size=300, targets={"n": 6, "min_visits": 10})
    for name in ("auxiliary", "zero"):
        found = trials(challenger, {"it": adversary(challenger, Attack(), name)})["it"]
        assert mean_auc(found) >= 0.99
        assert np.mean((found.scores >= 0) == found.members) > 0.97


def test_contradiction_rule_never_hurts():
    challenger = city(RAW)
    found = trials(
        challenger, {str(rule): adversary(challenger, Attack(rule=rule)) for rule in (True, False)}
    )
    assert mean_auc(found["True"]) > mean_auc(found["False"]) + 0.02


def test_more_noise_and_more_suppression_protect_more():
    # The same streams for all: only the chain differs.
    aucs = [
        mean_auc(trials(challenger, {"it": adversary(challenger, Attack(shadows=100))})["it"])
        for challenger in (
            city(RAW, n_targets=4),
            city(NOISE, n_targets=4),
            city(NOISE | {"epsilon": 0.3}, n_targets=4),
            city(RAW | {"suppress": 2}, n_targets=4),
            city(RAW | {"suppress": 8}, n_targets=4),
        )
    ]
    raw, some, more, few, many = aucs
    assert raw > some > more
    assert raw > few > many


def test_threshold_uses_separate_shadows():
    challenger = city(NOISE)
    found = trials(challenger, {"it": adversary(challenger, Attack())}, 400)["it"]
    said = found.scores >= 0
    assert 0.25 < said.mean() < 0.75
    assert np.mean(said == found.members) > 0.65


def test_scorer_can_be_pickled_and_study_is_reproducible():
    challenger = city(NOISE, n_targets=2)
    first, again = (adversary(challenger, Attack(shadows=40, validation=20)) for _ in range(2))
    sent = Adversary(first.knowledge, pickle.loads(pickle.dumps(first.scorer)))
    found = trials(challenger, {"first": first, "again": again, "sent": sent}, 20)
    np.testing.assert_array_equal(found["first"].scores, found["again"].scores)
    np.testing.assert_array_equal(found["first"].scores, found["sent"].scores)


def test_learns_user_pipeline(tmp_path):
    from domains.locations.small_town import pipeline_file
    from leakgauge.support.user_code import UserCodeLoader

    pipeline_file(
        tmp_path, "def halve(counts, rng):\n    return counts // 2 + rng.integers(2, size=counts.shape)\n"
    )
    challenger = game(
        CITY,
        {"name": "own", "release": "mine:halve"},
        loader=UserCodeLoader(tmp_path),
        group_size=300,
        targets={"n": 2, "min_visits": 10},
    )
    for name in ("auxiliary", "zero"):
        found = trials(challenger, {"it": adversary(challenger, Attack(), name)}, 100)["it"]
        assert mean_auc(found) > 0.6


def test_uninformative_release_is_scored_at_random():
    challenger = city(RAW | {"clamp": True, "suppress": 300}, n_targets=2)
    found = trials(challenger, {"it": adversary(challenger, Attack())}, 20)["it"]
    assert not found.scores.any()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"shadows": 2}, "shadows must be >= 4"),
        ({"validation": 0}, "validation must be >= 2"),
        ({"strength": float("nan")}, "strength must be > 0"),
        ({"traces": 0}, "traces must be >= 1"),
        ({"skew": -1.0}, "skew must be"),
    ],
)
def test_rejects_bad_parameters(parameters, words):
    with pytest.raises(BadInput, match=words):
        Attack(**parameters)


def test_rejects_shadows_beside_earlier_releases():
    with pytest.raises(BadInput, match="take their place"):
        adversary(game(town()), Attack(shadows=400), "past")
