from math import exp, log, sqrt

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.mechanisms._bit_mechanism import BitCalibration
from leakgauge.mechanisms.bitrand import Mechanism
from leakgauge.theory import tradeoff

PRINTED = {  # flips by bit, for 512 features of 10 bits
    1.0: ".294 .315 .337 .360 .383 .407 .431 .456 .481 .506",
    5.0: ".019 .032 .051 .081 .127 .194 .284 .395 .519 .640",
    10.0: ".0003 .0007 .002 .005 .014 .037 .094 .220 .434 .676",
}


@pytest.mark.parametrize("epsilon", PRINTED)
def test_flip_probabilities_match_known_values(epsilon):
    mechanism = Mechanism(epsilon=epsilon)
    for text, zero, one in zip(PRINTED[epsilon].split(), mechanism.ones_from_zero, mechanism.ones_from_one):
        assert abs(zero - float(text)) < 10.0 ** (1 - len(text))  # one unit of the last digit printed
        assert zero + one == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0, 10.0])
def test_flip_probabilities_match_published_formula(epsilon):
    alpha = sqrt((epsilon + 5120) / (2 * 512 * sum(exp(2 * epsilon * k / 10) for k in range(10))))
    odds = [alpha * exp(k * epsilon / 10) for k in range(10)]
    np.testing.assert_allclose(Mechanism(epsilon=epsilon).ones_from_zero, [y / (1 + y) for y in odds])


@pytest.mark.parametrize("epsilon", PRINTED)
def test_sampled_bits_flip_at_that_rate(epsilon):
    rows = np.full((400, 512), -(0b101010101 / 16))
    outputs = Mechanism(epsilon=epsilon).sample(rows, np.random.default_rng(1)).ravel()
    steps = np.abs(outputs * 16).astype(int)
    assert np.mean(outputs >= 0) == pytest.approx(float(PRINTED[epsilon].split()[0]), abs=4e-3)
    for place, text in enumerate(PRINTED[epsilon].split()[1:]):
        flipped = (steps ^ 0b101010101) >> (8 - place) & 1
        assert flipped.mean() == pytest.approx(float(text), abs=4e-3)


@pytest.mark.parametrize(
    ("epsilon", "exact", "unsigned"), [(1, 2207, 1758), (3, 5350, 4177), (5, 9239, 7230), (10, 20038, 15805)]
)
def test_exact_epsilon_far_exceeds_nominal(epsilon, exact, unsigned):
    mechanism = Mechanism(epsilon=epsilon)
    guarantee = mechanism.guarantee
    assert round(guarantee.exact_epsilon) == exact
    assert round(mechanism.exact_epsilon(signed=False)) == unsigned
    assert guarantee.epsilon == guarantee.nominal_epsilon == epsilon
    assert (guarantee.relation, guarantee.unit) == (Relation.REPLACE_ONE, Unit.RECORD)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 3000.0])
def test_exact_calibration_flips_no_bit_with_majority(epsilon):
    mechanism = Mechanism(epsilon=epsilon, calibrate=BitCalibration.EXACT)
    flips = mechanism.ones_from_zero
    assert (flips <= 0.5).all()
    assert (np.diff(flips) > 0).all()
    assert 512 * sum(log((1 - flip) / flip) for flip in flips) == pytest.approx(epsilon, rel=1e-9)
    part = epsilon * 2 / (512 * 11)
    assert flips[3] == pytest.approx(1 / (1 + exp(part * 0.7)), rel=1e-12)


def test_optimal_attack_at_exact_epsilon_ten_is_weak():
    accuracy = tradeoff.max_accuracy(Mechanism(epsilon=10.0, calibrate=BitCalibration.EXACT).guarantee)
    parts = 10 * 2 / (512 * 11) * np.arange(1, 11) / 10
    mu = np.sqrt(512 * np.sum(4 * np.tanh(parts / 2) ** 2))  # of many small losses, by the central limit
    assert accuracy == pytest.approx(0.5 + mu / 2 / np.sqrt(2 * np.pi), abs=1e-3)


def test_rejects_alpha_with_exact_calibration():
    with pytest.raises(BadInput, match=r"alpha = 0\.1 with calibrate"):
        Mechanism(epsilon=1.0, alpha=0.1, calibrate=BitCalibration.EXACT)


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": np.nan}, {"features": 0}, {"features": 1.5}])
def test_rejects_parameters_out_of_range(wrong):
    with pytest.raises(BadInput, match=f"bitrand: {next(iter(wrong))}"):
        Mechanism(**{"epsilon": 1.0, **wrong})


def test_bits_are_validated_early():
    with pytest.raises(BadInput, match="bits must be two whole numbers"):
        Mechanism(epsilon=1.0, bits=(9, 9))
