import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from leakgauge.domains.blackbox.guarantee import guarantee_for_pair
from leakgauge.mechanisms import (
    exponential,
    gaussian,
    geometric,
    laplace,
    noisy_max,
    randomized_response,
    sparse_vector,
)

LOW, HIGH = np.array([3.0, 0.0, 5.0]), np.array([4.0, 0.0, 3.0])


def gaussian_delta(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("mechanism", [laplace.Mechanism(scale=2.0), geometric.Mechanism(scale=2.0)])
def test_additive_noise_epsilon_is_l1_distance_over_scale(mechanism):
    promise = guarantee_for_pair(mechanism, LOW, HIGH)
    assert promise.epsilon == promise.exact_epsilon == pytest.approx(3 / 2)


def test_gaussian_epsilon_follows_from_l2_distance_and_delta():
    promise = guarantee_for_pair(gaussian.Mechanism(sigma=2.0, delta=1e-5), LOW, HIGH)
    mu = np.sqrt(5) / 2
    assert promise.delta == 1e-5
    assert promise.epsilon == pytest.approx(brentq(lambda e: gaussian_delta(mu, e) - 1e-5, 0, 50), rel=1e-6)


def test_randomized_response_epsilon_counts_changed_answers():
    mechanism = randomized_response.Mechanism(epsilon=0.7, categories=6)
    assert guarantee_for_pair(mechanism, LOW, HIGH).epsilon == pytest.approx(1.4)


def test_selection_epsilon_is_largest_log_ratio():
    weights = [np.exp(values / 2) / np.exp(values / 2).sum() for values in (LOW, HIGH)]
    promise = guarantee_for_pair(exponential.Mechanism(epsilon=1.0), LOW, HIGH)
    assert promise.epsilon == pytest.approx(np.abs(np.log(weights[0] / weights[1])).max(), rel=1e-6)


@pytest.mark.parametrize(
    "mechanism", [noisy_max.Mechanism(epsilon=1.0), sparse_vector.Mechanism(epsilon=1.0)]
)
def test_neighbouring_pair_gets_at_least_the_mechanism_epsilon(mechanism):
    promise = guarantee_for_pair(mechanism, np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    assert 0 < promise.epsilon <= 1.0 + 1e-9


def test_nominal_epsilon_is_kept_beside_exact_one():
    promise = guarantee_for_pair(laplace.Mechanism(epsilon=1.0), np.zeros(60), np.ones(60))
    assert (promise.nominal_epsilon, promise.epsilon) == (1.0, pytest.approx(60.0))


def test_equal_inputs_have_epsilon_zero():
    assert guarantee_for_pair(laplace.Mechanism(epsilon=1.0), LOW, LOW).epsilon == 0
