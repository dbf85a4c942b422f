from math import comb

import numpy as np
import pytest

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee import one_run_delta
from leakgauge.referee.metrics import epsilon_e_process, epsilon_one_run
from leakgauge.referee.one_run import one_run_lower_bound, order_guesses
from leakgauge.referee.one_run_delta import _most_shown, any_count_lower_bound

REPETITIONS = 1000
MOST_ABOVE = 72  # of 1,000 at 5 % each, exceeded with a chance of 1 in 500


def bounds_on_extremal_mechanism(epsilon, delta, n_rounds, n_others, seed):
    """Bounds against an attacker who sees which rounds are revealed and guesses on them and some others."""
    rng = np.random.default_rng(seed)
    revealed = rng.binomial(n_rounds, delta, REPETITIONS)
    right = rng.binomial(n_others, 1 / (1 + np.exp(-epsilon)), REPETITIONS)
    return np.array(
        [
            any_count_lower_bound(n_rounds, n_others + shown, hits + shown, delta=delta, alpha=0.05)
            for shown, hits in zip(revealed.tolist(), right.tolist())
        ]
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "n_rounds", "n_others"),
    [(1.0, 0.01, 2000, 300), (1.0, 0.05, 400, 40), (0.0, 0.02, 1000, 100), (3.0, 1e-5, 20_000, 400)],
)
def test_bound_covers_extremal_mechanism(epsilon, delta, n_rounds, n_others):
    bounds = bounds_on_extremal_mechanism(epsilon, delta, n_rounds, n_others, 1)
    assert (bounds > epsilon).sum() <= MOST_ABOVE


def test_coverage_needs_revealed_rounds_taken_off(monkeypatch):
    monkeypatch.setattr(one_run_delta, "_most_shown", lambda *_: (0, 0.0))
    assert (bounds_on_extremal_mechanism(1.0, 0.01, 2000, 300, 1) > 1.0).sum() > MOST_ABOVE


def test_bound_has_power():
    # Twelve of ten expected revealed rounds and 18 of 20 taken off cost little of 3,000 guesses.
    bounds = bounds_on_extremal_mechanism(1.0, 1e-3, 10_000, 3000, 1)
    assert np.median(bounds) > 0.85


@pytest.mark.parametrize(
    ("n_rounds", "delta", "error"), [(50, 0.1, 0.01), (200, 1e-3, 0.005), (30, 0.0, 0.1)]
)
def test_revealed_rounds_agree_with_sum_of_probabilities(n_rounds, delta, error):
    def exceeds(k):
        return sum(
            comb(n_rounds, i) * delta**i * (1 - delta) ** (n_rounds - i) for i in range(k + 1, n_rounds + 1)
        )

    assert _most_shown(n_rounds, delta, error)[0] == next(k for k in range(n_rounds) if exceeds(k) <= error)


def test_pure_promise_loses_nothing():
    assert any_count_lower_bound(500, 40, 39, delta=0.0, alpha=0.05) == one_run_lower_bound(
        500, 40, 39, delta=0.0, alpha=0.05
    )


def test_delta_lowers_bound_and_few_guesses_prove_nothing():
    bounds = [
        any_count_lower_bound(20_000, 60, 60, delta=delta, alpha=0.05) for delta in (0, 1e-5, 1e-4, 1e-3)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] > 0
    assert any_count_lower_bound(20_000, 20, 20, delta=1e-3, alpha=0.05) == 0.0
    assert any_count_lower_bound(20_000, 0, 0, delta=0.0, alpha=0.05) == 0.0


def trials_of(members, scores, **reading):
    rows = np.arange(members.size)
    return Trials(
        rows, np.zeros_like(rows), members, scores, Coins.FAIR, Reading(signed=True, threshold=0.0, **reading)
    )


@pytest.fixture
def rare_and_common():
    """A proof in 60 of 4,000 rounds, a hint that is right 6 times in 10 in all others."""
    rng = np.random.default_rng(2)
    members = rng.random(4000) < 0.5
    hint = np.where(rng.random(4000) < 0.6, 1.0, -1.0) * np.where(members, 1, -1)
    return members, np.where(np.arange(4000) < 60, np.where(members, 5.0, -5.0), hint)


def test_number_of_guesses_follows_strength():
    guesses = order_guesses(np.array([3.0, -5.0, 1.0, 0.0, 3.0]), Reading(signed=True))
    assert [guesses.at_least(cut) for cut in (0.5, 1.0, 3.0, 3.5, 9.0)] == [4, 4, 3, 1, 0]


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_two_events_get_half_of_the_error_each(rare_and_common, delta):
    members, scores = rare_and_common
    metric = epsilon_one_run.Metric(delta=delta)
    alone = metric(trials_of(members, scores, cut=4.0))
    assert alone.low == any_count_lower_bound(4000, 60, 60, delta=delta, alpha=1 - 0.95)
    both = metric(trials_of(members, scores, cut=4.0, fraction=0.9))
    assert both.low == any_count_lower_bound(4000, 60, 60, delta=delta, alpha=(1 - 0.95) / 2)
    assert "better of two events" in both.method
    assert metric(trials_of(members, scores, fraction=0.9)).low < both.low < alone.low


def test_event_that_never_occurs_leaves_the_other(rare_and_common):
    members, scores = rare_and_common
    right = int((members == (scores > 0)).sum())
    low = epsilon_one_run.Metric()(trials_of(members, scores, cut=9.0, fraction=1.0)).low
    assert low == one_run_lower_bound(4000, 4000, right, delta=0.0, alpha=(1 - 0.95) / 2)
    assert epsilon_one_run.Metric()(trials_of(members, scores, cut=9.0)).low == 0.0


def test_null_bounds_use_the_same_events(rare_and_common):
    members, scores = rare_and_common
    trials = trials_of(members, scores, cut=4.0, fraction=0.9)
    metric = epsilon_one_run.Metric()
    assert metric.lows(trials, [members]) == [metric(trials).low]


def test_null_scores_exceed_zero_at_most_at_nominal_rate(rare_and_common):
    members, scores = rare_and_common
    rng = np.random.default_rng(3)
    trials = trials_of(members, scores, cut=4.0, fraction=0.9)
    worlds = [rng.random(4000) < 0.5 for _ in range(REPETITIONS)]
    assert np.count_nonzero(epsilon_one_run.Metric().lows(trials, worlds)) <= MOST_ABOVE


def test_e_process_bets_on_strength(rare_and_common):
    members, scores = rare_and_common
    metric = epsilon_e_process.Metric(block=1000)
    share = metric(trials_of(members, scores, fraction=0.9)).low
    both = metric(trials_of(members, scores, fraction=0.9, cut=4.0)).low
    alone = metric(trials_of(members, scores, cut=4.0)).low
    assert share < both < alone < one_run_lower_bound(4000, 60, 60, delta=0.0, alpha=0.05)
