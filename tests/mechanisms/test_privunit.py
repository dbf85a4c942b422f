"""PrivUnit against the formulas of Bhowmick et al. (2018), enumeration of areas and simulation."""

import numpy as np
import pytest
from scipy.special import beta, betainc, expit
from scipy.stats import chisquare

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.privunit import Mechanism, PrivUnitCalibration
from leakgauge.theory import tradeoff


def uniform_directions(n: int, features: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((n, features))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def published_scale(features: int, cosine: float, p: float) -> float:
    """The m of algorithm 1 of the paper, by incomplete beta functions."""
    alpha, tau = (features - 1) / 2, (1 + cosine) / 2
    below = betainc(alpha, alpha, tau) * beta(alpha, alpha)
    above = beta(alpha, alpha) - below
    return (1 - cosine**2) ** alpha / (2 ** (features - 2) * (features - 1)) * (p / above - (1 - p) / below)


@pytest.mark.parametrize("features", [2, 3, 10, 40])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_scale_is_the_published_one(features, epsilon):
    mechanism = Mechanism(epsilon=epsilon, features=features)
    m = published_scale(features, mechanism.cap.cosine, float(expit(mechanism.log_odds)))
    assert mechanism.mean_cosine == pytest.approx(m, rel=1e-7)
    assert mechanism.variance == pytest.approx(1 / m**2 - 1, rel=1e-7)


@pytest.mark.parametrize("features", [2, 3, 20])
def test_area_of_the_cap_is_that_of_uniform_directions(features):
    mechanism, n = Mechanism(epsilon=2.0, features=features), 200_000
    inside = np.mean(uniform_directions(n, features, 1)[:, 0] >= mechanism.cap.cosine)
    area = mechanism.cap.area
    assert abs(inside - area) < 5 * np.sqrt(area * (1 - area) / n)
    p = expit(mechanism.log_odds)
    assert np.log(p / area / ((1 - p) / (1 - area))) == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("features", [2, 3, 64])
def test_reports_are_unbiased_on_their_sphere(features):
    mechanism, n = Mechanism(epsilon=3.0, features=features), 60_000
    value = np.full(features, -2.0)
    outputs = mechanism.sample(np.tile(value, (n, 1)), np.random.default_rng(2))
    direction = value / np.linalg.norm(value)
    np.testing.assert_allclose(np.linalg.norm(outputs, axis=1), 1 / mechanism.mean_cosine, rtol=1e-9)
    error = outputs.mean(axis=0) - direction
    assert np.linalg.norm(error) < 5 * np.sqrt(mechanism.variance / n)
    squared = np.mean(np.sum((outputs - direction) ** 2, axis=1))
    assert squared == pytest.approx(mechanism.variance, rel=0.02)


@pytest.mark.parametrize("features", [2, 3, 30])
def test_density_is_that_of_the_samples(features):
    """Uniform directions, weighted by the density, fall into slices around the value as samples do."""
    mechanism, n = Mechanism(epsilon=2.0, features=features), 10_000
    value = np.eye(features)[0]
    samples = mechanism.sample(np.tile(value, (n, 1)), np.random.default_rng(3)) * mechanism.mean_cosine
    uniform = uniform_directions(40 * n, features, 4)
    weights = np.exp(
        mechanism.log_law(uniform / mechanism.mean_cosine, np.broadcast_to(value, uniform.shape))
    )
    assert weights.mean() == pytest.approx(1, abs=0.01)
    edges = np.quantile(uniform[:, 0], np.linspace(0, 1, 13))
    edges[[0, -1]] = -2, 2
    expected = np.histogram(uniform[:, 0], edges, weights=weights)[0]
    observed = np.histogram(samples[:, 0], edges)[0]
    assert chisquare(observed, expected * (n / expected.sum())).pvalue > 1e-4


@pytest.mark.parametrize("features", [2, 3, 12])
@pytest.mark.parametrize("angle", [0.2, 1.0, 2.5, np.pi])
def test_curve_between_directions_matches_simulation(features, angle):
    mechanism, n = Mechanism(epsilon=1.5, features=features), 400_000
    low, high = np.eye(features)[0], np.zeros(features)
    high[:2] = np.cos(angle), np.sin(angle)
    uniform = uniform_directions(n, features, 5) / mechanism.mean_cosine
    laws = [np.exp(mechanism.log_law(uniform, np.broadcast_to(v, uniform.shape))) for v in (low, high)]
    apart = np.mean((laws[1] > laws[0] * 1.01) * laws[1])
    curve = mechanism.curve(low, high)
    assert tradeoff.epsilon_at(curve, 0.0) == pytest.approx(1.5, rel=1e-6)
    fpr = apart * np.exp(-1.5)
    assert tradeoff.max_tpr(fpr, curve) == pytest.approx(apart, abs=5e-3)
    spread = np.linspace(0, 1, 101)
    allowed = tradeoff.max_tpr(spread, mechanism.guarantee)
    assert (tradeoff.max_tpr(spread, curve) <= allowed + 1e-9).all()


@pytest.mark.parametrize("features", [3, 50, 512])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_exact_calibration_meets_epsilon_and_is_no_worse_than_the_published_one(features, epsilon):
    exact = Mechanism(epsilon=epsilon, features=features)
    paper = Mechanism(epsilon=epsilon, features=features, calibrate=PrivUnitCalibration.PAPER)
    assert exact.guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert paper.guarantee.epsilon <= epsilon * (1 + 1e-12)
    assert exact.variance <= paper.variance
    outputs = exact.sample(np.ones((200, features)), np.random.default_rng(1))
    assert np.isfinite(exact.log_law(outputs, np.ones((200, features)))).all()


def test_best_share_has_the_least_variance():
    best = Mechanism(epsilon=4.0, features=30)
    for share in np.linspace(0.05, 0.95, 19):
        assert Mechanism(epsilon=4.0, features=30, share=share).variance >= best.variance * (1 - 1e-9)


def test_several_reports_add_up_unless_memoised():
    values = np.tile([1.0, 2.0, -1.0], (30, 1))
    one = Mechanism(epsilon=1.0, features=3)
    fresh, memoised = (Mechanism(epsilon=1.0, features=3, reports=2, memoised=same) for same in (False, True))
    outputs = fresh.sample(values, np.random.default_rng(1))
    assert outputs.shape == (30, 2, 3)
    each = one.log_law(outputs[:, 0], values) + one.log_law(outputs[:, 1], values)
    np.testing.assert_allclose(fresh.log_law(outputs, values), each)
    assert np.isneginf(memoised.log_law(outputs, values)).all()
    again = memoised.sample(values, np.random.default_rng(1))
    np.testing.assert_allclose(memoised.log_law(again, values), one.log_law(again[:, 0], values))
    assert fresh.guarantee.epsilon == pytest.approx(2.0)
    assert memoised.guarantee.epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "values", "problem"),
    [
        ({"features": 1}, [1.0], "features must be a whole number >= 2"),
        ({"features": 3, "share": 1.0}, [1.0, 0, 0], "share must be in"),
        ({"features": 3}, [1.0, 0.0], "takes vectors of features = 3 entries"),
        ({"features": 2}, [0.0, 0.0], "has no direction"),
        ({"features": 2}, [np.nan, 0.0], "has no direction"),
    ],
)
def test_bad_input_is_one_line(parameters, values, problem):
    with pytest.raises(BadInput, match=f"privunit: .*{problem}"):
        Mechanism(epsilon=1.0, **parameters).sample(np.array(values), np.random.default_rng(1))
