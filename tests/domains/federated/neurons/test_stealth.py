"""Crafted weights beside honest ones, against a direct count of distribution functions."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from leakgauge.domains.federated.neurons.network import CraftedNeuron, honest_layer
from leakgauge.domains.federated.neurons.stealth import (
    chosen_neuron_stealth,
    chosen_neuron_weights,
    compare_weights,
    first_layer_stealth,
    flat_weights,
    kernel_density,
    mean_stealth,
    weight_densities,
)

RNG = np.random.default_rng(8)
ONE_HOT = CraftedNeuron(
    np.eye(200, 100, dtype=np.float32),
    np.full(200, -2, np.float32),
    RNG.normal(size=200).astype(np.float32),
    -30.0,
)


def honest_neuron(rng):
    (first, first_bias), (second, bias) = honest_layer(100, 200, rng), honest_layer(200, 1, rng)
    return CraftedNeuron(first, first_bias, second[0], float(bias[0]))


def test_honest_weights_are_not_suspicious():
    rng = np.random.default_rng(1)
    p_values = [first_layer_stealth(honest_neuron(rng), rng).p_value for _ in range(40)]
    assert np.mean(np.array(p_values) < 0.1) <= 0.25
    assert first_layer_stealth(honest_neuron(rng), rng).times_honest == pytest.approx(1, abs=0.02)
    assert chosen_neuron_stealth(honest_neuron(rng), rng).statistic < 0.2


def test_zero_and_one_weights_are_suspicious():
    """Of 200 x 100 weights 100 are one; as many biases are -2 as there are units; the rest is zero."""
    found = first_layer_stealth(ONE_HOT, np.random.default_rng(1))
    assert found.statistic == pytest.approx(0.5, abs=0.02)
    assert found.p_value < 1e-100
    assert found.zeros == pytest.approx(1 - 300 / 20_200)
    assert found.norm == pytest.approx(np.sqrt(100 + 200 * 4))


def test_distance_matches_distribution_functions():
    one, other, rng = RNG.normal(size=300), RNG.uniform(-1, 1, 200), np.random.default_rng(1)
    points = np.concatenate([one, other])
    apart = [abs(np.mean(one <= point) - np.mean(other <= point)) for point in points]
    assert compare_weights(one, other, rng).statistic == pytest.approx(max(apart))


def test_large_layers_are_subsampled():
    one, rng = np.random.default_rng(3).uniform(0, 1, 400_000), np.random.default_rng(1)
    assert compare_weights(one, one + 0.25, rng).statistic == pytest.approx(0.25, abs=0.01)


def test_bias_belongs_to_chosen_neuron():
    assert chosen_neuron_weights(ONE_HOT).size == 201
    assert chosen_neuron_weights(ONE_HOT)[-1] == -30
    assert flat_weights((ONE_HOT.first, ONE_HOT.first_bias)).size == 20_200


def test_targets_are_averaged():
    rng = np.random.default_rng(1)
    told = mean_stealth([ONE_HOT, honest_neuron(rng)], rng)
    assert set(told) == {"stealth_first", "stealth_second"}
    assert told["stealth_first"] == pytest.approx(0.25, abs=0.02)


def test_histograms_and_curves_integrate_to_one():
    made = weight_densities(RNG.normal(size=5_000), RNG.uniform(-0.1, 0.1, 3_000))
    for bars in (made.crafted_bars, made.honest_bars):
        assert (bars * np.diff(made.edges)).sum() == pytest.approx(1)
    for curve in (made.crafted_curve, made.honest_curve):
        assert np.trapezoid(curve, made.points) == pytest.approx(1, abs=0.01)


def test_curves_match_another_library():
    values, points = RNG.normal(size=4_000), np.linspace(-4, 4, 401)
    width = 0.9 * min(values.std(), np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34) * 4_000**-0.2
    theirs = gaussian_kde(values, width / values.std(ddof=1))(points)
    np.testing.assert_allclose(kernel_density(values, points), theirs, atol=0.002)


@pytest.mark.parametrize("values", [np.zeros(50), np.append(np.zeros(50), 1.0)])
def test_nearly_constant_weights_have_a_curve(values):
    points = np.linspace(-1, 2, 301)
    assert np.trapezoid(kernel_density(values, points), points) == pytest.approx(1, abs=0.02)
    made = weight_densities(values, np.zeros(3))
    assert np.isfinite(made.crafted_curve).all()
