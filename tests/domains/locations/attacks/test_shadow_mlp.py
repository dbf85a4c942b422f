import pickle

import numpy as np
import pytest

from domains.locations.attacks.test_shadow_logistic import adversary, city, mean_auc, trials
from domains.locations.small_town import game, town
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.attacks.one_threshold import Attack as OneThreshold
from leakgauge.domains.locations.attacks.shadow_mlp import Attack
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity, generate_city

SPARING = {"shadows": 400, "validation": 200}


@pytest.mark.parametrize("name", sorted({*Attack.accepts} - {"friends"}))
def test_works_with_every_accepted_knowledge(name):
    challenger = city({"name": "laplace", "epsilon": 4.0}, n_targets=2)
    known = {"partial": {"theta": 0.5}, "past": {"releases": 200}}.get(name, {})
    attack = Attack() if name == "past" else Attack(**SPARING)
    found = trials(challenger, {"it": adversary(challenger, attack, name, **known)})["it"]
    assert np.isfinite(found.scores).all()
    assert mean_auc(found) > 0.8
    assert found.reading.threshold == 0.0


def test_traces_of_friends_help_a_little():
    challenger = city({"name": "raw"}, n_targets=4)
    found = trials(challenger, {"it": adversary(challenger, Attack(**SPARING), "friends")}, 400)["it"]
    assert 0.55 < mean_auc(found) < 0.9


def test_few_shadows_learn_the_sum_rule():
    """Liu et al. (2024), figures 12 and 13: informed, 60 cells, epsilon 0.5 each."""
    busy = generate_city(SyntheticCity(users=1500, sites=25, epochs=168, visits=80.0), seed=3).traces
    challenger = game(
        busy,
        {"name": "laplace", "epsilon": 0.5},
        group_size=300,
        targets={"n": 1, "min_visits": 60},
    )
    contenders = {"mlp": Attack(), "one": OneThreshold()}
    who = {
        label: adversary(challenger, attack, "informed", observations=60)
        for label, attack in contenders.items()
    }
    found = trials(challenger, who, 10_000)
    accuracy = {label: np.mean((some.scores >= 0) == some.members) for label, some in found.items()}
    assert accuracy["one"] == pytest.approx(0.915, abs=0.01)
    assert 0.89 < accuracy["mlp"] < accuracy["one"] + 0.005
    for target_rule in who["mlp"].scorer.score.target_rules:
        index = target_rule.rule.index
        assert index.diagonal < 0.1
        assert index.one_threshold > index.two_threshold
        assert target_rule.rule.learned.network.inner.shape == (60, 60)


def test_hidden_layer_has_requested_size():
    challenger = city({"name": "laplace", "epsilon": 4.0}, n_targets=1)
    who = adversary(challenger, Attack(hidden=7, **SPARING), "informed", observations=5)
    (target_rule,) = who.scorer.score.target_rules
    assert target_rule.rule.learned.network.inner.shape == (5, 7)
    assert "of its weights on their diagonal" in who.scorer.reading.event


def test_scorer_can_be_pickled_and_study_is_reproducible():
    challenger = city({"name": "laplace", "epsilon": 1.0}, n_targets=1)
    first, again = (adversary(challenger, Attack(shadows=40, validation=20)) for _ in range(2))
    sent = type(first)(first.knowledge, pickle.loads(pickle.dumps(first.scorer)))
    found = trials(challenger, {"first": first, "again": again, "sent": sent}, 20)
    np.testing.assert_array_equal(found["first"].scores, found["again"].scores)
    np.testing.assert_array_equal(found["first"].scores, found["sent"].scores)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"hidden": 0}, "hidden must be >= 1"),
        ({"shadows": 10}, "shadows must be >= 20"),
        ({"validation": 1}, "validation must be >= 10"),
    ],
)
def test_rejects_bad_parameters(parameters, words):
    with pytest.raises(BadInput, match=words):
        Attack(**parameters)


def test_rejects_shadows_beside_earlier_releases():
    with pytest.raises(BadInput, match="take their place"):
        adversary(game(town()), Attack(shadows=400), "past")
