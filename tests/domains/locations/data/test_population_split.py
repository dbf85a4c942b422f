import re

import numpy as np
import pytest

from domains.locations.small_town import town, traces
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.population_split import split_population
from leakgauge.domains.locations.plan_tables import read_challenger_table

TOWN = town()


def divided(people=TOWN, seed=1, **setting):
    return split_population(
        people, read_challenger_table({"group_size": 10, **setting}), np.random.default_rng(seed)
    )


def test_targets_pool_and_reference_partition_people():
    people = divided(targets=5)
    everybody = np.concatenate([people.targets, people.pool, people.reference])
    assert sorted(everybody) == list(range(60))


@pytest.mark.parametrize(("reference", "size"), [(0.5, 30), (0.25, 15), (20, 20), (20.0, 20)])
def test_reference_is_share_or_number_including_targets(reference, size):
    assert divided(targets=5, reference=reference).reference.size == size - 5


def test_anyone_may_become_target_or_reference():
    draws = [divided(seed=seed) for seed in range(400)]
    assert {int(people.targets[0]) for people in draws} == set(range(60))
    in_reference = np.zeros(60)
    for people in draws:
        in_reference[people.reference] += 1
    assert in_reference.min() > 400 * 29 / 60 - 6 * 10  # six standard deviations
    assert in_reference.max() < 400 * 29 / 60 + 6 * 10


def test_targets_have_enough_visits():
    people = divided(targets={"n": 5, "min_visits": 5})
    assert TOWN.n_visits[people.targets].min() >= 5


def test_targets_can_be_named_and_keep_their_order():
    named = divided(targets={"names": ["7", 3]})
    assert named.targets.tolist() == [7, 3]
    assert not {7, 3} & {*named.pool, *named.reference}


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ({"names": ["60"]}, "'60' is not in the data"),
        ({"names": [3, "3"]}, "'3' is named twice"),
        ({"names": [3], "n": 2}, "leave out n"),
        ({"names": [3], "min_visits": 10_000}, "'3' has .* visits after any caps"),
    ],
)
def test_rejects_invalid_target_names(targets, problem):
    with pytest.raises(BadInput, match=problem):
        divided(targets=targets)


def test_rejects_reference_of_everyone():
    with pytest.raises(BadInput, match="only 60 people, so nobody is left"):
        divided(reference=60)


def test_most_active_can_be_chosen():
    people = divided(targets={"n": 5, "choose": "most"})
    assert sorted(TOWN.n_visits[people.targets]) == sorted(TOWN.n_visits)[-5:]


def test_terciles_choose_a_third_from_each_activity_level():
    ladder = traces(np.tril(np.ones((60, 60), dtype=int)))  # person i has i + 1 visits
    for seed in range(5):
        people = divided(ladder, seed, targets={"n": 7, "choose": "terciles"})
        thirds = np.bincount(people.targets // 20, minlength=3)
        assert thirds.tolist() == [3, 2, 2]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (
            {"group_size": 40},
            "needs 39 people besides the targets, but the pool has 30; lower group_size to 30 or less",
        ),
        ({"group_size": 20, "reference": 0.2}, "the reference has 11; lower group_size to 12"),
        (
            {"group_size": 31, "relation": "replace_one"},
            r"needs 31 people besides the targets \(1 of them to replace",
        ),
        (
            {"group_size": 30, "targets": 7},
            r"needs 26 people besides the targets \(3 of them to stand in for other targets",
        ),
        ({"group_size": 3, "targets": 4}, "less than the 4 targets"),
        ({"targets": {"n": 61}}, "61 wanted, but only 60 people have at least 1 visit after"),
        ({"targets": {"n": 2, "min_visits": 99}}, "only 0 people have at least 99 visits"),
    ],
)
def test_rejects_too_few_people_with_suggestion(setting, problem):
    with pytest.raises(BadInput, match=problem):
        divided(**setting)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("reference", [0.2, 0.5, 0.8, 31])
@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_suggested_group_size_is_accepted_and_the_largest(n, reference, relation):
    setting = {"targets": n, "reference": reference, "relation": relation}
    with pytest.raises(BadInput) as caught:
        divided(group_size=59, **setting)
    suggested = re.search(r"lower group_size to (\d+) or less", str(caught.value))
    if suggested is None:
        assert "lower targets.n" in str(caught.value)
        with pytest.raises(BadInput):
            divided(group_size=n, **setting)
        return
    divided(group_size=int(suggested[1]), **setting)
    with pytest.raises(BadInput):
        divided(group_size=int(suggested[1]) + 1, **setting)
