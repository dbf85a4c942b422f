import mpmath
import numpy as np
import pytest
from scipy.stats import laplace

from leakgauge.mechanisms._selection_laws import log_integral, log_laplace_cdf


def test_log_laplace_keeps_precision_in_both_tails():
    places = np.array([-300.0, -3.0, 0.0, 1e-9, 2.0, 50.0])
    np.testing.assert_allclose(log_laplace_cdf(places), laplace.logcdf(places), rtol=1e-12)
    assert float(log_laplace_cdf(np.array(-5000.0))) == pytest.approx(-5000 - np.log(2))


@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
def test_density_integrates_to_one(scale):
    total = log_integral(lambda x: -np.abs(x - 5) / scale - np.log(2 * scale), np.array([5.0]), scale, scale)
    assert float(total) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("gap", [0.0, 0.3, 7.0, 60.0, 500.0])
def test_laplace_difference_matches_closed_form(gap):
    """P(X - Y > gap) for two Laplace noises is (1/2 + gap/4) e^-gap."""
    total = log_integral(
        lambda x: -np.abs(x) - np.log(2) + log_laplace_cdf(-(gap + x)), np.array([0.0, -gap]), 1.0, 1.0
    )
    assert float(total) == pytest.approx(np.log(0.5 + gap / 4) - gap, rel=1e-12)


def test_products_match_high_precision():
    slow, fast, kinks = 7.0, 0.4, [-3.0, 0.0, 1.1, 20.0]

    def below(z):
        return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2

    def density(x):
        product = mpmath.exp(-abs(x) / slow) / (2 * slow)
        for kink, side in zip((-3.0, 1.1, 20.0), (1, -1, 1)):
            product *= below(side * (x - kink) / fast)
        return product

    with mpmath.workdps(30):
        ends = [-400, -50, *kinks, 50, 400]
        pieces = sorted({float(e) + d for e in ends for d in (-4, -1, 0, 1, 4)})
        exact = mpmath.log(mpmath.quad(density, pieces))

    def log_density(x):
        total = -np.abs(x) / slow - np.log(2 * slow)
        for kink, side in zip((-3.0, 1.1, 20.0), (1, -1, 1)):
            total = total + log_laplace_cdf(side * (x - kink) / fast)
        return total

    ours = log_integral(log_density, np.array(kinks), 1 / (1 / slow + 3 / fast), slow)
    assert float(ours) == pytest.approx(float(exact), rel=1e-10)


def test_several_densities_are_integrated_together():
    scales = np.array([1.0, 2.0, 4.0])
    totals = log_integral(lambda x: -np.abs(x[:, None]) / scales, np.array([0.0]), 1.0, 4.0)
    np.testing.assert_allclose(np.exp(totals), 2 * scales, rtol=1e-12)
