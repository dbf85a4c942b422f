from dataclasses import replace

import numpy as np
import pytest

from known_trials import coins, trials
from leakgauge.core.game import Reading
from leakgauge.referee.accuracy_difference import Pairing, accuracy_difference

OWN = Reading(threshold=0.0)


def answers(members, accuracy, chance, reading=OWN):
    """An attacker who is right with exactly this chance, by the same luck in every release it faces."""
    return trials(members, np.where(members == (chance < accuracy), 1.0, -1.0), reading)


def pair(new, old, n, rng, *, paired):
    members, luck = coins(n, rng), rng.random(n)
    others = (members, luck) if paired else (coins(n, rng), rng.random(n))
    return answers(members, new, luck), answers(others[0], old, others[1])


def test_intervals_hold_where_gained_and_lost_trials_exclude_one_another():
    """The same members, and noise of its own in each run: a quarter is gained, a quarter lost."""
    rng, found = np.random.default_rng(20240502), []
    for _ in range(400):
        members = coins(400, rng)
        both = (answers(members, accuracy, rng.random(400)) for accuracy in (0.52, 0.50))
        found.append(accuracy_difference(*both, 0.9))
    assert np.mean([answer.low > 0.02 for answer in found]) <= 0.075
    assert np.mean([answer.high < 0.02 for answer in found]) <= 0.075


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_hold_at_the_tolerance(paired):
    rng = np.random.default_rng([20240501, paired])
    how = Pairing.ROUNDS if paired else Pairing.INDEPENDENT
    found = [accuracy_difference(*pair(0.72, 0.70, 300, rng, paired=paired), 0.9, how) for _ in range(400)]
    assert np.mean([answer.low > 0.02 for answer in found]) <= 0.075  # 5 % each side
    assert np.mean([answer.high < 0.02 for answer in found]) <= 0.075


def test_the_same_rounds_are_compared_one_by_one():
    rng = np.random.default_rng(1)
    paired = accuracy_difference(*pair(0.75, 0.70, 1000, rng, paired=True), 0.95)
    apart = accuracy_difference(*pair(0.75, 0.70, 1000, rng, paired=False), 0.95, Pairing.INDEPENDENT)
    assert paired.high - paired.low < (apart.high - apart.low) / 2
    assert paired.low > 0.02


def test_equal_runs_differ_by_nothing_but_what_could_not_be_seen():
    rng = np.random.default_rng(2)
    new, _ = pair(0.7, 0.7, 400, rng, paired=True)
    answer = accuracy_difference(new, new, 0.95)
    assert answer.value == 0.0
    assert 0.0 < answer.high < 0.02


def test_few_rounds_have_no_interval():
    answer = accuracy_difference(*pair(0.9, 0.5, 20, np.random.default_rng(3), paired=True), 0.95)
    assert answer.low is None
    assert "at least 30 are needed" in answer.reason


def test_thresholds_are_chosen_on_other_rounds_where_the_attack_sets_none():
    rng = np.random.default_rng(4)
    members = coins(2000, rng)
    new = trials(members, 5 + 2.0 * members + rng.normal(size=2000))
    old = trials(members, rng.normal(size=2000))
    answer = accuracy_difference(new, old, 0.95)
    assert answer.low > 0.2  # 84 % against a coin toss


def test_rounds_of_unknown_dependence_may_be_opposed():
    """Who was right by luck before is wrong now: the two margins add up."""
    rng, found = np.random.default_rng(20240503), []
    for _ in range(400):
        members, luck = coins(300, rng), rng.random(300)
        both = answers(members, 0.52, luck), answers(~members, 0.50, 1 - luck)
        found.append([accuracy_difference(*both, 0.9, how) for how in (Pairing.UNKNOWN, Pairing.INDEPENDENT)])
    wrong = np.mean([[one.low > 0.02 or one.high < 0.02 for one in pair] for pair in found], axis=0)
    assert wrong[0] <= 0.13  # 5 % on each side, and chance
    assert wrong[1] > 0.2  # as independent rounds they would be wrong twice as often


def test_other_targets_or_members_are_not_paired():
    rng = np.random.default_rng(5)
    new, old = pair(0.7, 0.7, 400, rng, paired=True)
    assert "in the same rounds" in accuracy_difference(new, old, 0.95).method
    elsewhere = replace(old, targets=old.targets + 1)
    flipped = replace(old, members=~old.members)
    for other in (elsewhere, flipped):
        assert "other rounds" in accuracy_difference(new, other, 0.95).method
    for how in (Pairing.UNKNOWN, Pairing.INDEPENDENT):
        assert "in the same rounds" not in accuracy_difference(new, old, 0.95, how).method


def test_rounds_that_only_one_run_has_are_left_out():
    rng = np.random.default_rng(6)
    new, old = pair(0.8, 0.7, 600, rng, paired=True)
    first = old.where(old.rounds < 400)
    assert accuracy_difference(new, first, 0.95) == accuracy_difference(
        new.where(new.rounds < 400), first, 0.95
    )
