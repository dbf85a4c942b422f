from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, gumbel_r, laplace

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.noisy_max import Mechanism, NoisyMaxNoise
from leakgauge.theory import tradeoff

NOISES = {NoisyMaxNoise.LAPLACE: laplace, NoisyMaxNoise.EXPONENTIAL: expon, NoisyMaxNoise.GUMBEL: gumbel_r}
UTILITIES = [[0.0, 0.0], [1.0, 0.0, 2.5], [3.0, -4.0, 3.0, 2.9], [0.0, 9.0], list(np.linspace(0, 5, 12))]


def law_of(mechanism: Mechanism, utilities: np.ndarray) -> np.ndarray:
    options = np.arange(float(utilities.size))
    return np.exp(mechanism.log_law(options, np.tile(utilities, (utilities.size, 1))))


@pytest.mark.parametrize("noise", NoisyMaxNoise)
@pytest.mark.parametrize("utilities", UTILITIES)
def test_distribution_matches_quadrature(noise, utilities):
    utilities, law, scale = np.array(utilities), NOISES[noise], 1.7
    ours = law_of(Mechanism(scale=scale, noise=noise), utilities)
    assert ours.sum() == pytest.approx(1, abs=1e-12)
    ends = np.unique(np.concatenate([utilities, [utilities.min() - 60, utilities.max() + 60]]))
    for i, u in enumerate(utilities):
        others = np.delete(utilities, i)

        def density(x, u=u, others=others):
            return law.pdf(x, u, scale) * law.cdf(x, others, scale).prod()

        exact = sum(quad(density, a, b, limit=200, epsabs=1e-13)[0] for a, b in pairwise(ends))
        assert ours[i] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("gap", [0.0, 3.0, 50.0, 600.0])
def test_two_options_match_closed_form(gap):
    values, scale = np.array([[0.0, gap * 2.0]]), 2.0
    closed = {
        NoisyMaxNoise.LAPLACE: np.log(0.5 + gap / 4) - gap,
        NoisyMaxNoise.EXPONENTIAL: np.log(0.5) - gap,
        NoisyMaxNoise.GUMBEL: -np.logaddexp(0, gap),
    }
    for noise, exact in closed.items():
        ours = Mechanism(scale=scale, noise=noise).log_law(np.zeros(1), values)
        assert float(ours[0]) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("noise", NoisyMaxNoise)
@pytest.mark.parametrize("monotone", [False, True])
def test_guarantee_is_largest_log_ratio(noise, monotone):
    mechanism = Mechanism(epsilon=1.0, sensitivity=2.0, noise=noise, monotone=monotone)
    options = np.arange(3.0)
    largest = 0.0
    for start in ([0.0, 0.0, 0.0], [0.0, 8.0, 8.0], [0.0, 900.0, 4.0], [900.0, 900.0, 0.0]):
        for move in product([0, 2.0] if monotone else [-2.0, 0, 2.0], repeat=3):
            laws = (
                mechanism.log_law(options, np.tile(np.add(start, m), (3, 1))) for m in (np.zeros(3), move)
            )
            largest = max(largest, np.abs(np.subtract(*laws)).max())
    assert largest <= mechanism.guarantee.epsilon * (1 + 1e-9)
    assert largest == pytest.approx(mechanism.guarantee.epsilon, abs=5e-3)


@pytest.mark.parametrize("noise", NoisyMaxNoise)
def test_samples_match_distribution(noise):
    mechanism, utilities, n = Mechanism(epsilon=1.0, noise=noise), np.array([1.0, 0.0, 2.5]), 100_000
    outputs = mechanism.sample(np.tile(utilities, (n, 1)), np.random.default_rng(1))
    shares = np.bincount(outputs.astype(int), minlength=3) / n
    np.testing.assert_allclose(shares, law_of(mechanism, utilities), atol=7e-3)


def test_curve_matches_distribution():
    mechanism, low, high = Mechanism(epsilon=2.0), np.array([1.0, 0.0, 3.0]), np.array([0.0, 1.0, 3.0])
    laws = law_of(mechanism, low), law_of(mechanism, high)
    variation = np.abs(laws[0] - laws[1]).sum() / 2
    assert tradeoff.max_accuracy(mechanism.curve(low, high)) == pytest.approx((1 + variation) / 2)
    assert mechanism.curve(np.zeros((2, 3)), np.ones((2, 3))) is None


def test_handles_many_options():
    for noise in NoisyMaxNoise:
        law = law_of(Mechanism(epsilon=1.0, noise=noise), np.linspace(0, 10, 80))
        assert law.sum() == pytest.approx(1, abs=1e-10)
        equal = law_of(Mechanism(epsilon=1.0, noise=noise), np.zeros(80))
        np.testing.assert_allclose(equal, 1 / 80, rtol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, 0.0, -2.0, np.inf])
def test_rejects_non_positive_scale_and_sensitivity(bad):
    with pytest.raises(BadInput, match="scale"):
        Mechanism(scale=bad)
    with pytest.raises(BadInput, match="sensitivity"):
        Mechanism(epsilon=1.0, sensitivity=bad)
