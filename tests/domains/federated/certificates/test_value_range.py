"""Ranges of a neuron's value against brute force."""

import numpy as np
import pytest

from leakgauge.domains.federated.certificates.value_range import value_range
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.domains.federated.neurons.perturbed_rows import neuron_values
from leakgauge.domains.federated.neurons.relu_scores import ReluScore


def dense(units=6, features=3, seed=0):
    rng = np.random.default_rng(seed)
    first, biases, second = (rng.normal(size=size) for size in ((units, features), units, units))
    return CraftedNeuron(*(part.astype(np.float32) for part in (first, biases, second)), 0.3)


def clipped(weights, reach=2.0):
    weights = np.asarray(weights, dtype=float)
    knots = np.array([-reach, reach])
    return ReluScore(np.arange(weights.size), knots, weights[:, None] * [1.0, -1.0]).neuron(0.5, weights.size)


def test_clipped_features_have_range_of_twice_the_bound():
    least, most = value_range(clipped([1.0, -3.0]), np.full(2, -31.9375), np.full(2, 31.9375))
    assert (least, most) == pytest.approx((-3 * 4 - 0.5, 1 * 4 - 0.5))


def test_clipped_features_have_range_under_unbounded_noise():
    assert value_range(clipped([1.0, -3.0]), np.full(2, -np.inf), np.full(2, np.inf)) == pytest.approx(
        (-12.5, 3.5)
    )


def test_unbounded_feature_has_no_range_under_unbounded_noise():
    up = ReluScore(np.array([0]), np.array([1.0]), np.array([[2.0]])).neuron(0.0, 1)
    ends = np.array([-np.inf]), np.array([np.inf])
    assert value_range(up, *ends) == (0.0, np.inf)
    assert value_range(up, np.array([-np.inf]), np.array([4.0])) == (0.0, 6.0)
    assert value_range(dense(), np.full(3, -np.inf), np.full(3, np.inf)) == (-np.inf, np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_units_of_one_feature_are_combined_exactly(seed):
    """A function of one feature with many corners, on a fine grid."""
    rng = np.random.default_rng(seed)
    slopes, biases, second = (rng.normal(size=9).astype(np.float32) for _ in range(3))
    crafted = CraftedNeuron(slopes[:, None], biases, second, 0.0)
    grid = np.linspace(-3, 2, 200_001, dtype=np.float32)[:, None]
    values = crafted.values(grid)
    least, most = value_range(crafted, np.array([-3.0]), np.array([2.0]))
    assert (least, most) == pytest.approx((values.min(), values.max()), abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_no_row_of_box_leaves_range(seed):
    crafted, rng = dense(seed=seed), np.random.default_rng(seed)
    rows = rng.uniform(-2, 5, (50_000, 3)).astype(np.float32)
    corners = np.array(np.meshgrid(*[[-2, 5]] * 3), dtype=np.float32).reshape(3, -1).T
    values = crafted.values(np.concatenate([rows, corners]))
    least, most = value_range(crafted, np.full(3, -2.0), np.full(3, 5.0))
    assert least - 1e-4 <= values.min() <= values.max() <= most + 1e-4
    assert most - least < 4 * (values.max() - values.min())


def test_linear_bounds_are_tighter_than_intervals():
    """x + 10 less x + 10 is nothing; by intervals of the units alone it would be anything."""
    first = np.array([[1.0, 1.0], [1.0, 1.0]], dtype=np.float32)
    both = CraftedNeuron(first, np.full(2, 10, dtype=np.float32), np.array([1, -1], dtype=np.float32), 0.0)
    assert value_range(both, np.full(2, -1.0), np.full(2, 1.0)) == pytest.approx((0.0, 0.0))


def test_unit_without_inputs_is_constant():
    crafted = CraftedNeuron(
        np.zeros((1, 2), np.float32), np.ones(1, np.float32), np.full(1, 3, np.float32), 0.5
    )
    assert value_range(crafted, np.full(2, -1.0), np.full(2, 1.0)) == pytest.approx((3.5, 3.5))


@pytest.mark.parametrize("crafted", [dense(units=40), clipped([1.0, -3.0, 0.2])])
def test_values_of_many_rows_match_neuron(crafted, monkeypatch):
    monkeypatch.setattr("leakgauge.domains.federated.neurons.perturbed_rows.MAX_HELD_VALUES", 300)
    rows = np.random.default_rng(1).normal(scale=3, size=(101, 3)).astype(np.float32)
    np.testing.assert_allclose(neuron_values(crafted, rows), crafted.values(rows), atol=1e-5)
