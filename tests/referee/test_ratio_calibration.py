"""The check of a stated noise distribution: it errs no more often than it says, and finds what is wrong."""

import numpy as np
import pytest
from scipy.special import expit

from leakgauge.referee.ratio_calibration import ratio_calibration


def drawn(epsilon: float, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Fair coins, and the true log ratio of a randomized response about each."""
    members = rng.random(n) < 0.5
    truthful = rng.random(n) < expit(epsilon)
    return np.where(members == truthful, epsilon, -epsilon), members


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 20.0])
def test_true_ratios_are_rejected_no_more_often_than_stated(epsilon):
    rng = np.random.default_rng(1)
    rejected = sum(ratio_calibration(*drawn(epsilon, 300, rng)).p_value < 0.1 for _ in range(400))
    assert rejected <= 400 * 0.1 + 5 * np.sqrt(400 * 0.1 * 0.9)


def test_true_ratios_of_a_density_are_not_rejected():
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(200):
        members = rng.random(400) < 0.5
        outputs = members + rng.normal(size=400)
        rejected += ratio_calibration(outputs - 0.5, members).p_value < 0.05
    assert rejected <= 200 * 0.05 + 5 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize("factor", [0.5, 1.5, -1.0])
def test_wrong_ratios_are_found(factor):
    ratios, members = drawn(2.0, 2_000, np.random.default_rng(3))
    assert ratio_calibration(ratios, members).p_value > 1e-3
    test = ratio_calibration(factor * ratios, members)
    assert test.p_value < 1e-6
    assert "should have been made with the target" in test.finding


def test_impossible_outputs_refute_at_once():
    assert ratio_calibration(np.array([np.nan, 0.0]), np.array([True, False])).p_value == 0
    assert ratio_calibration(np.array([np.inf, 0.0]), np.array([False, True])).p_value == 0
    assert ratio_calibration(np.array([np.inf, -np.inf]), np.array([True, False])).p_value == 1
