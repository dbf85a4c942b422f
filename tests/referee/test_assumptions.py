import numpy as np
import pytest

from known_trials import trials
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee.assumptions import (
    need_both_worlds,
    need_fair_coins,
    need_independent_rounds,
    need_lasting_targets,
    unfair_coins,
)
from leakgauge.referee.sample_split import selection_half


def given_members(n, k, **more):
    return trials(np.arange(n) < k, np.zeros(n), **more)


@pytest.mark.parametrize(("k", "fair"), [(500, True), (423, True), (420, False), (580, False), (0, False)])
def test_extreme_member_share_is_not_fair(k, fair):
    """Two-sided binomial: 423 of 1,000 has chance 1.3e-6, 420 has 4.6e-7."""
    assert (unfair_coins(given_members(1_000, k)) is None) == fair


def test_given_membership_is_never_fair():
    assert "given" in unfair_coins(given_members(10, 5, coins=Coins.GIVEN))


def test_each_rejection_names_metric_and_alternative():
    with pytest.raises(BadInput, match=r"x needs one target per round.*; use"):
        need_independent_rounds(given_members(10, 5, n_targets=2), "x")
    with pytest.raises(BadInput, match=r"x needs membership assigned at random.*; use"):
        need_fair_coins(given_members(10, 5, coins=Coins.GIVEN), "x")
    with pytest.raises(BadInput, match=r"x needs members and non-members, got 10 non-members; simulate more"):
        need_both_worlds(given_members(10, 0), "x")


def test_halves_have_both_classes_and_ignore_scores():
    rows = given_members(100, 40)
    half = selection_half(rows)
    assert (half.sum(), rows.members[half].sum()) == (50, 20)
    other = trials(rows.members, np.random.default_rng(1).normal(size=100))
    np.testing.assert_array_equal(half, selection_half(other))


def test_shared_rounds_are_kept_together():
    rows = given_members(100, 40, n_targets=4)
    half = selection_half(rows)
    assert set(rows.rounds[half]) & set(rows.rounds[~half]) == set()


def tied_rounds(n_rounds, rng, coins):
    """A mixture of two components and an attacker who guesses which one is trained on: no leak at all."""
    component, shown = rng.random(n_rounds) < 0.5, rng.random((n_rounds, 50)) < 0.5
    guess = rng.random(n_rounds) < 0.5
    members = shown == component[:, None]  # records of the trained component are members
    scores = np.where(shown == guess[:, None], 1.0, -1.0)
    rounds = np.repeat(np.arange(n_rounds), 50)
    reading = Reading(threshold=0.0, signed=True)
    return Trials(rounds, np.zeros_like(rounds), members.ravel(), scores.ravel(), coins, reading)


def test_one_run_rejects_tied_coins():
    from leakgauge.referee.metrics.epsilon_one_run import Metric

    found = [Metric()(tied_rounds(1, np.random.default_rng(i), Coins.FAIR)).low for i in range(40)]
    assert np.mean(np.array(found) > 1) > 0.3  # what counting tied coins as fair would do, without any leak
    refused = Metric()(tied_rounds(1, np.random.default_rng(0), Coins.TIED))
    assert refused.low is None
    assert "depend on one another" in refused.reason


def test_mean_over_targets_needs_persistent_targets():
    fresh = tied_rounds(3, np.random.default_rng(1), Coins.TIED)
    with pytest.raises(BadInput, match="every round has targets of its own"):
        need_lasting_targets(fresh, "auc_mean")
    need_lasting_targets(fresh.where(np.arange(len(fresh)) % 50 == 0), "auc_mean")  # one in each round
