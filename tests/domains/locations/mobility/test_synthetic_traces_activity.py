import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.mobility.synthetic_traces import (
    Activity,
    VisitRounding,
    draw_visits,
    log_variance,
)

N = 400_000


def drawn(mean, law, rounding, skew=6.0):
    return draw_visits(mean, N, law, skew, rounding, np.random.default_rng(1))


@pytest.mark.parametrize("law", [Activity.EXPONENTIAL, Activity.CONSTANT])
@pytest.mark.parametrize("mean", [0.3, 5.6, 21.5])
def test_fair_rounding_keeps_the_mean(law, mean):
    visits = drawn(mean, law, VisitRounding.FAIR)
    assert visits.mean() == pytest.approx(mean, abs=5 * visits.std() / np.sqrt(N) + 1e-12)


@pytest.mark.parametrize("mean", [0.3, 5.6, 21.5])
def test_rounding_an_exponential_down_is_geometric_and_loses_half_a_visit(mean):
    visits = drawn(mean, Activity.EXPONENTIAL, VisitRounding.DOWN)
    assert visits.mean() == pytest.approx(1 / np.expm1(1 / mean), abs=5 * visits.std() / np.sqrt(N))
    least = np.mean(visits == 0)
    assert least == pytest.approx(1 - np.exp(-1 / mean), abs=5 * np.sqrt(least / N))


@pytest.mark.parametrize("variance", [0.01, 0.25, 1.0, 2.0])
def test_the_skewness_of_a_log_normal_law_tells_its_variance(variance):
    growth = np.exp(variance)
    assert log_variance((growth + 2) * np.sqrt(growth - 1)) == pytest.approx(variance)


def test_a_log_normal_law_has_the_mean_and_skewness_asked_for():
    visits = drawn(200.0, Activity.LOGNORMAL, VisitRounding.FAIR, skew=1.5)
    assert visits.mean() == pytest.approx(200.0, rel=0.01)
    standard = (visits - visits.mean()) / visits.std()
    assert np.mean(standard**3) == pytest.approx(1.5, rel=0.1)


@pytest.mark.parametrize("skew", [0.0, -1.0, np.nan, np.inf])
def test_a_skewness_that_no_log_normal_law_has_is_refused(skew):
    with pytest.raises(BadInput, match="skew must be above 0"):
        log_variance(skew)
