import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leakgauge.core.errors import BadInput
from leakgauge.theory import gdp, tradeoff

# cells, best accuracy, epsilon at delta 1e-5, for sigma = 8.2543: statistics by another program
TABLE = [
    (1, 0.5241, 0.420),
    (5, 0.5539, 1.012),
    (10, 0.5759, 1.482),
    (20, 0.6068, 2.180),
    (40, 0.6492, 3.224),
    (60, 0.6805, 4.067),
    (80, 0.7060, 4.805),
    (100, 0.7277, 5.474),
    (120, 0.7465, 6.095),
    (140, 0.7632, 6.680),
]
SIGMA = np.sqrt(2 * np.log(1.25 * 3998)) / 0.5


def delta_with_many_digits(mu: float, epsilon: float) -> float:
    with mpmath.workdps(400):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)

        def phi(x):
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        return float(phi(m / 2 - e / m) - mpmath.exp(e) * phi(-m / 2 - e / m))


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.5, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("share", [-0.4, -0.1, 0.0, 0.1, 1.0, 3.0, 6.0])
def test_delta_matches_high_precision(mu, share):
    epsilon = max(mu * mu / 2 + share * mu, 0.0)
    assert gdp.delta_at(mu, epsilon) == pytest.approx(delta_with_many_digits(mu, epsilon), rel=2e-8)


@pytest.mark.parametrize("number", [float, np.float64])
def test_delta_of_nearly_no_noise_does_not_overflow(number):
    """Shifts so large that e^epsilon Phi(-far) is a difference of huge exponents: it is at most 1 / far."""
    mu, epsilon = number(30370004999.760498), number(4.611686014559706e20)
    assert gdp.delta_at(mu, epsilon) == pytest.approx(norm.cdf(mu / 2 - epsilon / mu), abs=1e-9)
    assert gdp.delta_at(number(1e200), number(1e300)) == 1
    assert gdp.epsilon_at(mu, 1e-5) == pytest.approx(mu * mu / 2, rel=1e-8)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.5, 0.2), (1.0, 1.0), (3.0, 2.0)])
def test_delta_matches_its_integral(mu, epsilon):
    def excess(x):
        return max(0.0, norm.pdf(x, mu) - np.exp(epsilon) * norm.pdf(x))

    cut = epsilon / mu + mu / 2
    assert gdp.delta_at(mu, epsilon) == pytest.approx(quad(excess, cut, cut + 12)[0], rel=1e-7)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 100.0, 2000.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01, 0.5])
def test_mu_and_epsilon_are_inverse(epsilon, delta):
    mu = gdp.mu_for(epsilon, delta)
    assert gdp.epsilon_at(mu, delta) == pytest.approx(epsilon, rel=1e-8)
    assert gdp.delta_at(mu, epsilon) == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 1e-6), (4.0, 1e-3), (12.0, 1e-9)])
def test_calibration_matches_public_accountant(epsilon, delta):
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    sigma = gdp.sigma_for(epsilon, delta, sensitivity=2.0)
    public = GaussianPrivacyLoss(standard_deviation=sigma, sensitivity=2.0)
    assert public.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize(("n", "accuracy", "epsilon"), TABLE)
def test_table_of_many_cells_is_reproduced(n, accuracy, epsilon):
    mu = gdp.compose(np.full(n, 1 / SIGMA))
    assert gdp.max_accuracy(mu) == pytest.approx(accuracy, abs=1e-4)
    assert gdp.epsilon_at(mu, 1e-5) == pytest.approx(epsilon, abs=6e-4)
    assert tradeoff.epsilon_at(gdp.curve(mu), 1e-5) == pytest.approx(epsilon, abs=6e-4)


def test_classic_calibration_is_conservative():
    sigma = gdp.classic_sigma_for(0.5, 1 / 3998)
    assert sigma == pytest.approx(SIGMA)
    assert gdp.epsilon_at(1 / sigma, 1 / 3998) == pytest.approx(0.308, abs=5e-4)
    assert gdp.delta_at(1 / sigma, 0.5) == pytest.approx(6.3e-7, rel=0.01)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
def test_classic_calibration_holds_up_to_one_and_fails_at_large_epsilons(delta):
    for epsilon in (0.01, 0.3, 1.0):
        assert gdp.classic_sigma_for(epsilon, delta) >= gdp.sigma_for(epsilon, delta)
    beyond = np.sqrt(2 * np.log(1.25 / delta)) / 50.0
    assert gdp.sigma_for(50.0, delta) > beyond
    with pytest.raises(BadInput, match="analytic"):
        gdp.classic_sigma_for(1.5, delta)


@pytest.mark.parametrize("mu", [0.0, 0.05, 0.7, 2.0, 6.0])
def test_polygons_bracket_exact_curve(mu):
    fpr = np.concatenate([[0.0], np.logspace(-12, 0, 4001)])
    exact = norm.cdf(norm.ppf(fpr) + mu)
    np.testing.assert_allclose(gdp.max_tpr(fpr, mu), exact, atol=1e-13)
    above, below = tradeoff.max_tpr(fpr, gdp.curve(mu)), tradeoff.max_tpr(fpr, gdp.curve_below(mu))
    assert (above >= exact - 1e-12).all()
    assert (below <= exact + 1e-12).all()
    assert np.max(above - below) < 2e-5


@pytest.mark.parametrize("mu", [0.05, 0.7, 2.0, 6.0])
def test_accuracy_and_auc_agree_with_quadrature(mu):
    area = quad(lambda x: norm.cdf(x) * norm.pdf(x, mu), mu - 12, mu + 12)[0]
    assert gdp.max_auc(mu) == pytest.approx(area, abs=1e-8)
    assert tradeoff.max_auc(gdp.curve(mu)) == pytest.approx(area, abs=1e-6)
    variation = quad(lambda x: abs(norm.pdf(x, mu) - norm.pdf(x)) / 2, -12, mu + 12, points=[mu / 2])[0]
    assert gdp.max_accuracy(mu) == pytest.approx((1 + variation) / 2, abs=1e-8)
    assert tradeoff.max_accuracy(gdp.curve(mu)) == pytest.approx((1 + variation) / 2, abs=1e-8)


def test_mus_compose_like_independent_coordinates():
    assert gdp.compose([3.0, 4.0]) == 5
    rng = np.random.default_rng(3)
    shift = np.array([0.6, 0.8, 1.1])
    draws = rng.normal(size=(200_000, 3))
    guesses = (draws @ shift > shift @ shift / 2).mean(), ((draws + shift) @ shift > shift @ shift / 2).mean()
    simulated = (1 + guesses[1] - guesses[0]) / 2
    assert gdp.max_accuracy(gdp.compose(shift)) == pytest.approx(simulated, abs=4e-3)


def test_extreme_values_raise_no_warning():
    assert gdp.delta_at(0.0, 0.0) == 0
    assert gdp.delta_at(np.inf, 5.0) == 1
    assert gdp.epsilon_at(0.0, 0.0) == 0
    assert gdp.epsilon_at(1.0, 0.0) == np.inf
    assert gdp.epsilon_at(1.0, 0.9) == 0
    assert gdp.mu_for(1.0, 0.0) == 0
    assert gdp.mu_for(np.inf, 0.1) == np.inf
    assert tradeoff.max_accuracy(gdp.curve(1e4)) == 1


@pytest.mark.parametrize("bad", [np.nan, -1.0])
def test_rejects_non_positive_numbers(bad):
    for call in (
        lambda: gdp.delta_at(bad, 1.0),
        lambda: gdp.epsilon_at(1.0, bad),
        lambda: gdp.mu_for(bad, 0.1),
        lambda: gdp.curve(bad),
        lambda: gdp.sigma_for(1.0, bad),
        lambda: gdp.classic_sigma_for(1.0, bad),
    ):
        with pytest.raises(BadInput):
            call()
