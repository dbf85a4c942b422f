import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from domains.models.memorizing_models import small
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.rmia import (
    Attack,
    best_a,
    mean_from_without,
    mean_of_population,
    mean_with_and_without,
)
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import shadows_with_targets, shadows_without_targets


def rng(seed):
    return np.random.default_rng(seed)


def chances(model, records):
    return np.exp(model.log_probabilities(records.rows))[np.arange(len(records)), records.labels]


def released(knowledge):
    return knowledge.trainer.fit(knowledge.reference.take(np.arange(30)), rng(9))


def beaten(model, usual_x, usual_z, records, population, gamma):
    """Loops over pairs, from the definition."""
    x, z = chances(model, records) / usual_x, chances(model, population) / usual_z
    return np.array([sum(own / other >= gamma for other in z) for own in x])


def check(scores, expected, n):
    """A score is the share, up to what breaks ties: less than one row."""
    np.testing.assert_array_equal(np.floor(scores * (n + 1)), expected)


@pytest.mark.parametrize("gamma", [0.9, 1.0, 1.2])
def test_offline_score_is_share_of_beaten_population_rows(gamma):
    knowledge = small(rng(1), targets=9)
    shadows, model = shadows_without_targets(knowledge, 6, rng(2)), released(knowledge)

    def usual(records, outs):
        found = np.array([chances(shadow, records) for shadow in shadows.models])
        means = np.array([column[out].mean() for column, out in zip(found.T, outs.T)])
        return (1.4 * means + 0.6) / 2

    there = ~shadows.rows.all(axis=0)
    population = knowledge.reference.take(np.flatnonzero(there))
    expected = beaten(
        model,
        usual(knowledge.targets, np.ones((6, 9), dtype=bool)),
        usual(population, ~shadows.rows[:, there]),
        knowledge.targets,
        population,
        gamma,
    )
    scorer = Attack(shadows=6, mode="offline", gamma=gamma, a=0.4).study(knowledge, rng(2))
    scores = scorer.score(ModelsView([model], [knowledge.targets]), rng(3))
    check(scores[0], expected, len(population))
    assert len(set(expected)) > 3
    assert scorer.reading.studied["a"] == 0.4
    assert scorer.reading.studied["population"] == len(population)


def test_online_reference_averages_both_kinds_of_shadows():
    knowledge = small(rng(1), targets=9)
    shadows, model = shadows_with_targets(knowledge, 8, rng(2)), released(knowledge)

    def usual(records, members):
        found = np.array([chances(shadow, records) for shadow in shadows.models])
        return [(own[i].mean() + own[~i].mean()) / 2 for own, i in zip(found.T, members.T)]

    there = shadows.rows.any(axis=0) & ~shadows.rows.all(axis=0)
    population = knowledge.reference.take(np.flatnonzero(there))
    expected = beaten(
        model,
        usual(knowledge.targets, shadows.targets),
        usual(population, shadows.rows[:, there]),
        knowledge.targets,
        population,
        1.0,
    )
    scores = (
        Attack(shadows=8).study(knowledge, rng(2)).score(ModelsView([model], [knowledge.targets]), rng(3))
    )
    check(scores[0], expected, len(population))


def test_ties_are_broken():
    knowledge = small(rng(1), targets=9)
    scorer = Attack(shadows=4, mode="offline", population=1).study(knowledge, rng(2))
    scores = scorer.score(ModelsView([released(knowledge)], [knowledge.targets]), rng(3))
    assert np.unique(scores).size == 9
    assert scores.min() > 0
    assert scores.max() < 1


def test_a_is_chosen_on_shadows_unless_it_is_given():
    knowledge = small(rng(1))
    assert 0 <= Attack(shadows=4).study(knowledge, rng(2)).reading.studied["a"] <= 1
    with pytest.raises(BadInput, match='leave it out, or set mode = "offline"'):
        Attack(shadows=4, a=0.5).study(small(rng(1), targets=3), rng(2))


def test_reference_rows_that_no_shadow_holds_are_still_compared_with():
    knowledge = small(rng(1), n_members=10, targets=60, reference=4)
    assert Attack(shadows=4).study(knowledge, rng(2)).reading.studied["population"] == 4


def test_population_row_without_a_shadow_gets_its_mean_from_the_relation_of_the_targets():
    """Targets whose distance from 1 is halved by membership show a = 1/2: (p + 1 - (1 - p) / 2) / 2."""
    without = np.array([0.2, 0.6])
    targets = np.log([without, 1 - (1 - without) / 2])
    members = np.array([[False, False], [True, True]])
    found = mean_of_population(np.log([[0.4], [0.4]]), np.zeros((2, 1), bool), targets, members)
    np.testing.assert_allclose(np.exp(found), (0.4 + 0.7) / 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": float("nan")}, "gamma must be > 0"),
        ({"a": 1.5}, r"a must be in \[0, 1\], got 1.5"),
        ({"population": 0}, "population must be >= 1"),
        ({"shadows": 1}, "shadows must be >= 2"),
    ],
)
def test_rejects_settings_out_of_range(parameters, message):
    with pytest.raises(BadInput, match=message):
        Attack(**parameters)


CHANCES = np.array([[0.9, 0.2], [0.7, 0.4], [0.3, 0.6]])
MEMBERS = np.array([[True, False], [True, False], [False, True]])


def test_reference_probability_averages_in_and_out():
    np.testing.assert_allclose(
        np.exp(mean_with_and_without(np.log(CHANCES), MEMBERS)), [(0.8 + 0.3) / 2, (0.6 + 0.3) / 2]
    )


def test_offline_in_probability_follows_from_a():
    for a in (0.0, 0.3, 1.0):
        expected = [((a * p + 1 - a) + p) / 2 for p in (0.3, 0.3)]
        np.testing.assert_allclose(np.exp(mean_from_without(np.log(CHANCES), ~MEMBERS, a)), expected)


def test_tiny_probabilities_stay_finite():
    assert np.isfinite(mean_from_without(np.full((2, 1), -700.0), np.ones((2, 1), dtype=bool), 1.0)).all()


def simulated(gain, n_shadows=6, n_rows=300):
    """Chances of rows of many difficulties, and what members gain."""
    rng = np.random.default_rng(3)
    members = rng.random((n_shadows, n_rows)) < 0.5
    difficulty = rng.normal(0, 2, n_rows)
    logits = difficulty + rng.normal(0, 0.3, (n_shadows, n_rows))
    chances = 1 / (1 + np.exp(-logits))
    return np.log(np.where(members, gain(chances), chances)), members


def mean_auc(logs, members, a):
    """By loops, from the definition: every shadow is told by the others."""
    aucs = []
    for place in range(len(logs)):
        ratios, truth = [], []
        for row in range(logs.shape[1]):
            outs = [s for s in range(len(logs)) if s != place and not members[s, row]]
            if outs:
                p = np.mean([np.exp(logs[s, row]) for s in outs])
                ratios.append(np.exp(logs[place, row]) / (0.5 * ((1 + a) * p + 1 - a)))
                truth.append(members[place, row])
        aucs.append(roc_auc_score(truth, ratios))
    return np.mean(aucs)


@pytest.mark.parametrize("gain", [lambda p: 0.2 * p + 0.8, lambda p: np.minimum(1.5 * p, 1.0)])
def test_chosen_a_maximises_shadow_auc(gain):
    logs, members = simulated(gain)
    grid = np.round(np.linspace(0, 1, 11), 1)
    found = {float(a): mean_auc(logs, members, a) for a in grid}
    assert found[round(best_a(logs, members), 1)] == pytest.approx(max(found.values()), abs=1e-9)
    assert max(found.values()) - min(found.values()) > 0.01  # so that there is something to choose


def test_uninformative_shadows_keep_a_in_range():
    assert best_a(np.log(CHANCES[:2, :1]), np.ones((2, 1), dtype=bool)) == 1.0
