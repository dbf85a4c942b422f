"""An attack that reads its signal the wrong way is turned round by rounds that are then not counted."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, binom

from known_trials import SIGNED, coins, nothing, randomized_response, trials
from leakgauge.core.game import Coins
from leakgauge.referee.sample_split import turned_round
from leakgauge.referee.thresholds import own_decisions


def reversed_response(epsilon, n, rng):
    honest = randomized_response(epsilon, n, rng)
    return replace(honest, scores=-honest.scores)


def shares_right(found):
    return float((own_decisions(found) == found.members).mean())


def test_a_leak_read_the_wrong_way_is_seen_in_fifty_rounds():
    members = coins(50, np.random.default_rng(1))
    found = turned_round(trials(members, np.where(members, -1.0, 1.0), SIGNED))
    assert len(found) == 40  # the ten that decided the direction are not counted
    assert found.rounds.min() == 10
    assert shares_right(found) == 1.0


def test_scores_at_the_threshold_keep_their_meaning():
    members = np.arange(100) % 2 == 0
    found = turned_round(trials(members, np.where(members, -1.0, 0.0), SIGNED))  # 0 says member, wrongly
    assert shares_right(found) == 1.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_an_attack_that_is_right_is_left_alone(epsilon):
    honest = randomized_response(epsilon, 500, np.random.default_rng(2))
    assert turned_round(honest) is honest


def test_without_fair_coins_or_an_own_threshold_nothing_is_turned():
    members = np.arange(100) % 2 == 0
    wrong = trials(members, np.where(members, -1.0, 1.0), SIGNED)
    assert turned_round(replace(wrong, coins=Coins.GIVEN)).scores is wrong.scores
    rank = nothing(100, np.random.default_rng(0))
    assert turned_round(rank) is rank


def test_several_targets_of_a_round_count_once():
    """Ten targets who share one coin: five first rounds are too few, whatever the number of trials."""
    members = np.repeat(coins(25, np.random.default_rng(3)), 10)
    wrong = trials(members, np.where(members, -1.0, 1.0), SIGNED, n_targets=10)
    assert turned_round(wrong) is wrong


def test_what_tells_nothing_is_seldom_turned_and_bounds_hold():
    """The lower bound of 95 % on the share of right guesses, over audits that are turned round or not."""
    rng, turned, too_high = np.random.default_rng(4), 0, 0
    for _ in range(3000):
        found = turned_round(reversed_response(0.4, 100, rng))
        truth = 1 / (1 + np.exp(-0.4)) if len(found) < 100 else 1 / (1 + np.exp(0.4))
        right = round(shares_right(found) * len(found))
        low = beta.ppf(0.05, right, len(found) - right + 1)
        turned, too_high = turned + (len(found) < 100), too_high + (low > truth)
    assert too_high <= binom.ppf(0.999, 3000, 0.05)
    chance = np.mean([len(turned_round(nothing_signed(100, rng))) < 100 for _ in range(3000)])
    assert chance <= 0.004
    assert turned > 3  # the direction is found now and then, and more often where more is told
    seen = [len(turned_round(reversed_response(3.0, 100, rng))) < 100 for _ in range(200)]
    assert np.mean(seen) > 0.9


def nothing_signed(n, rng):
    return trials(coins(n, rng), rng.normal(size=n), SIGNED)
