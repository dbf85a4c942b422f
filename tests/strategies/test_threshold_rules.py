import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.strategies.threshold_rules import TO_MEMBER, TO_NEITHER, SumRule, VoteRule, cuts_reached_by

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
def test_accuracy_matches_theory(rule, k, known):
    assert accuracy(rule, k, 2.0) == pytest.approx(known, abs=4 * np.sqrt(known * (1 - known) / 40_000))


def test_negative_shift_reverses_the_score():
    assert SumRule.between(np.ones(2), np.zeros(2))([[0.0, 0.0]]).tolist() == [1.0]
    assert VoteRule.between(np.ones(2), np.zeros(2))([[0.0, 0.0]]).tolist() == [1.0]


def test_unshifted_values_have_no_vote():
    rule = VoteRule.between(np.zeros(3), np.array([1.0, 0.0, -1.0]))
    assert rule([[0.9, 50.0, -0.9], [0.9, -50.0, 0.9]]).tolist() == [1.0, 0.0]


def test_zero_total_shift_scores_zero():
    assert SumRule.between(np.array([1.0, 0.0]), np.array([0.0, 1.0]))([[3.0, 4.0]]).tolist() == [0.0]


def test_outputs_must_match_values():
    with pytest.raises(BadInput, match="one output per value"):
        SumRule.between(np.zeros(3), np.ones(3))([1.0, 2.0])


def test_explicit_weights_and_thresholds_are_used():
    rule = SumRule(np.array([1.0, 0.5]), threshold=2.0, evidence=3.0)
    assert rule(np.array([[2.0, 2.0], [1.0, 2.0]])).tolist() == [3.0, 0.0]
    each = rule.cut_at(np.array([0.0, 2.0]), np.array([1.0, 2.0]))  # a row has its own
    assert each(np.array([[2.0, 2.0], [2.0, 2.0]])).tolist() == [3.0, 2.0]


def test_tie_at_cut_is_configurable():
    rows = np.array([[1.0, 0.0], [0.9, 5.0]])
    assert VoteRule(np.array([1.0, 5.0]), np.ones(2), 1.0, TO_MEMBER)(rows).tolist() == [0.0, 0.0]
    assert VoteRule(np.array([1.0, 5.0]), np.ones(2), 1.0, TO_NEITHER)(rows).tolist() == [-0.5, -0.5]


def test_votes_are_weighted_and_cuts_may_vary_by_row():
    rule = VoteRule(np.array([[0.0, 9.0], [9.0, 0.0]]), np.array([1.0, 0.25]), 0.0, TO_MEMBER)
    assert rule.votes(np.full((2, 2), 5.0)).tolist() == [1.0, 0.25]


def test_values_without_vote_are_ignored():
    rule = VoteRule.between(np.zeros(2), np.array([1.0, 0.0]))
    assert rule([[0.9, np.inf], [0.1, -np.inf]]).tolist() == [0.5, -0.5]


@pytest.mark.parametrize("fpr", [0.004, 0.05, 0.3, 0.9])
def test_cuts_are_the_smallest_keeping_the_rate(fpr):
    for values in (RNG.normal(size=(250, 3)), RNG.poisson(2.0, size=(250, 3)).astype(float)):
        cuts = cuts_reached_by(fpr, values)
        assert ((values >= cuts).mean(axis=0) <= fpr).all()
        for column, cut in zip(values.T, cuts, strict=True):
            below = column[column < cut]
            assert (column >= below.max()).mean() > fpr


def test_unreachable_rate_puts_cut_above_all_values():
    assert cuts_reached_by(0.1, np.ones((5, 1)))[0] == np.nextafter(1.0, 2.0)
