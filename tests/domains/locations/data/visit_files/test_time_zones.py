"""A wrong time zone is answered with the zone of that city, country, abbreviation or offset."""

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.time_zones import (
    find_time_zone,
    near_time_zones,
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


@pytest.mark.parametrize(
    ("lat", "lon", "zone"),
    [
        (45.69, 9.67, "Europe/Rome"),  # Bergamo
        (46.07, 11.12, "Europe/Rome"),  # Trento
        (48.40, 9.99, "Europe/Berlin"),  # Ulm
        (50.78, 6.08, "Europe/Berlin"),  # Aachen
        (45.78, 3.08, "Europe/Paris"),  # Clermont-Ferrand
        (42.82, -1.65, "Europe/Madrid"),  # Pamplona
        (51.76, 19.46, "Europe/Warsaw"),  # Lodz
        (49.55, 25.59, "Europe/Kyiv"),  # Ternopil
        (46.18, 21.32, "Europe/Bucharest"),  # Arad
        (59.86, 17.64, "Europe/Stockholm"),  # Uppsala
        (58.52, 31.27, "Europe/Moscow"),  # Novgorod
        (37.69, -97.34, "America/Chicago"),  # Wichita
        (37.54, -77.44, "America/New_York"),  # Richmond
        (41.14, -104.82, "America/Denver"),  # Cheyenne
        (21.15, 79.09, "Asia/Kolkata"),  # Nagpur
        (39.13, 117.20, "Asia/Shanghai"),  # Tianjin
        (34.75, 113.63, "Asia/Shanghai"),  # Zhengzhou
        (20.84, 106.69, "Asia/Ho_Chi_Minh"),  # Haiphong
        (4.60, 101.08, "Asia/Kuala_Lumpur"),  # Ipoh
    ],
)
def test_the_zone_of_a_city_is_that_of_its_country(lat, lon, zone):
    assert near_time_zones(lat, lon) == (zone,)


def test_near_a_border_between_clocks_both_zones_are_named():
    assert near_time_zones(35.05, -85.31) == ("America/New_York", "America/Chicago")  # Chattanooga
    assert set(near_time_zones(41.68, 26.56)) >= {"Europe/Istanbul", "Europe/Sofia"}  # Edirne
