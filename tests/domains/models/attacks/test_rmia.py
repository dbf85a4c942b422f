import numpy as np
import pytest

from domains.models.memorised import small
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.rmia import Attack
from leakgauge.domains.models.seen import Seen
from leakgauge.domains.models.shadowing.shadows import with_targets, without_targets
from leakgauge.domains.models.training.learning import train


def rng(seed):
    return np.random.default_rng(seed)


def chances(model, records):
    return np.exp(model.log_probabilities(records.rows))[np.arange(len(records)), records.labels]


def released(knowledge):
    return train(knowledge.reference.take(np.arange(30)), knowledge.recipe, rng(9))


def beaten(model, usual_x, usual_z, records, population, gamma):
    """Loops over pairs, from the definition."""
    x, z = chances(model, records) / usual_x, chances(model, population) / usual_z
    return np.array([sum(own / other >= gamma for other in z) for own in x])


def check(scores, expected, n):
    """A score is the share, up to what breaks ties: less than one row."""
    np.testing.assert_array_equal(np.floor(scores * (n + 1)), expected)


@pytest.mark.parametrize("gamma", [0.9, 1.0, 1.2])
def test_offline_scores_count_population_rows_that_a_record_beats(gamma):
    knowledge = small(rng(1), targets=9)
    shadows, model = without_targets(knowledge, 6, rng(2)), released(knowledge)

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
    scores = scorer.score(Seen([model], [knowledge.targets]), rng(3))
    check(scores[0], expected, len(population))
    assert len(set(expected)) > 3
    assert scorer.reading.studied["a"] == 0.4
    assert scorer.reading.studied["population"] == len(population)


def test_online_both_kinds_of_shadows_say_what_is_usual():
    knowledge = small(rng(1), targets=9)
    shadows, model = with_targets(knowledge, 8, rng(2)), released(knowledge)

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
    scores = Attack(shadows=8).study(knowledge, rng(2)).score(Seen([model], [knowledge.targets]), rng(3))
    check(scores[0], expected, len(population))


def test_records_that_beat_as_many_rows_are_told_apart():
    knowledge = small(rng(1), targets=9)
    scorer = Attack(shadows=4, mode="offline", population=1).study(knowledge, rng(2))
    scores = scorer.score(Seen([released(knowledge)], [knowledge.targets]), rng(3))
    assert np.unique(scores).size == 9
    assert scores.min() > 0
    assert scores.max() < 1


def test_a_is_chosen_on_shadows_unless_it_is_given():
    knowledge = small(rng(1))
    assert 0 <= Attack(shadows=4).study(knowledge, rng(2)).reading.studied["a"] <= 1
    with pytest.raises(BadInput, match='leave it out, or set mode = "offline"'):
        Attack(shadows=4, a=0.5).study(small(rng(1), targets=3), rng(2))


def test_shadows_full_of_targets_leave_no_population():
    knowledge = small(rng(1), n_members=10, targets=60, reference=4)
    with pytest.raises(BadInput, match=r"no row of the reference is in some shadows.*offline"):
        Attack(shadows=4).study(knowledge, rng(2))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"gamma": float("nan")}, "gamma must be > 0"),
        ({"a": 1.5}, r"a must be in \[0, 1\], got 1.5"),
        ({"population": 0}, "population must be >= 1"),
        ({"shadows": 1}, "shadows must be >= 2"),
    ],
)
def test_settings_out_of_range_are_refused(said, words):
    with pytest.raises(BadInput, match=words):
        Attack(**said)
