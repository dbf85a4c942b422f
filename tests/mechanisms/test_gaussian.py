import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.gaussian import GaussianCalibration, Mechanism
from leakgauge.theory import tradeoff


def lost(mechanism: Mechanism, move: float, epsilon: float) -> float:
    """Delta at an epsilon for one value moved by ``move``, by quadrature over the law."""

    def excess(x):
        present, absent = (np.exp(mechanism.log_law(np.array(x), np.array(v))) for v in (move, 0.0))
        return max(0.0, float(present - np.exp(epsilon) * absent))

    sigma = mechanism.noise_scale
    cut = epsilon * sigma**2 / move + move / 2
    return (
        quad(excess, cut, cut + 3 * sigma, epsabs=1e-16)[0]
        + quad(excess, cut + 3 * sigma, cut + 15 * sigma)[0]
    )


@pytest.mark.parametrize("sigma", [0.3, 1.0, 50.0])
def test_distribution_matches_textbook(sigma):
    outputs, values = np.linspace(-9, 9, 41), np.full(41, 1.5)
    law = Mechanism(sigma=sigma, delta=1e-5).log_law(outputs, values)
    np.testing.assert_allclose(law, norm.logpdf(outputs, 1.5, sigma), rtol=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-5), (3.0, 1e-6)])
@pytest.mark.parametrize("sensitivity", [1.0, 4.0])
def test_guarantee_is_tight(epsilon, delta, sensitivity):
    mechanism = Mechanism(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    assert mechanism.guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert lost(mechanism, sensitivity, mechanism.guarantee.epsilon) == pytest.approx(delta, rel=1e-5)


def test_classic_calibration_reports_exact_epsilon():
    mechanism = Mechanism(epsilon=0.5, delta=1 / 3998, calibration=GaussianCalibration.CLASSIC)
    guarantee = mechanism.guarantee
    assert mechanism.noise_scale == pytest.approx(8.2543, abs=1e-4)
    assert guarantee.nominal_epsilon == 0.5
    assert guarantee.epsilon == guarantee.exact_epsilon == pytest.approx(0.308, abs=5e-4)
    assert lost(mechanism, 1.0, guarantee.epsilon) == pytest.approx(1 / 3998, rel=1e-5)


def test_classic_calibration_rejects_epsilon_above_one():
    with pytest.raises(BadInput, match="analytic"):
        Mechanism(epsilon=1.5, delta=1e-5, calibration=GaussianCalibration.CLASSIC)
    mechanism = Mechanism(epsilon=1.5, delta=1e-5, calibration=GaussianCalibration.CLASSIC, sigma=3.0)
    assert mechanism.noise_scale == 3.0


def test_unsupported_epsilon_is_only_nominal():
    guarantee = Mechanism(epsilon=0.1, delta=1e-5, sigma=1.0).guarantee
    assert guarantee.nominal_epsilon == 0.1
    assert guarantee.epsilon > 4


def test_only_l2_length_matters():
    mechanism, fpr = Mechanism(sigma=2.0, delta=1e-5, sensitivity=5.0), np.linspace(0, 1, 301)
    allowed = tradeoff.max_tpr(fpr, mechanism.guarantee)
    for move in ([5.0, 0.0], [3.0, 4.0], [-5.0, 0.0]):
        np.testing.assert_allclose(
            tradeoff.max_tpr(fpr, mechanism.curve(np.zeros(2), np.array(move))), allowed
        )
    np.testing.assert_allclose(allowed, norm.cdf(norm.ppf(fpr) + 2.5), atol=1e-5)


def test_low_order_bits_do_not_reveal_the_value():
    outputs = Mechanism(sigma=1.0, delta=1e-5).sample(np.full(1000, 0.1), np.random.default_rng(1)) * 2.0**24
    np.testing.assert_array_equal(outputs, np.round(outputs))


@pytest.mark.parametrize("delta", [np.nan, 0.0, 1.0, -1e-5])
def test_rejects_invalid_delta(delta):
    with pytest.raises(BadInput, match="delta"):
        Mechanism(epsilon=1.0, delta=delta)


@pytest.mark.parametrize("bad", [np.nan, 0.0, -2.0, np.inf])
def test_rejects_non_positive_sigma_and_sensitivity(bad):
    with pytest.raises(BadInput, match="sigma"):
        Mechanism(sigma=bad, delta=1e-5)
    with pytest.raises(BadInput, match="sensitivity"):
        Mechanism(epsilon=1.0, delta=1e-5, sensitivity=bad)


def test_missing_epsilon_and_sigma_give_advice():
    with pytest.raises(BadInput, match=r"add epsilon = \.\.\. or sigma"):
        Mechanism(delta=1e-5)
