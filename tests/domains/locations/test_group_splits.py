"""Random groups from several splits of the people into pool and reference."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, town, traces
from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, KnowledgeBySplit, play
from leakgauge.domains.locations import knowledge
from leakgauge.domains.locations.attacks.likelihood import Attack
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.default_splits import complete_challenger
from leakgauge.domains.locations.exposure import expose
from leakgauge.domains.locations.split_exposure import excess_where
from leakgauge.plan import plan_of
from leakgauge.referee.metrics import auc_mean
from leakgauge.runner.play_block import study_attack

CITY = {"source": "synthetic", "users": 200, "sites": 8, "epochs": 12, "visits": 5}
KNOWLEDGE = ("informed", "partial", "auxiliary", "past", "zero", "friends")


PARAMETERS = {"partial": {"theta": 0.5}}


def adversary(challenger, name="auxiliary"):
    knows = knowledge.build(name, PARAMETERS.get(name, {}), challenger, 1)
    return Adversary(
        knows,
        study_attack(
            Attack(shadows=0, fit="never"), knows, np.random.default_rng(1), "a", challenger.n_targets
        ),
    )


def test_targets_are_in_no_pool_and_every_person_is_in_pool_or_reference():
    people = game(town(), targets=4, splits=12).people
    assert people.n_splits == 12
    assert len({pool.tobytes() for pool in people.pools}) == 12
    for pool, reference in zip(people.pools, people.references, strict=True):
        together = np.concatenate([people.targets, pool, reference])
        np.testing.assert_array_equal(np.sort(together), np.arange(60))


def test_first_split_is_the_same_however_many_there_are():
    one, many = (game(town(), targets=4, splits=splits).people for splits in (1, 12))
    np.testing.assert_array_equal(one.pool, many.pool)
    np.testing.assert_array_equal(one.reference, many.reference)
    np.testing.assert_array_equal(one.targets, many.targets)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_round_r_draws_from_the_pool_of_split_r_modulo_their_number(relation):
    """Everybody is alone in a cell, so a raw release lists the group."""
    challenger = game(
        traces(np.eye(60, dtype=int)), RAW, targets=2, group_size=9, splits=5, relation=relation
    )
    rounds = range(13, 30)
    members = challenger.flip(len(rounds), np.random.default_rng(1))
    released = challenger.release_rounds(rounds, members, np.random.default_rng(2)).whole
    for number, bits, table in zip(rounds, members, released):
        pool = challenger.people.pools[number % 5]
        inside = np.flatnonzero(table)
        assert np.isin(np.setdiff1d(inside, challenger.people.targets), pool).all()
        np.testing.assert_array_equal(np.isin(challenger.people.targets, inside), bits)
        assert inside.size == (9 if relation == "replace_one" else 7 + bits.sum())


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_each_attacker_studies_every_split_and_plays_its_rounds(name):
    challenger = game(town(), targets=2, group_size=10, splits=3)
    knows = knowledge.build(name, PARAMETERS.get(name, {}), challenger, 1)
    assert isinstance(knows, KnowledgeBySplit)
    assert len(knows.parts) == 3
    if name in ("auxiliary", "informed", "partial"):
        sizes = [part.reference.visitors() for part in knows.parts]
        assert not np.array_equal(sizes[0], sizes[1])
    trials = play(challenger, {"a": adversary(challenger, name)}, seed=5, rounds=range(20, 30), block=2)["a"]
    np.testing.assert_array_equal(trials.splits, np.repeat(np.arange(20, 30) % 3, 2))


def test_attackers_share_the_data_of_each_split():
    challenger = game(town(), targets=2, group_size=10, splits=3)
    first, second = (knowledge.build(name, {}, challenger, 1) for name in ("auxiliary", "informed"))
    assert all(one.crowd is other.crowd for one, other in zip(first.parts, second.parts, strict=True))


def test_a_block_does_not_depend_on_the_others():
    challenger = game(town(), targets=2, group_size=10, splits=7)
    who = {"a": adversary(challenger)}
    first = play(challenger, who, seed=5, rounds=range(8, 16), block=1)["a"]
    play(challenger, who, seed=5, rounds=range(8), block=0)
    again = play(challenger, who, seed=5, rounds=range(8, 16), block=1)["a"]
    np.testing.assert_array_equal(first.scores, again.scores)


def test_one_split_is_told_to_the_referee_too():
    challenger = game(town(), targets=2, group_size=10, splits=1)
    trials = play(challenger, {"a": adversary(challenger)}, seed=5, rounds=range(4), block=0)["a"]
    np.testing.assert_array_equal(trials.splits, np.zeros(8))


def test_scores_under_a_split_are_those_of_that_split_alone():
    challenger = game(town(), targets=2, group_size=10, splits=3)
    both = play(challenger, {"a": adversary(challenger)}, seed=5, rounds=range(12), block=0)["a"]
    for split in range(3):
        alone = Adversary(
            knowledge.build("auxiliary", {}, challenger.of_split(split), 1),
            adversary(challenger).scorer.score.scorers[split],
        )
        one = play(challenger, {"a": alone}, seed=5, rounds=range(12), block=0)["a"]
        rows = both.splits == split
        np.testing.assert_allclose(both.scores[rows], one.scores[rows])


def test_earlier_releases_of_two_splits_have_noise_of_their_own():
    challenger = game(traces(np.eye(60, dtype=int)), LAPLACE, group_size=10, splits=2)
    first, second = (challenger.of_split(split).earlier(1)[1].whole[0] for split in range(2))
    outside = np.setdiff1d(np.arange(60), np.concatenate(challenger.people.pools))
    assert not np.isclose(first[outside], second[outside]).any()


def strangers_auc(n_people, splits, n_rounds=192):
    """AUC of strangers with groups of 100 and a reference of 120, in data of so many people."""
    people = town(n_people=n_people, n_places=6, n_epochs=6, density=0.12, seed=3)
    challenger = game(people, RAW, group_size=100, reference=120, targets=20, splits=splits)
    trials = play(challenger, {"a": adversary(challenger)}, seed=2, rounds=range(n_rounds), block=0)["a"]
    return auc_mean.Metric()(trials).value


def test_who_is_left_over_does_not_decide_the_auc():
    """With one split, a group of 100 of 108 people hardly varies and everybody looks recognisable."""
    small, large = (strangers_auc(100 + pool, 12) for pool in (108, 400))
    assert abs(small - large) < 0.05
    assert strangers_auc(208, 1) > large + 0.1


@pytest.mark.parametrize(
    ("attackers", "expected"),
    [
        ([("likelihood", {}), ("one_threshold", {})], 12),
        ([("likelihood", {}), ("shadow_logistic", {})], 1),
        ([("shadow_mlp", {})], 1),
        ([("likelihood", {"friends": 3})], 12),
        ([("likelihood", {"friends": "given"})], 1),
        ([("likelihood", {"friends": ["a", "b"]})], 1),
        ([], 12),
    ],
)
def test_one_number_of_splits_for_all_attackers_of_an_audit(attackers, expected):
    named = [
        SimpleNamespace(attack=attack, knowledge="auxiliary", knowledge_parameters=parameters)
        for attack, parameters in attackers
    ]
    past = SimpleNamespace(attack="likelihood", knowledge="past", knowledge_parameters={})
    assert complete_challenger({"group_size": 10}, [*named, past])["splits"] == 1
    assert complete_challenger({"group_size": 10}, named)["splits"] == expected
    assert complete_challenger({"group_size": 10, "splits": 4}, named)["splits"] == 4
    assert "splits" not in complete_challenger({"group_size": "everyone"}, named)


@pytest.mark.parametrize(
    ("attacks", "n_splits"), [(["likelihood"], 12), (["likelihood", "shadow_logistic"], 1)]
)
def test_an_audit_is_prepared_with_the_splits_of_its_attacks(attacks, n_splits):
    audit = {"name": "city", "domain": "locations", "rounds": 24, "data": CITY, "mechanism": LAPLACE}
    plan = plan_of({"audit": [{**audit, "challenger": {"group_size": 20}, "attacks": attacks}]})
    prepared = catalog.prepare_audit(plan.audits[0], plan)
    assert prepared.challenger.n_splits == n_splits
    divided = "12 times" if n_splits == 12 else "once"
    assert any(f"divided {divided} at random" in note for note in prepared.challenger.notes)
    assert catalog.build_challenger(plan.audits[0], plan).n_splits == 12  # for expose, which runs no attack


def notes(folder, **table):
    challenger = {"group_size": 20, "targets": 2, **table}
    return build(data=CITY, challenger=challenger, mechanism=LAPLACE, folder=folder, seed=1).notes


def test_notes_say_how_many_splits_there_are_and_warn_of_large_groups(tmp_path):
    assert any("divided 12 times at random: a pool of 100 that groups" in note for note in notes(tmp_path))
    assert any("intervals are over splits" in note for note in notes(tmp_path, splits=10))
    assert any("hold for these 9 splits of the people" in note for note in notes(tmp_path, splits=9))
    assert any("hold for this split of the people" in note for note in notes(tmp_path, splits=1))
    for size, warned in ((34, False), (35, True)):  # of 102 people, with both targets
        said = [note for note in notes(tmp_path, group_size=size) if note.startswith("Warning")]
        assert bool(said) is warned
        assert not warned or "more than a third of the 102 people (100 and 2 targets) they are" in said[0]


def test_refuses_less_than_one_split():
    with pytest.raises(BadInput, match="splits must be >= 1, got 0; 12 is usual"):
        game(town(), splits=0)


# Exposure


SUPPRESSED = LAPLACE | {"round": True, "clamp": True, "suppress": 1}


def exposure_notes(folder, splits, group_size=35):
    table = {"group_size": group_size, "targets": 2, "splits": splits}
    return " ".join(
        expose(build(data=CITY, challenger=table, mechanism=LAPLACE, folder=folder, seed=1)).notes
    )


def test_exposure_says_whom_a_small_pool_concerns(tmp_path):
    """A pool of 100: with one split, auxiliary and zero are too high; with several, it does not matter."""
    one, several = exposure_notes(tmp_path, 1), exposure_notes(tmp_path, 3)
    assert "(auxiliary and zero) are too high" in one
    assert "(auxiliary and zero) are computed here with groups drawn from all other people" in several
    assert "too high:" not in several
    assert "Warning" not in exposure_notes(tmp_path, 1, group_size=33)


@pytest.mark.parametrize("splits", [1, 3])
def test_exposure_names_one_size_of_the_pool_and_the_threshold(tmp_path, splits):
    notes = exposure_notes(tmp_path, splits)
    sizes = re.findall(r"a pool of (\d+)|the (\d+) people", notes)
    assert [max(size) for size in sizes] == ["100"] * 3
    assert "at the best threshold for each person" in notes
    assert ("for auxiliary and zero from all other people" in notes) is (splits > 1)


def test_exposure_is_the_mean_over_splits():
    challenger = game(town(), SUPPRESSED, splits=3)
    for one in expose(challenger).against:
        assert one.split_accuracy.shape == (3, 60)
        np.testing.assert_allclose(one.split_accuracy.mean(axis=0), one.accuracy)
        assert one.basis.endswith("means over 3 random draws of the people")
        if one.adversary == "informed":
            alone = expose(challenger.of_split(2), (one.adversary,)).against[0]
            np.testing.assert_allclose(alone.accuracy, one.split_accuracy[2])


@pytest.mark.parametrize("name", ["auxiliary", "zero"])
def test_who_is_left_over_does_not_decide_the_exposure(name):
    """In the data of the test above, with groups of 100 of 108 people, or of 400."""

    def exposed(pool, splits):
        people = town(n_people=100 + pool, n_places=6, n_epochs=6, density=0.12, seed=3)
        challenger = game(people, RAW, group_size=100, reference=120, targets=20, splits=splits)
        return expose(challenger, (name,)).against[0].auc.mean()

    small, large = (exposed(pool, 12) for pool in (108, 400))
    assert abs(small - large) < 0.03
    assert exposed(108, 1) > large + 0.1
    if name == "auxiliary":
        assert abs(small - strangers_auc(208, 12)) < 0.03


@pytest.mark.parametrize(("relation", "pool"), [("add_remove", 12), ("replace_one", 15)])
def test_groups_of_strangers_may_be_as_large_as_a_pool_or_larger(relation, pool):
    """Groups of 15 with 5 targets; in the larger pools, all who are not in the reference."""
    small = game(town(), RAW, group_size=15, targets=5, reference=60 - pool, splits=2, relation=relation)
    wider = [np.union1d(one, small.people.targets) for one in small.people.pools]
    people = replace(small.people, pool=wider[0], further=((wider[1], small.people.references[1]),))
    assert (small.people.pool.size, people.pool.size) == (pool, pool + 5)
    found, expected = (
        expose(one, ("auxiliary",)).against[0] for one in (small, replace(small, people=people))
    )
    np.testing.assert_array_equal(found.accuracy, expected.accuracy)
    np.testing.assert_array_equal(found.auc, expected.auc)


@pytest.mark.parametrize(
    ("relation", "splits", "names", "said", "setting"),
    [
        ("add_remove", 2, ("informed", "auxiliary"), "groups of 15. ", "15"),  # informed is so in any group
        ("add_remove", 1, ("informed", "auxiliary"), "groups of 12 (of 15 in the plan; the pool is", "12"),
        ("add_remove", 1, ("informed",), "groups of 15. ", "15"),
        ("replace_one", 2, ("informed", "zero"), "groups of 15 (14 for informed; the pool is", "14 to 15"),
        ("replace_one", 2, ("informed",), "groups of 14 (of 15 in the plan; the pool is", "14"),
        ("replace_one", 2, ("auxiliary",), "groups of 15. ", "15"),
    ],
)
def test_notes_say_how_large_the_groups_are_that_are_computed(relation, splits, names, said, setting):
    """Groups of 15 with 5 targets, and the smallest pool from which they can be drawn."""
    pool = 12 if relation == "add_remove" else 15  # 5 of whom replace targets
    challenger = game(
        town(), LAPLACE, group_size=15, targets=5, reference=60 - pool, splits=splits, relation=relation
    )
    assert challenger.people.pool.size == pool
    found = expose(challenger, names)
    assert f"Each person is taken as the only target, in {said}" in " ".join(found.notes)
    assert found.setting == f"in random groups of {setting}"


def test_groups_larger_than_the_pool_are_not_called_a_part_of_it(tmp_path):
    table = {"group_size": 15, "targets": 5, "reference": 188}
    for splits in (1, 3):
        built = build(
            data=CITY, challenger=table | {"splits": splits}, mechanism=LAPLACE, folder=tmp_path, seed=1
        )
        (warning,) = [note for note in built.exposure_notes if note.startswith("Warning")]
        assert warning.startswith("Warning: the pool has only 12 people for groups of 15. ")


def test_informed_optimum_does_not_depend_on_splits_where_noise_only_is_added():
    challenger = game(town(), LAPLACE, splits=3)
    informed = expose(challenger, ("informed",)).against[0]
    assert informed.split_accuracy is None


def test_exposure_says_for_whom_numbers_are_overstated():
    challenger = game(town(), SUPPRESSED, splits=4)
    (note,) = [note for note in expose(challenger).notes if note.startswith("Auxiliary: for people")]
    assert "compared with draws that leave the same people out" in note


def test_excess_is_taken_within_each_person():
    held = np.array([[True, True, False], [False, True, False], [True, True, False]])
    accuracy = np.array([[0.9, 0.7, 0.6], [0.6, 0.7, 0.6], [0.8, 0.7, 0.6]])
    excess, n = excess_where(held, accuracy)
    assert n == 1  # the second is always held, the third never
    assert excess == pytest.approx(0.85 - 0.6)
