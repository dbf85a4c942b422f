import pickle
from itertools import permutations

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.classifiers.mlp import (
    SigmoidNetwork,
    diagonal_share,
    fit_mlp,
    rule_index,
    sum_network,
    vote_network,
)
from leakgauge.domains.locations.shadows.simulator import LabelledShadows, TrainCheckShadows

ROWS = np.random.default_rng(1).laplace(scale=2.0, size=(5000, 12))


def test_network_matches_explicit_formula():
    rng = np.random.default_rng(2)
    network = SigmoidNetwork(rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2), 0.3)
    row = [0.5, -1.0, 2.0]
    units = [
        1 / (1 + np.exp(-sum(row[i] * network.inner[i, j] for i in range(3)) - network.inner_bias[j]))
        for j in range(2)
    ]
    assert network([row])[0] == pytest.approx(units @ network.outer + 0.3)
    assert network.chance([row])[0] == pytest.approx(1 / (1 + np.exp(-network([row])[0])))


@pytest.mark.parametrize(("a", "b"), [(0.1, 1.0), (1.0, 10.0), (50.0, 50.0)])
def test_theorem_4_network_thresholds_the_sum(a, b):
    says = sum_network(12, 6.0, a=a, b=b)(ROWS) >= 0
    np.testing.assert_array_equal(says, ROWS.sum(axis=1) >= 6.0)


def test_theorem_5_network_counts_votes():
    thresholds = np.linspace(-1, 1, 12)
    votes = (thresholds <= ROWS).sum(axis=1)
    clear = (np.abs(ROWS - thresholds) > 0.01).all(axis=1)  # a sigmoid of 1000 x 0.01 is a step to 5e-5
    assert clear.mean() > 0.9
    for needed in (4.5, 6.5, 8.5):
        says = vote_network(thresholds, needed, a=1000.0, b=10.0)(ROWS) >= 0
        np.testing.assert_array_equal(says[clear], (votes >= needed)[clear])


def test_larger_scales_approach_the_step_function():
    """Figure 16 of Liu et al. (2024): the loss falls with a and with b."""
    step = ROWS.sum(axis=1) >= 6.0

    def loss(a, b):
        return np.abs(sum_network(12, 6.0, a=a, b=b).chance(ROWS) - step).mean()

    assert loss(0.1, 5.0) > loss(1.0, 5.0) > loss(10.0, 5.0)
    assert loss(10.0, 1.0) > loss(10.0, 5.0) > loss(10.0, 50.0)
    assert loss(100.0, 100.0) < 0.005


@pytest.mark.parametrize("scales", [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": float("nan")}])
def test_scales_must_be_positive(scales):
    with pytest.raises(BadInput, match="scales of a network"):
        sum_network(2, 1.0, **scales)


INDEX_ROWS = np.random.default_rng(1).laplace(scale=2.0, size=(4000, 30))
SUMS, VOTES = INDEX_ROWS.sum(axis=1), (INDEX_ROWS >= 0.5).sum(axis=1).astype(float)


@pytest.mark.parametrize("units", [4, 6])
def test_diagonal_is_the_best_matching(units):
    weights = np.random.default_rng(units).normal(size=(4, units))
    best = max(np.abs(weights[range(4), list(order)]).sum() for order in permutations(range(units), 4))
    assert diagonal_share(weights) == pytest.approx(best / np.abs(weights).sum())


def test_voting_network_is_recognised():
    network = vote_network(np.full(30, 0.5), 15.0, a=200.0, b=1.0)
    found = rule_index(network.inner[:, ::-1], network(INDEX_ROWS), SUMS, VOTES)
    assert found.diagonal == 1.0
    assert found.two_threshold > 0.999 > found.one_threshold


def test_summing_network_is_recognised():
    network = sum_network(30, 15.0, a=0.01, b=1.0)
    found = rule_index(np.tile(network.inner, 30), network(INDEX_ROWS), SUMS, VOTES)
    assert found.diagonal == pytest.approx(1 / 30)
    assert found.one_threshold > 0.99 > found.two_threshold


def test_zero_weights_and_constant_scores_match_no_rule():
    found = rule_index(np.zeros((3, 2)), np.ones(4), np.arange(4.0), np.arange(4.0))
    assert (found.diagonal, found.one_threshold, found.two_threshold) == (0.0, 0.0, 0.0)


def noisy_cells(n, rng, k=60, noise="laplace", scale=2.0):
    """What an informed attacker has left of k cells: noise, and one where the target was in."""
    members = rng.permutation(np.arange(n) % 2 == 1)
    return LabelledShadows(getattr(rng, noise)(scale=scale, size=(n, k)) + members[:, None], members)


def lesson(n, rng, **kind):
    return TrainCheckShadows(noisy_cells(n, rng, **kind), noisy_cells(max(n // 4, 100), rng, **kind))


def accuracy(score, test):
    return np.mean((score(test.rows) > 0) == test.members)


def test_gaussian_noise_is_separated_nearly_optimally():
    rng = np.random.default_rng(1)
    learned = fit_mlp(lesson(2000, rng, k=4, noise="normal", scale=1.0), 8, rng)
    # Four values moved by one under normal noise of one: at best Phi(1) = .8413.
    assert accuracy(learned, noisy_cells(20_000, rng, k=4, noise="normal", scale=1.0)) == pytest.approx(
        0.8413, abs=0.012
    )


def test_learns_what_a_sum_cannot():
    rng = np.random.default_rng(2)

    def rings(n):
        members = np.arange(n) % 2 == 1
        return LabelledShadows(rng.normal(size=(n, 2)) * np.where(members, 0.5, 2.0)[:, None], members)

    learned = fit_mlp(TrainCheckShadows(rings(4000), rings(1000)), 12, rng)
    # Normal of one half against normal of two, in the plane: cut at the radius of equal densities.
    squared = 2 * np.log(16) / (4 - 0.25)
    best = (1 - np.exp(-squared / 0.5) + np.exp(-squared / 8)) / 2
    assert accuracy(learned, rings(20_000)) == pytest.approx(best, abs=0.02)


def test_learns_sum_from_few_shadows_of_laplace_noise():
    """Liu et al. (2024), figures 12 and 13: at 2,000 shadows the one-threshold rule, not the better vote."""
    rng = np.random.default_rng(3)
    test = noisy_cells(20_000, rng)
    found = [fit_mlp(lesson(2000, rng), 60, rng) for _ in range(3)]
    assert all(diagonal_share(learned.network.inner) < 0.1 for learned in found)
    # One-threshold .9150, two-threshold .9580 (characteristic functions, exact binomials).
    assert 0.885 < np.mean([accuracy(learned, test) for learned in found]) < 0.9175


def test_training_is_reproducible_and_can_be_pickled():
    first, again = (
        fit_mlp(lesson(400, np.random.default_rng(6), k=5), 5, np.random.default_rng(7)) for _ in range(2)
    )
    rows = noisy_cells(50, np.random.default_rng(8), k=5).rows
    np.testing.assert_array_equal(first(rows), again(rows))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first))(rows), first(rows))


def test_constant_inputs_are_handled():
    rng = np.random.default_rng(9)
    plain = lesson(400, rng, k=3)
    for part in (plain.train, plain.check):
        part.rows[:, 1] = 4.0
    assert np.isfinite(fit_mlp(plain, 3, rng)(plain.check.rows)).all()
