import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from leakgauge.core.errors import BadInput
from leakgauge.theory import metric_bounds

PAIRS = [(0.0, 0.0), (0.0, 0.3), (0.1, 1e-5), (1.0, 0.0), (1.0, 0.05), (5.0, 1e-3), (10.0, 0.0)]


def best_by_linear_program(epsilon: float, delta: float) -> float:
    """Maximise TPR - FPR under the inequalities of (epsilon, delta)-DP, for an event and its complement."""
    growth = np.exp(epsilon)
    # TPR - growth FPR <= delta; (1 - FPR) - growth (1 - TPR) <= delta; and with the worlds swapped
    rows = [[1, -growth], [growth, -1], [-growth, 1], [-1, growth]]
    limits = [delta, delta + growth - 1, delta, delta + growth - 1]
    return -linprog([-1, 1], A_ub=rows, b_ub=limits, bounds=[(0, 1), (0, 1)]).fun


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_humphries_bound_matches_linear_program(epsilon, delta):
    assert metric_bounds.humphries_advantage(epsilon, delta) == pytest.approx(
        best_by_linear_program(epsilon, delta), abs=1e-9
    )


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_published_formulas_match_high_precision(epsilon, delta):
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    with mpmath.workdps(40):
        humphries = (mpmath.exp(e) - 1 + 2 * d) / (mpmath.exp(e) + 1)
        erlingsson = 1 - mpmath.exp(-e) * (1 - d)
        yeom = min(mpmath.exp(e) - 1, mpmath.mpf(1))
        gap = humphries - erlingsson
    assert metric_bounds.humphries_advantage(epsilon, delta) == pytest.approx(float(humphries), rel=1e-14)
    assert metric_bounds.erlingsson_advantage(epsilon, delta) == pytest.approx(float(erlingsson), rel=1e-14)
    assert metric_bounds.yeom_advantage(epsilon) == pytest.approx(float(yeom), rel=1e-14)
    assert metric_bounds.humphries_minus_erlingsson(epsilon, delta) == pytest.approx(
        float(gap), rel=1e-13, abs=1e-30
    )


def test_small_epsilons_keep_precision():
    assert float(metric_bounds.humphries_advantage(1e-12)) == pytest.approx(5e-13, rel=1e-12)
    assert float(metric_bounds.yeom_advantage(1e-12)) == pytest.approx(1e-12, rel=1e-11)


def test_newer_bound_is_tighter():
    epsilon = np.linspace(0, 12, 400)
    assert (metric_bounds.humphries_advantage(epsilon) <= metric_bounds.erlingsson_advantage(epsilon)).all()
    assert (
        metric_bounds.erlingsson_advantage(epsilon) <= metric_bounds.yeom_advantage(epsilon) + 1e-15
    ).all()
    for delta in (1e-5, 0.1, 0.9):
        assert (
            metric_bounds.humphries_advantage(epsilon, delta)
            <= metric_bounds.erlingsson_advantage(epsilon, delta) + 1e-15
        ).all()


def test_bounds_equal_delta_at_epsilon_zero():
    assert float(metric_bounds.humphries_minus_erlingsson(0.0, 0.2)) == 0
    assert float(metric_bounds.humphries_advantage(0.0, 0.2)) == pytest.approx(0.2)
    assert float(metric_bounds.erlingsson_advantage(0.0, 0.2)) == pytest.approx(0.2)


@pytest.mark.parametrize("epsilon", [700.0, 2000.0, np.inf])
def test_huge_epsilons_raise_no_warning(epsilon):
    for bound in (
        metric_bounds.yeom_advantage,
        metric_bounds.erlingsson_advantage,
        metric_bounds.humphries_advantage,
    ):
        assert float(bound(epsilon)) == 1
    assert float(metric_bounds.humphries_minus_erlingsson(epsilon)) == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (1.0, 0.05), (8.0, 1e-5)])
def test_epsilon_and_accuracy_bounds_are_inverse(epsilon, delta):
    accuracy = metric_bounds.accuracy_from_advantage(metric_bounds.humphries_advantage(epsilon, delta))
    assert metric_bounds.epsilon_from_accuracy(accuracy, delta) == pytest.approx(epsilon, rel=1e-9)
    assert metric_bounds.advantage_from_accuracy(accuracy) == pytest.approx(
        float(metric_bounds.humphries_advantage(epsilon, delta))
    )


def test_epsilon_of_chance_is_zero_and_of_certainty_infinite():
    assert metric_bounds.epsilon_from_accuracy([0.2, 0.5, 1.0]).tolist() == [0, 0, np.inf]
    assert float(metric_bounds.epsilon_from_accuracy(0.54, delta=0.1)) == 0


@pytest.mark.parametrize("accuracy", [np.nan, -0.1, 1.1, 61.0])
def test_rejects_accuracy_outside_unit_interval(accuracy):
    with pytest.raises(BadInput, match="fraction"):
        metric_bounds.epsilon_from_accuracy(accuracy)


@pytest.mark.parametrize(("epsilon", "delta"), [(np.nan, 0.0), (-1.0, 0.0), (1.0, np.nan), (1.0, 1.5)])
def test_rejects_invalid_guarantee(epsilon, delta):
    with pytest.raises(BadInput):
        metric_bounds.humphries_advantage(epsilon, delta)


def test_epsilon_for_limits_agrees_with_closed_forms():
    found = metric_bounds.epsilon_for_limits
    assert found({"accuracy": 0.6}) == pytest.approx(np.log(0.6 / 0.4), abs=1e-6)
    assert found({"accuracy_worst": 0.8}, 0.1) == pytest.approx(np.log(0.7 / 0.2), abs=1e-6)
    assert found({"auc": 0.65}) == pytest.approx(np.log(0.65 / 0.35), abs=1e-6)
    assert found({"advantage": 0.5}) == pytest.approx(np.log(3), abs=1e-6)
    assert found({"tpr_at_fpr_0.01": 0.05}) == pytest.approx(np.log(5), abs=1e-6)
    assert found({"tpr_at_fpr_0.1": 0.99}) == pytest.approx(np.log(0.9 / 0.01), abs=1e-6)
    assert found({"accuracy": 0.9, "tpr_at_fpr_0.01_mean": 0.02}) == pytest.approx(np.log(2), abs=1e-6)


def test_epsilon_for_limits_is_not_known_without_a_bound_or_beyond_delta():
    assert metric_bounds.epsilon_for_limits({"tnr": 0.6}) is None
    assert metric_bounds.epsilon_for_limits({}) is None
    assert metric_bounds.epsilon_for_limits({"accuracy": 0.6}, delta=0.3) is None
