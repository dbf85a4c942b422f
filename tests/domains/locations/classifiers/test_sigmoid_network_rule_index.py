from itertools import permutations

import numpy as np
import pytest

from leakgauge.domains.locations.classifiers.sigmoid_network import (
    diagonal_share,
    rule_index,
    sum_network,
    vote_network,
)

ROWS = np.random.default_rng(1).laplace(scale=2.0, size=(4000, 30))
SUMS, VOTES = ROWS.sum(axis=1), (ROWS >= 0.5).sum(axis=1).astype(float)


@pytest.mark.parametrize("units", [4, 6])
def test_the_diagonal_is_the_best_of_all_matchings(units):
    weights = np.random.default_rng(units).normal(size=(4, units))
    best = max(np.abs(weights[range(4), list(order)]).sum() for order in permutations(range(units), 4))
    assert diagonal_share(weights) == pytest.approx(best / np.abs(weights).sum())


def test_a_network_that_votes_is_known_by_its_weights_and_its_scores():
    network = vote_network(np.full(30, 0.5), 15.0, a=200.0, b=1.0)
    found = rule_index(network.inner[:, ::-1], network(ROWS), SUMS, VOTES)
    assert found.diagonal == 1.0
    assert found.two_threshold > 0.999 > found.one_threshold


def test_a_network_that_adds_is_known_by_its_weights_and_its_scores():
    network = sum_network(30, 15.0, a=0.01, b=1.0)
    found = rule_index(np.tile(network.inner, 30), network(ROWS), SUMS, VOTES)
    assert found.diagonal == pytest.approx(1 / 30)
    assert found.one_threshold > 0.99 > found.two_threshold


def test_weights_of_zero_and_constant_scores_belong_to_no_rule():
    found = rule_index(np.zeros((3, 2)), np.ones(4), np.arange(4.0), np.arange(4.0))
    assert (found.diagonal, found.one_threshold, found.two_threshold) == (0.0, 0.0, 0.0)
