"""Bounds that may be read at any time hold at all times together, and still find something."""

import numpy as np
import pytest
from scipy.special import ndtr

from known_trials import RANK, SIGNED, coins, trials
from leakgauge.core.game import Coins
from leakgauge.referee.bounded_mean import mean_low
from leakgauge.referee.confidence_sequence import earlier_thresholds, sequence_high, sequence_low
from leakgauge.referee.metrics import accuracy, accuracy_mean, accuracy_own, auc
from night import others_at_night

SHAPES = {
    "0 or 1": (0.6, lambda rng, n: (rng.random(n) < 0.6) * 1.0),
    "nearly always 1": (0.98, lambda rng, n: (rng.random(n) < 0.98) * 1.0),
    "mean of 20": (0.7, lambda rng, n: rng.binomial(20, 0.7, n) / 20),
    "rarely 0": (0.9405, lambda rng, n: np.where(rng.random(n) < 0.01, 0.0, rng.binomial(20, 0.95, n) / 20)),
}


def test_bound_is_the_mean_at_which_the_wealth_is_enough():
    """By hand: a hundred ones, and all wealth or a part of it on every one of them."""
    parts = np.append(1.0, 0.9 * 2.0 ** -np.arange(0, 9, 0.5))
    low = sequence_low(np.ones(100), 0.05)
    assert np.mean((1 - parts + parts / low) ** 100) == pytest.approx(20, rel=1e-3)
    assert sequence_high(np.zeros(100), 0.05) == pytest.approx(1 - low)
    assert sequence_low(np.zeros(100), 0.05) < 1e-6


@pytest.mark.parametrize("shape", others_at_night(SHAPES, "nearly always 1", "rarely 0"))
def test_a_look_after_every_ten_rounds_is_allowed(shape):
    """400 audits of 500 rounds, 50 looks each: the worst look is wrong in at most 5 % of them.

    The bound for a fixed number of rounds is wrong at some look in many more.
    """
    mean, draw = SHAPES[shape]
    rng = np.random.default_rng([5, list(SHAPES).index(shape)])
    low = high = 0
    for _ in range(400):
        values = draw(rng, 500)
        # the bound is above the mean at a look exactly where the mean itself is refuted there
        looks = [values[:n] for n in range(10, 501, 10)]
        low += any(refutes(seen, mean) for seen in looks)
        high += any(refutes(1 - seen, 1 - mean) for seen in looks)
    assert low <= 33  # 1 chance in 200 if 5 % is exact
    assert high <= 33


def refutes(values, mean):
    """Whether the wealth against this mean is at least 20; as in the method, by its definition."""
    parts = np.append(1.0, 0.9 * 2.0 ** -np.arange(0, 9, 0.5))
    with np.errstate(divide="ignore"):
        logs = np.log(1 - parts + parts * values[:, None] / mean).sum(axis=0)
    return np.logaddexp.reduce(logs) - np.log(parts.size) >= np.log(20)


def test_bound_exceeds_a_mean_where_the_wealth_refutes_it():
    rng = np.random.default_rng(6)
    for _ in range(50):
        values = rng.beta(3, 2, size=60)
        assert (sequence_low(values, 0.05) > 0.55) == refutes(values, 0.55)


def test_bounds_for_a_fixed_number_of_rounds_do_not_survive_looks():
    rng, wrong = np.random.default_rng(7), 0
    for _ in range(200):
        values = (rng.random(500) < 0.6) * 1.0
        wrong += any(mean_low(values[:n], 0.0, 0.05) > 0.6 for n in range(20, 501, 20))
    assert wrong > 20  # 5 % would be 10


@pytest.mark.parametrize(("n_targets", "widest"), [(1, 2.2), (20, 2.4)])
def test_price_of_looking_is_about_twofold_at_most(n_targets, widest):
    rng = np.random.default_rng(8)
    ratios = []
    for _ in range(40):
        values = rng.binomial(n_targets, 0.7, 1_000) / n_targets
        ratios.append(
            (values.mean() - sequence_low(values, 0.05)) / (values.mean() - mean_low(values, 0.0, 0.05))
        )
    assert 1 < np.median(ratios) < widest


def normal(n, n_targets, rng, shift=1.0):
    members = coins(n * n_targets, rng)
    return trials(members, members * shift + rng.normal(size=members.size), RANK, n_targets=n_targets)


def test_thresholds_come_from_earlier_blocks_only():
    rng = np.random.default_rng(9)
    rows = normal(200, 3, rng)
    groups = rows.targets.astype(np.int64)
    says, counted = earlier_thresholds(rows, groups, 50)
    assert not counted[rows.rounds < 50].any()
    assert counted[rows.rounds >= 50].all()
    later = rows.rounds >= 100
    changed = trials(np.where(later, ~rows.members, rows.members), rows.scores, RANK, n_targets=3)
    same, _ = earlier_thresholds(changed, groups, 50)
    assert (says[~later] == same[~later]).all()


@pytest.mark.nightly
def test_fitted_thresholds_keep_coverage_at_every_look():
    """The best threshold is right with a chance of .69; nobody is told a smaller upper bound, at any look."""
    rng, truth = np.random.default_rng(10), float(ndtr(0.5))
    low = high = 0
    for _ in range(200):
        rows = normal(300, 4, rng)
        looks = [
            accuracy_mean.Metric(confidence=0.9).sequence(rows.where(rows.rounds < n), 30)
            for n in range(60, 301, 60)
        ]
        low += any(answer.low > truth for answer in looks)
        high += any(answer.high < truth for answer in looks)
    assert low <= 18
    assert high <= 18


def test_sequences_of_accuracy_agree_with_what_they_bound():
    rng = np.random.default_rng(11)
    rows = normal(3_000, 2, rng)
    for metric in (accuracy, accuracy_mean):
        answer = metric.Metric().sequence(rows, 100)
        assert answer.low < ndtr(0.5) < answer.high
        assert answer.high - answer.low < 0.08
    own = trials(rows.members, rows.scores - 0.5, SIGNED, n_targets=2)
    answer = accuracy_own.Metric().sequence(own, 100)
    assert answer.low < ndtr(0.5) < answer.high
    assert answer.high - answer.low < 0.07
    assert not auc.Metric().has_sequence


def test_given_membership_has_no_sequence():
    members = np.arange(400) < 200
    rows = trials(members, np.where(members, 1.0, -1.0), SIGNED, Coins.GIVEN)
    answer = accuracy_own.Metric().sequence(rows, 50)
    assert (answer.value, answer.low, answer.high) == (None, None, None)
    assert "membership was given" in answer.reason


def test_one_block_chooses_thresholds_and_counts_nothing():
    answer = accuracy.Metric().sequence(normal(40, 1, np.random.default_rng(12)), 50)
    assert answer.low is None
    assert "first block" in answer.reason
