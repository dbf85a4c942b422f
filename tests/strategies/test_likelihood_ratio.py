import numpy as np
import pytest
from scipy.stats import laplace, norm

from leakgauge.strategies.likelihood_ratio import LogLikelihoodRatio

LOW, HIGH = np.zeros(3), np.array([1.0, 0.0, 2.0])


@pytest.mark.parametrize("law", [laplace, norm])
def test_ratio_matches_densities(law):
    outputs = np.random.default_rng(1).normal(size=(20, 3))
    ratio = LogLikelihoodRatio(lambda y, x: law.logpdf(y - x), LOW, HIGH)
    expected = np.log(law.pdf(outputs - HIGH).prod(axis=1) / law.pdf(outputs).prod(axis=1))
    np.testing.assert_allclose(ratio(list(outputs)), expected, atol=1e-12)


def test_joint_distribution_is_not_summed():
    ratio = LogLikelihoodRatio(
        lambda y, x: np.where(y == x.argmax(axis=-1), 0.0, -1.0), np.array([2.0, 1.0]), np.array([1.0, 2.0])
    )
    np.testing.assert_allclose(ratio([0.0, 1.0, 5.0]), [-1.0, 1.0, 0.0])


def test_certain_outputs_are_finite_and_impossible_ones_zero():
    def law(outputs, values):
        return np.where(np.abs(outputs - values) <= 1, np.log(0.5), -np.inf)

    ratio = LogLikelihoodRatio(law, np.array(0.0), np.array(1.5))
    scores = ratio([-0.9, 2.4, 0.7, 50.0])
    assert np.isfinite(scores).all()
    assert scores[0] < -1e5
    assert scores[1] > 1e5
    assert scores[2:].tolist() == [0, 0]
