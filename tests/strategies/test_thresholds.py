import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.strategies.thresholds import SumRule, VoteRule

RNG = np.random.default_rng(1)


def accuracy(rule, k, scale, n=40_000):
    members = np.arange(n) % 2 == 0
    scores = rule.between(np.zeros(k), np.ones(k))(RNG.laplace(scale=scale, size=(n, k)) + members[:, None])
    coin = RNG.random(n) < 0.5
    return np.mean(np.where(scores == 0, coin, scores > 0) == members)


# Balanced accuracy on k Laplace cells of scale 2, by characteristic functions and exact binomials.
@pytest.mark.parametrize(
    ("rule", "k", "known"),
    [
        (SumRule, 1, 0.6106),
        (SumRule, 20, 0.7888),
        (SumRule, 60, 0.9150),
        (VoteRule, 1, 0.6106),
        (VoteRule, 20, 0.8387),
        (VoteRule, 60, 0.9580),
    ],
)
def test_accuracy_on_noisy_cells_is_as_computed(rule, k, known):
    assert accuracy(rule, k, 2.0) == pytest.approx(known, abs=4 * np.sqrt(known * (1 - known) / 40_000))


def test_a_target_that_lowers_values_is_scored_the_other_way():
    assert SumRule.between(np.ones(2), np.zeros(2))([[0.0, 0.0]]).tolist() == [1.0]
    assert VoteRule.between(np.ones(2), np.zeros(2))([[0.0, 0.0]]).tolist() == [1.0]


def test_values_that_the_target_does_not_move_have_no_vote():
    rule = VoteRule.between(np.zeros(3), np.array([1.0, 0.0, -1.0]))
    assert rule([[0.9, 50.0, -0.9], [0.9, -50.0, 0.9]]).tolist() == [1.0, 0.0]


def test_a_sum_that_does_not_move_says_nothing():
    assert SumRule.between(np.array([1.0, 0.0]), np.array([0.0, 1.0]))([[3.0, 4.0]]).tolist() == [0.0]


def test_outputs_must_match_the_values():
    with pytest.raises(BadInput, match="one output per value"):
        SumRule.between(np.zeros(3), np.ones(3))([1.0, 2.0])
