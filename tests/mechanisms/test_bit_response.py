from math import exp

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms._bit_mechanism import BitCalibration
from leakgauge.mechanisms.bit_response import Mechanism


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 5120.0])
def test_bits_share_epsilon_by_default(epsilon):
    mechanism = Mechanism(epsilon=epsilon)
    np.testing.assert_allclose(mechanism.ones_from_zero, 1 / (1 + exp(epsilon / 5120)))
    assert (
        mechanism.guarantee.epsilon == mechanism.guarantee.exact_epsilon == pytest.approx(epsilon, rel=1e-12)
    )


def test_nominal_epsilon_is_per_bit():
    mechanism = Mechanism(epsilon=2.0, calibrate=BitCalibration.NOMINAL)
    np.testing.assert_allclose(mechanism.ones_from_one, 1 / (1 + exp(-2)))
    assert mechanism.guarantee.epsilon == 2
    assert mechanism.guarantee.exact_epsilon == pytest.approx(2 * 5120, rel=1e-12)


def test_all_bits_flip_equally_often():
    mechanism = Mechanism(epsilon=1.5, calibrate=BitCalibration.NOMINAL)
    outputs = mechanism.sample(np.full((300, 512), -21.3125), np.random.default_rng(1))  # 341 / 16
    kept = np.array([(np.abs(outputs * 16).astype(int) ^ 341) >> k & 1 for k in range(9)]) == 0
    np.testing.assert_allclose(kept.mean(axis=(1, 2)), 1 / (1 + exp(-1.5)), atol=4e-3)
    assert np.mean(outputs < 0) == pytest.approx(1 / (1 + exp(-1.5)), abs=4e-3)


@pytest.mark.parametrize("features", [0, -1, 2.5, np.nan])
def test_guarantee_counts_features(features):
    with pytest.raises(BadInput, match="bit_response: features"):
        Mechanism(epsilon=1.0, features=features)
