"""A wrong time zone is answered with the zone of that city, country, abbreviation or offset."""

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.time_zones import (
    find_time_zone,
    similar_time_zones,
    zone_position,
)


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Malaysia", "Asia/Kuala_Lumpur"),
        ("MY", "Asia/Kuala_Lumpur"),
        ("Kuala Lumpur", "Asia/Kuala_Lumpur"),
        ("kuala-lumper", "Asia/Kuala_Lumpur"),
        ("EST", "America/New_York"),
        ("PST", "America/Los_Angeles"),
        ("Berlin", "Europe/Berlin"),
        ("Germany", "Europe/Berlin"),
        ("europe/rome", "Europe/Rome"),
        ("Europe/Roma", "Europe/Rome"),
        ("Asia/Beijing", "Asia/Shanghai"),
        ("Milan", "Europe/Rome"),
        ("UTC+8", "Etc/GMT-8"),
    ],
)
def test_the_meant_zone_is_found(name, zone):
    assert similar_time_zones(name) == (zone,)


@pytest.mark.parametrize("name", ["Mars", "local", "../etc/passwd", "Europe", "UTC+99"])
def test_nothing_is_guessed_without_a_reason(name):
    assert similar_time_zones(name) == ()
    with pytest.raises(BadInput, match=r'names look like "Europe/Rome"'):
        find_time_zone(name)


def test_countries_with_several_clocks_have_a_choice():
    with pytest.raises(BadInput) as caught:
        find_time_zone("USA")
    assert str(caught.value) == (
        "data.timezone: no time zone is called 'USA'; it has several: 'America/New_York', 'America/Chicago', "
        "'America/Denver', 'America/Los_Angeles' and 4 more; choose one"
    )


def test_main_cities_have_their_positions():
    assert zone_position("Europe/Rome") == pytest.approx((41.9, 12.48), abs=0.02)
    assert zone_position("America/Sao_Paulo") == pytest.approx((-23.53, -46.62), abs=0.02)
    assert zone_position("UTC") is None
