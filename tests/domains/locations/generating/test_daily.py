import numpy as np
import pytest

from leakgauge.domains.locations.generating.daily import rhythm


def test_shares_of_an_hour_are_those_of_its_quarters():
    hours, _ = rhythm(168, 3600, home=0.3)
    quarters, _ = rhythm(168 * 4, 900, home=0.3)
    days, _ = rhythm(7, 86_400, home=0.3)
    np.testing.assert_allclose(quarters.reshape(168, 4).sum(axis=1), hours)
    np.testing.assert_allclose(hours.reshape(7, 24).sum(axis=1), days)


def test_weeks_repeat_and_nights_are_quiet():
    two, _ = rhythm(336, 3600, home=0.3)
    np.testing.assert_allclose(two[:168], two[168:])
    week = two[:168].reshape(7, 24)
    assert (week[:, 3] < week[:, 18] / 5).all()
    np.testing.assert_array_equal(week[0], week[4])
    assert not np.array_equal(week[0], week[5])


@pytest.mark.parametrize("home", [0.0, 0.05, 0.3, 0.9])
def test_as_many_visits_are_at_home_as_asked_and_more_by_night(home):
    weights, at_home = rhythm(168, 3600, home)
    assert weights @ at_home == pytest.approx(home, abs=1e-9)
    assert (at_home[3::24] >= at_home[12::24]).all()
