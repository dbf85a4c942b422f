import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, dlaplace

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.geometric import Mechanism
from leakgauge.theory import tradeoff


@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
def test_distribution_matches_textbook(scale):
    outputs, values = np.arange(-20.0, 21.0), np.full(41, 3.0)
    law = Mechanism(scale=scale).log_law(outputs, values)
    np.testing.assert_allclose(law, dlaplace.logpmf(outputs, 1 / scale, 3), rtol=1e-9)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.1, 1.0), (1.0, 4.0), (4.0, 2.0)])
def test_guarantee_is_largest_log_ratio(epsilon, sensitivity):
    mechanism = Mechanism(epsilon=epsilon, sensitivity=sensitivity)
    outputs = np.arange(-50.0, 51.0)[:, None] * np.ones(2)
    largest = 0.0
    for first in range(int(sensitivity) + 1):
        move = np.array([first, first - sensitivity])
        ratio = (mechanism.log_law(outputs, move) - mechanism.log_law(outputs, np.zeros(2))).max(axis=0).sum()
        largest = max(largest, ratio)
    assert largest == pytest.approx(mechanism.guarantee.epsilon, rel=1e-9)


def test_shifting_one_value_is_the_worst_case():
    mechanism, fpr = Mechanism(epsilon=1.5, sensitivity=6.0), np.linspace(0, 1, 501)
    allowed = tradeoff.max_tpr(fpr, mechanism.guarantee)
    for move in ([6.0, 0.0], [3.0, -3.0], [5.0, 1.0], [2.0, 2.0, 2.0], [1.0] * 6, [1.0, 1.0]):
        reached = tradeoff.max_tpr(fpr, mechanism.curve(np.zeros(len(move)), np.array(move)))
        assert (reached <= allowed + 1e-9).all()


def test_non_integer_outputs_are_impossible():
    mechanism = Mechanism(epsilon=0.5)
    outputs = mechanism.sample(np.full(1000, 7.0), np.random.default_rng(1))
    np.testing.assert_array_equal(outputs, np.round(outputs))
    assert mechanism.log_law(np.array(7.5), np.array(7.0)) == -np.inf


@pytest.mark.parametrize("value", [0.5, np.nan])
def test_rejects_non_integer_values(value):
    mechanism = Mechanism(epsilon=1.0)
    for call in (
        lambda: mechanism.sample(np.array([value]), np.random.default_rng(1)),
        lambda: mechanism.log_law(np.zeros(1), np.array([value])),
        lambda: mechanism.curve(np.zeros(1), np.array([value])),
    ):
        with pytest.raises(BadInput, match="use laplace"):
            call()


@pytest.mark.parametrize("sensitivity", [0.5, 0.0, -1.0, np.nan, np.inf])
def test_rejects_non_integer_sensitivity(sensitivity):
    with pytest.raises(BadInput, match="whole number"):
        Mechanism(epsilon=1.0, sensitivity=sensitivity)


@pytest.mark.parametrize("bad", [np.nan, 0.0, -2.0, np.inf])
def test_rejects_non_positive_scale(bad):
    with pytest.raises(BadInput, match="scale"):
        Mechanism(scale=bad)


@pytest.mark.parametrize("n_answers", [5, 20, 60])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_epsilon_at_a_delta_is_never_too_small(n_answers, delta):
    # The loss of an answer is +-epsilon: a binomial, so that the least epsilon has a closed form.
    plus = np.arange(n_answers + 1)
    losses, chances = (2 * plus - n_answers) * 0.3, binom.pmf(plus, n_answers, 1 / (1 + np.exp(-0.3)))
    exact = brentq(
        lambda epsilon: chances @ np.maximum(-np.expm1(epsilon - losses), 0.0) - delta, 0, n_answers * 0.3
    )
    found = Mechanism(epsilon=0.3).epsilon_at([(1, n_answers)], delta)
    assert exact <= found + 1e-13
    assert found == pytest.approx(exact, abs=1e-9)
