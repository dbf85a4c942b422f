"""Against sums by mpmath, enumeration, and statements of Canonne, Kamath and Steinke (2020), "CKS"."""

from math import sqrt

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import gaussian
from leakgauge.mechanisms.discrete_gaussian import Mechanism
from leakgauge.theory import composition, tradeoff

SIGMAS = [0.15, 0.49, 0.51, 1.0, 3.7, 60.0]
mpmath.mp.dps = 40


def noise(sigma, **parameters):
    return Mechanism(sigma=sigma, delta=1e-5, **parameters)


def exact_masses(sigma, reach):
    """P(X = k) for |k| <= reach, by brute force with 40 digits."""
    far = reach + int(40 * sigma) + 40
    weights = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(far + 1)}
    total = weights[0] + 2 * mpmath.fsum(weights[k] for k in range(1, far + 1))
    return {k: weights[abs(k)] / total for k in range(-far, far + 1)}


@pytest.mark.parametrize("sigma", SIGMAS)
def test_probabilities_and_tails_match_definition(sigma):
    masses = exact_masses(sigma, 12)
    x = np.arange(-12, 13)
    mine = noise(sigma)
    expected = [float(mpmath.log(masses[int(k)])) for k in x]
    np.testing.assert_allclose(mine.log_density(x.astype(float)), expected, rtol=1e-11, atol=1e-13)
    upper = [float(mpmath.log(mpmath.fsum(p for j, p in masses.items() if j > k))) for k in x]
    lower = [float(mpmath.log(mpmath.fsum(p for j, p in masses.items() if j <= k))) for k in x]
    np.testing.assert_allclose(mine.log_sf(x.astype(float)), upper, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(mine.log_cdf(x.astype(float)), lower, rtol=1e-9, atol=1e-15)


def test_far_tails_are_exact():
    sigma, k = 0.5, 30
    masses = exact_masses(sigma, 40)
    tail = float(mpmath.log(mpmath.fsum(p for j, p in masses.items() if j > k)))
    assert noise(sigma).log_sf(np.array([float(k)]))[0] == pytest.approx(tail, rel=1e-12)
    assert np.isfinite(noise(0.02).log_cdf(np.array([-1e6]))).all()


def test_distribution_function_is_a_step_between_integers():
    x = np.array([0.2, 0.9, -0.1])
    np.testing.assert_array_equal(noise(1.0).log_cdf(x), noise(1.0).log_cdf(np.floor(x)))
    np.testing.assert_array_equal(noise(1.0).log_sf(x), noise(1.0).log_sf(np.floor(x)))


def test_very_wide_noise_matches_normal_tail():
    tabulated, normal = noise(1e5), noise(1.0001e5)
    x = 1e5 * np.array([-6.0, -1.0, 0.0, 0.5, 3.0, 8.0])
    np.testing.assert_allclose(tabulated.log_sf(x), normal.log_sf(x * 1.0001), rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0, 9.5])
def test_samples_match_exact_probabilities(sigma):
    n = 100_000
    drawn = noise(sigma).sample(np.full((n // 4, 4), 3.0), np.random.default_rng(20240501)) - 3
    masses = exact_masses(sigma, 60)
    values, counts = np.unique(drawn, return_counts=True)
    assert (values == np.round(values)).all()
    expected = n * np.array([float(masses[int(value)]) for value in values])
    common = expected >= 5
    observed = np.append(counts[common], n - counts[common].sum())
    wanted = np.append(expected[common], n - expected[common].sum())
    seen = wanted > 1e-3
    assert chisquare(observed[seen], wanted[seen] * observed[seen].sum() / wanted[seen].sum()).pvalue > 1e-3


@pytest.mark.parametrize("sigma", [0.2, 0.7, 1.0, 3.0, 20.0])
def test_variance_is_at_most_the_continuous_one(sigma):
    """CKS, corollary 9."""
    variance = float(mpmath.fsum(p * k * k for k, p in exact_masses(sigma, 10).items()))
    assert variance <= sigma**2 * (1 + 1e-12)
    drawn = noise(sigma).rounded().added_to(np.zeros(200_000), np.random.default_rng(3))
    assert np.mean(drawn**2) == pytest.approx(variance, rel=0.03, abs=1e-3)


def enumerated_delta(sigma, move, epsilon):
    """Sum of max(0, P(y - move) - e^epsilon P(y)) over all outputs: the definition of delta."""
    reach = int(9 * sigma) + 3
    masses = exact_masses(sigma, reach)
    there, away = np.ones(1), np.ones(1)
    for step in move:
        outputs = range(-reach, step + reach + 1)
        there = np.outer(there, [float(masses.get(y - step, 0)) for y in outputs]).ravel()
        away = np.outer(away, [float(masses[y]) for y in outputs]).ravel()
    return float(np.maximum(there - np.exp(epsilon) * away, 0).sum())


@pytest.mark.parametrize(("sigma", "shift"), [(0.4, 1), (1.0, 1), (1.0, 2), (4.0, 1), (2.5, 3)])
def test_guarantee_of_one_value_matches_enumeration(sigma, shift):
    """No move of the same length reveals less than this one, and for shift 1 there is no other."""
    epsilon = noise(sigma, sensitivity=float(shift)).guarantee.epsilon
    delta = enumerated_delta(sigma, (shift,), epsilon)
    if shift == 1:
        assert delta == pytest.approx(1e-5, rel=1e-6)
    assert delta <= 1e-5 * (1 + 1e-6)


@pytest.mark.parametrize(("squared", "moves"), [(2, [(1, 1)]), (4, [(2,), (1, 1, 1, 1)]), (5, [(2, 1)])])
def test_guarantee_covers_every_vector_shift(squared, moves):
    sigma = 0.6
    epsilon = noise(sigma, sensitivity=sqrt(squared)).guarantee.epsilon
    deltas = [enumerated_delta(sigma, move, epsilon) for move in moves]
    assert max(deltas) <= 1e-5 * (1 + 1e-6)
    if squared in (2, 4):
        assert max(deltas) == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize("squared", [1, 3, 4, 9, 16, 25])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 11.0])
def test_zcdp_is_an_upper_bound(sigma, squared):
    """CKS, theorem 4: rho = sensitivity^2 / (2 sigma^2)."""
    mechanism = noise(sigma, sensitivity=sqrt(squared))
    assert mechanism.rho == pytest.approx(squared / (2 * sigma**2))
    bound = composition.zcdp_epsilon(mechanism.rho, 1e-5)
    assert mechanism.guarantee.epsilon <= bound * (1 + 1e-12)
    assert (mechanism.guarantee.exact_epsilon is None) == (squared > 16)
    assert (mechanism.guarantee.curve is None) == (squared > 16)


def test_wide_noise_equals_continuous_gaussian():
    mine, continuous = noise(50.0).guarantee, gaussian.Mechanism(sigma=50.0, delta=1e-5).guarantee
    assert mine.epsilon == pytest.approx(continuous.epsilon, rel=1e-3)
    assert tradeoff.max_accuracy(mine) == pytest.approx(tradeoff.max_accuracy(continuous), abs=1e-4)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_curve_matches_enumeration(sigma):
    masses = exact_masses(sigma, 40)
    outputs = range(-40, 42)
    others, members = ([float(masses.get(k - move, 0)) for k in outputs] for move in (0, 1))
    exact = tradeoff.exact_curve(others, members)
    fpr = np.linspace(0, 1, 301)
    found = tradeoff.max_tpr(fpr, noise(sigma).guarantee.curve)
    np.testing.assert_allclose(found, tradeoff.max_tpr(fpr, exact), atol=2e-5)
    assert (found >= tradeoff.max_tpr(fpr, exact) - 1e-12).all()


@pytest.mark.parametrize("sensitivity", [1.0, 2.0, sqrt(3), 5.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_calibration_is_tight(epsilon, sensitivity):
    mechanism = Mechanism(epsilon=epsilon, delta=1e-6, sensitivity=sensitivity)
    assert mechanism.guarantee.epsilon == pytest.approx(epsilon, rel=1e-8)
    assert mechanism.guarantee.nominal_epsilon == epsilon


@pytest.mark.parametrize("sensitivity", [0.5, 1.5, np.nan, -1.0])
def test_rejects_impossible_integer_length(sensitivity):
    with pytest.raises(BadInput, match="discrete_gaussian: sensitivity must be"):
        noise(1.0, sensitivity=sensitivity)
