"""The positive control: exact bounds, no threshold from counted rounds, and a share of wrong passes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from known_trials import RANK, SIGNED, trials
from leakgauge.core.game import NOISE_ERROR, Coins
from leakgauge.referee.instrument_check import (
    all_scores_equal,
    needed_accuracy,
    no_positive_control,
    positive_control,
)


def decided_in_noise(right, n, chance):
    return replace(decided(right, n), utility={NOISE_ERROR: np.full(n, chance)})


@pytest.mark.parametrize("scales", [10, 12, 14, 17, 20])
@pytest.mark.parametrize("limit", [None, 0.9, 0.95, 0.99])
def test_honest_noise_hardly_ever_fails_it(scales, limit):
    """Laplace noise, the worlds ``scales`` apart: at .95, one error in 100 rounds is one too many.

    At 10 scales 29 % of honest releases have one, which was called failed.
    """
    needed, noise = needed_accuracy(limit), np.random.default_rng(scales).laplace(size=(20_000, 100))
    errors = np.count_nonzero(noise > scales / 2, axis=1)
    status = {
        int(k): positive_control(decided_in_noise(100 - k, 100, np.exp(-scales / 2)), needed)["status"]
        for k in np.unique(errors)
    }
    assert np.mean([status[k] == "failed" for k in errors.tolist()]) <= 0.01
    assert np.mean([status[k] == "passed" for k in errors.tolist()]) > (0.65 if needed == 0.95 else 0.99)


@pytest.mark.parametrize("chance", [1e-4, 0.0067, 0.05])
def test_noise_does_not_excuse_an_attack_that_is_often_wrong(chance):
    excused = int(binom.ppf(0.99, 100, chance))
    for errors, status in ((excused + 1, "failed"), (30, "failed"), (50, "failed"), (0, "passed")):
        assert positive_control(decided_in_noise(100 - errors, 100, chance), 0.95)["status"] == status
    if excused:
        found = positive_control(decided_in_noise(100 - excused, 100, chance), 0.95)
        assert (found["status"], found["accuracy"]) == ("not possible", 1 - excused / 100)
        assert f"explains up to {excused} wrong ones" in found["reason"]


def decided(right, n, reading=SIGNED, **more):
    """``right`` of n decisions are right; every second trial is a member."""
    members = np.arange(n) % 2 == 0
    says = np.where(np.arange(n) < right, members, ~members)
    return trials(members, np.where(says, 1.0, -1.0), reading, **more)


@pytest.mark.parametrize(
    ("limit", "needed"), [(None, 0.75), (0.6, 0.75), (0.8, 0.8), (0.95, 0.95), (0.99, 0.95), (1.0, 0.95)]
)
def test_needed_accuracy_follows_the_limit(limit, needed):
    assert needed_accuracy(limit) == needed


@pytest.mark.parametrize(("right", "n"), [(100, 100), (84, 100), (85, 100), (150, 200), (50, 100)])
def test_bound_is_that_of_clopper_and_pearson(right, n):
    found = positive_control(decided(right, n), 0.75)
    exact = binomtest(right, n, alternative="greater").proportion_ci(0.99, method="exact").low
    assert found["accuracy"] == right / n
    assert found["low"] == pytest.approx(exact, abs=1e-9)
    assert found["status"] == ("passed" if exact > 0.75 else "failed")
    assert found["rounds"] == n
    json.dumps(found)


def test_hundred_rounds_without_an_error_reach_every_limit():
    assert positive_control(decided(100, 100), needed_accuracy(1.0))["status"] == "passed"
    assert positive_control(decided(99, 100), needed_accuracy(1.0))["status"] == "failed"


def test_attack_at_the_needed_accuracy_passes_in_one_of_a_hundred_audits():
    """By enumeration: the chance of all numbers of right decisions that pass."""
    passes = [positive_control(decided(right, 100), 0.75)["status"] == "passed" for right in range(101)]
    wrong = binom.pmf(np.arange(101)[passes], 100, 0.75).sum()
    assert 0.002 <= wrong <= 0.01
    assert binom.pmf(np.arange(101)[passes], 100, 0.95).sum() > 0.99  # and a good attack does pass


def correlated(accuracy, n_rounds, n_targets, rng):
    """In each round either all decisions are those of chance, or all are right."""
    members = rng.random((n_rounds, n_targets)) < 0.5
    blind = rng.random(n_rounds) < 2 * (1 - accuracy)
    says = np.where(blind[:, None], rng.random((n_rounds, 1)) < 0.5, members)
    return trials(members.ravel(), np.where(says, 1.0, -1.0).ravel(), SIGNED, n_targets=n_targets)


def test_targets_that_share_rounds_are_not_counted_as_independent():
    rng = np.random.default_rng(3)
    runs = [correlated(0.75, 100, 10, rng) for _ in range(400)]
    passed = sum(positive_control(run, 0.75)["status"] == "passed" for run in runs)
    assert passed <= binom.isf(1e-3, 400, 0.02)  # as many as 1 % and the error of the jackknife allow
    naive = [binomtest(int(((r.scores > 0) == r.members).sum()), 1_000) for r in runs]
    lows = [test.proportion_ci(0.98, method="exact").low for test in naive]
    assert sum(low > 0.75 for low in lows) > 0.05 * 400  # they would be passed far too often
    good = [positive_control(correlated(0.95, 100, 10, rng), 0.75)["status"] for _ in range(50)]
    assert good.count("passed") == 50


def test_threshold_is_not_chosen_on_counted_rounds():
    rng = np.random.default_rng(4)
    noise = [trials(rng.random(40) < 0.5, rng.normal(size=40), RANK) for _ in range(400)]
    accuracies = [positive_control(run, 0.75)["accuracy"] for run in noise]
    assert abs(np.mean(accuracies) - 0.5) < 0.02  # chosen on the same rounds it would be about 0.65


def test_attack_without_threshold_counts_every_second_round():
    members = np.arange(200) % 4 < 2
    found = positive_control(trials(members, members * 1e6 + 3e6, RANK), 0.95)
    assert found["status"] == "passed"
    assert found["rounds"] == 100


def test_guess_that_everybody_is_a_member_does_not_pass():
    members = np.arange(1_000) % 20 > 0
    given = trials(members, np.ones(1_000), SIGNED, Coins.GIVEN, n_targets=10)
    assert positive_control(given, 0.75)["status"] == "failed"


def test_equal_scores_are_said():
    same = trials(np.arange(100) % 2 == 0, np.zeros(100), SIGNED)
    assert all_scores_equal(same)
    assert not all_scores_equal(decided(50, 100))
    assert not all_scores_equal(same.where(np.arange(100) < 10))
    assert "the same score" in positive_control(same, 0.75)["reason"]


def test_entry_without_control_has_the_same_keys():
    entry = no_positive_control("only scores are given")
    assert entry.keys() == positive_control(decided(100, 100), 0.75).keys()
    assert entry["status"] == "not possible"
    assert no_positive_control("it is constant", possible=True)["status"] == "not needed"
