"""Bounds on the mean of bounded values, against exact ones and on distributions whose mean is known."""

import numpy as np
import pytest
from scipy import stats

from leakgauge.referee import bounded_mean
from leakgauge.referee.bounded_mean import mean_high, mean_low


@pytest.mark.parametrize(
    ("hits", "n"), [(0, 40), (1, 40), (20, 40), (39, 40), (40, 40), (395, 400), (1, 3000)]
)
@pytest.mark.parametrize("error", [0.05, 0.001])
def test_zeros_and_ones_have_the_bounds_of_clopper_and_pearson(hits, n, error):
    values = (np.arange(n) < hits).astype(float)
    expected = stats.binomtest(hits, n).proportion_ci(1 - 2 * error, "exact")
    assert mean_low(values, 0.0, error) == pytest.approx(expected.low, abs=7e-4)
    assert mean_high(values, 1.0, error) == pytest.approx(expected.high, abs=7e-4)


def test_bound_is_the_quantile_of_randomly_weighted_means():
    """By simulation: weights that sum to 1, all sets equally likely, and one more value at the end."""
    rng = np.random.default_rng(1)
    values = rng.beta(2, 1, size=30)
    means = rng.dirichlet(np.ones(31), 400_000) @ np.append(values, -0.5)
    for error in (0.05, 0.002):
        assert mean_low(values, -0.5, error) == pytest.approx(np.quantile(means, error), abs=0.003)


def test_bound_moves_with_scale_and_origin():
    values = np.random.default_rng(2).random(50)
    low = mean_low(values, 0.0, 0.05)
    assert mean_low(3 * values - 7, -7.0, 0.05) == pytest.approx(3 * low - 7, abs=1e-7)
    assert -mean_high(-values, 0.0, 0.05) == pytest.approx(low)


def test_equal_values_leave_what_was_not_seen():
    assert mean_low(np.full(50, 0.8), 0.0, 0.05) == pytest.approx(0.8 * 0.05 ** (1 / 50), abs=3e-4)
    assert mean_low(np.zeros(50), 0.0, 0.05) == 0.0


SHAPES = {
    "rarely 0": lambda rng, n: 1.0 - (rng.random(n) < 0.03),
    "rarely far below": lambda rng, n: np.where(rng.random(n) < 0.02, 0.0, 0.95 + 0.05 * rng.random(n)),
    "skewed": lambda rng, n: rng.beta(9.0, 0.3, n),
    "middle": lambda rng, n: rng.random(n),
    "two values": lambda rng, n: np.where(rng.random(n) < 0.5, 0.2, 0.9),
}
MEANS = {"rarely 0": 0.97, "rarely far below": 0.9555, "skewed": 9 / 9.3, "middle": 0.5, "two values": 0.55}


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_are_wrong_as_seldom_as_they_say(shape):
    rng = np.random.default_rng([3, list(SHAPES).index(shape)])
    drawn = [SHAPES[shape](rng, 40) for _ in range(1_000)]
    assert np.mean([mean_low(values, 0.0, 0.05) > MEANS[shape] for values in drawn]) <= 0.07  # 1 in 400
    assert np.mean([mean_high(values, 1.0, 0.05) < MEANS[shape] for values in drawn]) <= 0.07


def test_students_t_would_be_wrong_too_often():
    """The same audits by a normal interval: what was not seen is left out, and half of them are wrong."""
    rng = np.random.default_rng(4)
    drawn = np.array([SHAPES["rarely far below"](rng, 40) for _ in range(1_000)])
    margin = stats.t.ppf(0.95, 39) * drawn.std(axis=1, ddof=1) / np.sqrt(40)
    assert np.mean(drawn.mean(axis=1) - margin > MEANS["rarely far below"]) > 0.3


def test_bounds_get_as_sharp_as_normal_ones():
    values = np.random.default_rng(5).beta(20, 20, size=5_000)
    normal = stats.norm.ppf(0.95) * values.std() / np.sqrt(5_000)
    assert values.mean() - mean_low(values, 0.0, 0.05) < 1.1 * normal


def test_very_many_values_on_a_grid_give_nearly_the_same_bound(monkeypatch):
    values = np.random.default_rng(8).beta(0.7, 2.0, size=20_000)
    on_grid = mean_low(values, 0.0, 0.025)
    monkeypatch.setattr(bounded_mean, "_MOST_DISTINCT", 10**6)
    exact = mean_low(values, 0.0, 0.025)
    assert exact - 1e-7 < on_grid <= exact
