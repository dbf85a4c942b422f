import numpy as np
import pytest
from scipy.stats import laplace

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.laplace import Mechanism
from leakgauge.theory import tradeoff


@pytest.mark.parametrize("scale", [0.3, 1.0, 50.0])
def test_distribution_matches_textbook(scale):
    outputs, values = np.linspace(-9, 9, 41), np.full(41, 1.5)
    law = Mechanism(scale=scale).log_law(outputs, values)
    np.testing.assert_allclose(law, laplace.logpdf(outputs, 1.5, scale), rtol=1e-12)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.1, 1.0), (1.0, 10.0), (4.0, 0.5)])
def test_guarantee_is_largest_log_ratio(epsilon, sensitivity):
    mechanism = Mechanism(epsilon=epsilon, sensitivity=sensitivity)
    outputs = np.linspace(-40, 40, 8001)[:, None] * np.ones(2)
    largest = 0.0
    for share in (0.0, 0.3, 1.0):  # of the move, in the first of two values
        move = sensitivity * np.array([share, share - 1])
        ratio = (mechanism.log_law(outputs, move) - mechanism.log_law(outputs, np.zeros(2))).max(axis=0).sum()
        largest = max(largest, ratio)
    assert largest == pytest.approx(mechanism.guarantee.epsilon, rel=1e-9)


def test_unsupported_epsilon_is_only_nominal():
    guarantee = Mechanism(epsilon=0.5, scale=0.25, sensitivity=2.0).guarantee
    assert (guarantee.epsilon, guarantee.exact_epsilon, guarantee.nominal_epsilon) == (8.0, 8.0, 0.5)


def test_shifting_one_value_is_the_worst_case():
    mechanism, fpr = Mechanism(epsilon=1.5, sensitivity=3.0), np.linspace(0, 1, 501)
    allowed = tradeoff.max_tpr(fpr, mechanism.guarantee)
    for move in ([3.0, 0.0], [1.5, -1.5], [2.9, 0.1], [1.0, 1.0, 1.0], [0.25] * 12, [0.5, 0.5]):
        reached = tradeoff.max_tpr(fpr, mechanism.curve(np.zeros(len(move)), np.array(move)))
        assert (reached <= allowed + 1e-6).all()
    np.testing.assert_allclose(
        tradeoff.max_tpr(fpr, mechanism.curve(np.zeros(2), np.array([0, 3.0]))), allowed
    )


def test_low_order_bits_do_not_reveal_the_value():
    """Raw float64 noise reaches different numbers for different values; ours lie on one grid."""
    mechanism, n = Mechanism(epsilon=1.0), 50_000
    for value in (0.0, 1.0, 0.1, 12345.678):
        outputs = mechanism.sample(np.full(n, value), np.random.default_rng(1))
        steps = outputs * 2.0**24
        np.testing.assert_array_equal(steps, np.round(steps))
    low, high = (mechanism.sample(np.full(n, v), np.random.default_rng(2 + int(v))) for v in (0.0, 1.0))
    for bits in (2, 4, 6):
        shares = [np.mean((y * 2.0**24) % 2**bits == 0) for y in (low, high)]
        assert shares == pytest.approx([2.0**-bits] * 2, abs=0.01)


def test_missing_epsilon_and_scale_give_advice():
    with pytest.raises(BadInput, match=r"add epsilon = \.\.\. or scale"):
        Mechanism()


@pytest.mark.parametrize("bad", [np.nan, 0.0, -2.0, np.inf])
def test_rejects_non_positive_scale_and_sensitivity(bad):
    with pytest.raises(BadInput, match="scale"):
        Mechanism(scale=bad)
    with pytest.raises(BadInput, match="sensitivity"):
        Mechanism(epsilon=1.0, sensitivity=bad)


@pytest.mark.parametrize("epsilon", [1e-310, 1e308])
def test_rejects_epsilon_with_infinite_scale(epsilon):
    with pytest.raises(BadInput, match="laplace"):
        Mechanism(epsilon=epsilon, sensitivity=1e-20 if epsilon > 1 else 1.0)
