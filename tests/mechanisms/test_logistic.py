import mpmath
import numpy as np
import pytest
from scipy.stats import kstest, logistic

from leakgauge.mechanisms.logistic import Mechanism
from leakgauge.theory import tradeoff

SCALES = [0.05, 1.0, 7.5]


@pytest.mark.parametrize("scale", SCALES)
def test_distribution_matches_textbook(scale):
    noise, law = Mechanism(scale=scale), logistic(scale=scale)
    x = scale * np.linspace(-60, 60, 401)
    np.testing.assert_allclose(noise.log_density(x), law.logpdf(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(noise.log_cdf(x), law.logcdf(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(noise.log_sf(x), law.logsf(x), rtol=1e-9, atol=1e-300)


def test_far_tails_are_finite():
    far = np.array([-1e9, 1e9])
    assert np.isfinite(Mechanism(scale=0.01).log_density(far)).all()
    assert Mechanism(scale=1.0).log_cdf(far).tolist() == [-1e9, 0.0]


def test_samples_match_textbook():
    drawn = Mechanism(scale=2.5).sample(np.full(50_000, 3.0), np.random.default_rng(20240501))
    assert kstest(drawn, logistic(loc=3.0, scale=2.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("scale", SCALES)
def test_partial_moments_match_quadrature(scale):
    """E (X - x)+ = scale log(1 + e^(-x / scale)), and E (X - x)+^2 by mpmath."""
    noise = Mechanism(scale=scale)
    x = scale * np.array([-30.0, -2.0, -0.1, 0.0, 0.4, 5.0])
    chance, excess, square = noise.partial_moments(x)
    np.testing.assert_allclose(chance, logistic.sf(x, scale=scale), rtol=1e-12)
    np.testing.assert_allclose(excess, scale * np.logaddexp(0, -x / scale), rtol=1e-9)
    expected = [
        2 * scale**2 * mpmath.quad(lambda t: mpmath.log(1 + mpmath.exp(-t)), [z, z + 5, z + 20, z + 80])
        for z in (x / scale).tolist()
    ]
    np.testing.assert_allclose(square, np.array(expected, dtype=float), rtol=1e-8)


def test_reach_has_negligible_tail():
    noise = Mechanism(scale=3.0)
    assert logistic.sf(noise.reach, scale=3.0) <= 1.001e-17
    assert noise.reach < 3.0 * 39.2


@pytest.mark.parametrize("shift", [0.01, 0.5, 3.0, 40.0])
def test_optimal_attack_on_one_value_is_a_threshold(shift):
    """Under log-concave noise the best attack at an FPR cuts at a quantile: TPR = sf(isf(FPR) - shift)."""
    best = Mechanism(scale=1.0).best_attack([(shift, 1)])
    fpr = np.array([1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9])
    exact = logistic.sf(logistic.isf(fpr) - shift)
    low, high = best.tpr_at(fpr)
    assert (low <= exact + 1e-12).all()
    assert (exact <= high + 1e-12).all()
    assert np.max(high - low) < 2e-5
    assert best.accuracy[0] <= logistic.cdf(shift / 2) <= best.accuracy[1] + 1e-12


def test_optimal_attack_on_several_values_matches_convolution():
    """Losses of 12 values, binned finely and added up by numpy: an independent computation."""
    noise, n, shift = Mechanism(scale=1.0), 12, 0.7
    step = 1e-3
    y = np.arange(-45, 45, 5e-4)
    masses = np.diff(logistic.cdf(y - shift))
    losses = (logistic.logpdf(y - shift) - logistic.logpdf(y))[:-1]
    atoms = np.bincount(np.round((losses + shift) / step).astype(int), masses)
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, atoms)
    loss = step * np.arange(total.size) - n * shift
    advantage = np.sum(total[loss > 0] * -np.expm1(-loss[loss > 0]))
    low, high = noise.best_attack([(shift, n)]).accuracy
    assert low - 2e-4 <= (1 + advantage) / 2 <= high + 2e-4
    assert high - low < 1e-4


def test_epsilon_matches_laplace_and_curve_is_lower():
    from leakgauge.mechanisms import laplace

    mine, other = Mechanism(epsilon=1.0).guarantee, laplace.Mechanism(epsilon=1.0).guarantee
    assert mine.epsilon == other.epsilon == 1
    assert tradeoff.delta_at(mine.curve, 1.0) <= 1e-9
    assert tradeoff.max_accuracy(mine) == pytest.approx(logistic.cdf(0.5), abs=1e-5)
    assert tradeoff.max_accuracy(mine) < tradeoff.max_accuracy(other)


def test_spreading_a_shift_reveals_no_more():
    noise = Mechanism(epsilon=1.0)
    fpr = np.linspace(0, 1, 201)
    allowed = tradeoff.max_tpr(fpr, noise.guarantee)
    for parts in (2, 5, 40):
        spread = noise.curve(np.zeros(parts), np.full(parts, 1 / parts))
        assert (tradeoff.max_tpr(fpr, spread) <= allowed + 1e-5).all()
