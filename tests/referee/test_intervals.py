import numpy as np
import pytest
from scipy import stats

from leakgauge.referee.intervals import (
    jackknife_variance,
    rate_high,
    rate_interval,
    rate_low,
    repeat_interval,
)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (300, 1000)])
def test_clopper_pearson_matches_scipy(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.9, "exact")
    assert rate_low(hits, n, 0.05) == pytest.approx(expected.low)
    assert rate_high(hits, n, 0.05) == pytest.approx(expected.high)


def test_jackknife_of_mean_is_its_variance():
    values = np.random.default_rng(0).normal(size=50)
    left_out = (values.sum() - values) / 49
    assert jackknife_variance(left_out) == pytest.approx(values.var(ddof=1) / 50)


def test_interval_of_independent_trials_is_nearly_clopper_pearson():
    low, high = rate_interval(0.3, 0.3 * 0.7 / 2000, 2000, 2000, 0.05)
    expected = stats.binomtest(600, 2000).proportion_ci(0.95, "exact")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=2e-4)


def test_zero_errors_keep_an_interval():
    low, high = rate_interval(1.0, 0.0, 50, 50, 0.05)
    assert high == 1
    assert low == pytest.approx(0.025 ** (1 / 50))


def test_few_repeats_have_student_interval():
    """Three repeats: 4.303 standard errors to either side (Gosset 1908, two degrees of freedom)."""
    low, high = repeat_interval(0.6, 0.01**2, 3, 600, 0.05)
    assert (low, high) == pytest.approx((0.6 - 0.04303, 0.6 + 0.04303), abs=1e-5)
