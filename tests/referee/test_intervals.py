import numpy as np
import pytest
from scipy import stats

from leakgauge.referee.intervals import jackknife_variance, rate_high, rate_low, repeat_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (300, 1000)])
def test_clopper_pearson_matches_scipy(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.9, "exact")
    assert rate_low(hits, n, 0.05) == pytest.approx(expected.low)
    assert rate_high(hits, n, 0.05) == pytest.approx(expected.high)


def test_jackknife_of_mean_is_its_variance():
    values = np.random.default_rng(0).normal(size=50)
    left_out = (values.sum() - values) / 49
    assert jackknife_variance(left_out) == pytest.approx(values.var(ddof=1) / 50)


def test_few_repeats_have_student_interval():
    """Three repeats: 4.303 standard errors to either side (Gosset 1908, two degrees of freedom)."""
    low, high = repeat_interval(0.6, 0.01**2, 3, 600, 0.05)
    assert (low, high) == pytest.approx((0.6 - 0.04303, 0.6 + 0.04303), abs=1e-5)
