from math import exp, log

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms._bit_mechanism import BitCalibration
from leakgauge.mechanisms.ome import Mechanism, OmeVariant


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_alpha_100_has_huge_exact_epsilon(epsilon):
    guarantee = Mechanism(epsilon=epsilon).guarantee
    assert round(guarantee.exact_epsilon) == 35342
    assert guarantee.epsilon == guarantee.nominal_epsilon == epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_alpha_1_has_half_the_nominal_epsilon(epsilon):
    assert Mechanism(epsilon=epsilon, alpha=1.0).exact_epsilon() == pytest.approx(epsilon / 2, rel=1e-3)


def test_odd_bits_vanish_and_even_bits_stay():
    mechanism = Mechanism(epsilon=1.0)
    np.testing.assert_allclose(mechanism.ones_from_one[::2], 100 / 101)
    np.testing.assert_allclose(mechanism.ones_from_one[1::2], 1 / (1 + 1e6))
    np.testing.assert_allclose(mechanism.ones_from_zero, 1 / (1 + 100 * exp(1 / 5120)))
    assert mechanism.ones_from_one.shape == (10,)


def test_lyu_parity_alternates_between_features():
    mechanism = Mechanism(epsilon=1.0, variant=OmeVariant.LYU)
    kept = mechanism.ones_from_one
    assert kept.shape == (512, 11)
    assert mechanism.encoding.largest == 1023 / 32
    np.testing.assert_allclose(kept.ravel()[::2], 100 / 101)
    np.testing.assert_allclose(kept.ravel()[1::2], 1 / (1 + 1e6))
    np.testing.assert_allclose(mechanism.ones_from_zero, 1 / (1 + 100 * exp(1 / 5632)))
    even, odd = log(100 / 101 * (1 + 100 * exp(1 / 5632))), log((1 + 1e6) / (1 + 100 * exp(1 / 5632)))
    assert mechanism.exact_epsilon() == pytest.approx(2816 * (even + odd), rel=1e-12)


def test_lyu_parity_with_even_bits_equals_parity_within_features():
    lyu, paper = (Mechanism(epsilon=1.0, variant=variant, bits=(5, 4)) for variant in OmeVariant)
    assert lyu.law == paper.law


@pytest.mark.parametrize("variant", OmeVariant)
def test_samples_flip_bits_by_parity(variant):
    mechanism = Mechanism(epsilon=1.0, variant=variant)
    rows = np.full((200, 512), -mechanism.encoding.largest)
    bits = mechanism.encoding.encode(mechanism.sample(rows, np.random.default_rng(1)))
    magnitudes = bits[..., 1:].mean(axis=0)
    for feature in (0, 1):
        start = feature * mechanism.encoding.n_bits if variant is OmeVariant.LYU else 0
        even = (start + 1 + np.arange(magnitudes.shape[1])) % 2 == 0
        of_kind = magnitudes[feature::2].mean(axis=0)
        np.testing.assert_allclose(of_kind[even], 100 / 101, atol=2.5e-3)
        np.testing.assert_allclose(of_kind[~even], 0, atol=1e-3)


@pytest.mark.parametrize("variant", OmeVariant)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 20_000.0])
def test_exact_calibration_uses_alpha_1(variant, epsilon):
    mechanism = Mechanism(epsilon=epsilon, variant=variant, calibrate=BitCalibration.EXACT)
    zero, n_bits = mechanism.ones_from_zero.ravel()[0], 512 * mechanism.encoding.n_bits
    np.testing.assert_allclose(mechanism.ones_from_one, 0.5)
    assert n_bits * -log(2 * zero) == pytest.approx(epsilon, rel=1e-9)
    assert mechanism.exact_epsilon() == pytest.approx(epsilon, rel=1e-9)


def test_rejects_other_alpha_with_exact_calibration():
    with pytest.raises(BadInput, match=r"alpha = 100\.0 with calibrate"):
        Mechanism(epsilon=1.0, alpha=100.0, calibrate=BitCalibration.EXACT)


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"alpha": np.inf}, {"features": np.nan}])
def test_rejects_parameters_out_of_range(wrong):
    with pytest.raises(BadInput, match=f"ome: {next(iter(wrong))}"):
        Mechanism(**{"epsilon": 1.0, **wrong})
