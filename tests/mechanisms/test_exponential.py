from itertools import product

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.exponential import Mechanism
from leakgauge.theory import tradeoff


def law_of(mechanism: Mechanism, utilities: np.ndarray) -> np.ndarray:
    options = np.arange(float(utilities.size))
    return np.exp(mechanism.log_law(options, np.tile(utilities, (utilities.size, 1))))


def test_distribution_matches_textbook():
    utilities = np.array([3.0, 1.0, 0.0, 2.5])
    weights = np.exp(0.7 * utilities / (2 * 1.5))
    mechanism = Mechanism(epsilon=0.7, sensitivity=1.5)
    np.testing.assert_allclose(law_of(mechanism, utilities), weights / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize("monotone", [False, True])
def test_guarantee_is_largest_log_ratio(monotone):
    mechanism = Mechanism(epsilon=1.0, sensitivity=2.0, monotone=monotone)
    largest = 0.0
    for start in product([0.0, 8.0, 90.0], repeat=3):
        for move in product([0, 2.0] if monotone else [-2.0, 0, 2.0], repeat=3):
            laws = law_of(mechanism, np.array(start)), law_of(mechanism, np.array(start) + move)
            largest = max(largest, np.abs(np.log(laws[0] / laws[1])).max())
    assert largest <= mechanism.guarantee.epsilon * (1 + 1e-12)
    assert largest == pytest.approx(mechanism.guarantee.epsilon, rel=1e-6)


def test_curve_matches_distribution():
    mechanism, low, high = Mechanism(epsilon=2.0), np.array([1.0, 0.0, 3.0]), np.array([0.0, 1.0, 3.0])
    curve = mechanism.curve(low, high)
    laws = law_of(mechanism, low), law_of(mechanism, high)
    assert tradeoff.max_accuracy(curve) == pytest.approx((1 + np.abs(laws[0] - laws[1]).sum() / 2) / 2)
    assert mechanism.curve(np.zeros((2, 3)), np.ones((2, 3))) is None


def test_huge_utilities_keep_precision():
    law = Mechanism(scale=1.0).log_law(np.array([0.0, 1.0]), np.array([[0.0, 5000.0]] * 2))
    np.testing.assert_allclose(law, [-5000.0, 0.0])


def test_unknown_option_is_impossible():
    law = Mechanism(epsilon=1.0).log_law(np.array([-1.0, 0.5, 2.0]), np.zeros((3, 2)))
    assert law.tolist() == [-np.inf] * 3


@pytest.mark.parametrize("bad", [np.nan, 0.0, -2.0, np.inf])
def test_rejects_non_positive_scale_and_sensitivity(bad):
    with pytest.raises(BadInput, match="scale"):
        Mechanism(scale=bad)
    with pytest.raises(BadInput, match="sensitivity"):
        Mechanism(epsilon=1.0, sensitivity=bad)
