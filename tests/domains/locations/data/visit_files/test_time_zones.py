"""A wrong time zone is answered with the zone of that city, country, abbreviation or offset."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

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


def offsets(zone):
    days = (
        datetime(2024, month, day, 12, tzinfo=ZoneInfo(zone)) for month in range(1, 13) for day in (1, 15)
    )
    return [day.utcoffset() for day in days]


def test_near_a_border_between_clocks_both_zones_are_named():
    assert set(near_time_zones(34.85, -85.51)) == {"America/New_York", "America/Chicago"}  # Trenton, Georgia
    assert near_time_zones(35.05, -85.31) == ("America/New_York",)  # Chattanooga
    edirne = near_time_zones(41.68, 26.56)
    assert edirne[0] == "Europe/Istanbul"
    assert offsets(edirne[1]) == offsets("Europe/Sofia")


def test_no_city_near_a_border_gets_a_wrong_clock_without_a_question():
    with Path(__file__).with_name("border_cities.csv").open(encoding="utf-8", newline="") as file:
        cities = list(csv.DictReader(file))
    asked, wrong = 0, []
    for city in cities:
        found = near_time_zones(float(city["lat"]), float(city["lon"]))
        asked += len(found) > 1
        if not any(offsets(zone) == offsets(city["zone"]) for zone in found):
            wrong.append((city["city"], city["zone"], found))
    assert len(cities) >= 390
    assert wrong == []
    assert asked <= 150, (
        "these cities are nearly all at borders; of large cities one in a hundred is asked for"
    )


@pytest.mark.parametrize(
    ("lat", "lon", "zone"),
    [
        (36.30, 59.61, "Asia/Tehran"),  # Mashhad
        (42.32, 69.59, "Asia/Almaty"),  # Shymkent
        (-16.40, -71.54, "America/Lima"),  # Arequipa
        (31.32, 48.67, "Asia/Tehran"),  # Ahvaz
        (38.50, 43.38, "Europe/Istanbul"),  # Van
        (53.20, 45.00, "Europe/Moscow"),  # Penza
        (51.73, 36.19, "Europe/Moscow"),  # Kursk
        (47.66, -117.43, "America/Los_Angeles"),  # Spokane
        (65.01, 25.47, "Europe/Helsinki"),  # Oulu
        (47.53, 21.63, "Europe/Budapest"),  # Debrecen
        (31.76, -106.49, "America/Denver"),  # El Paso
        (32.22, -110.97, "America/Phoenix"),  # Tucson
        (39.77, -86.16, "America/Indiana/Indianapolis"),
        (-6.13, 23.60, "Africa/Lubumbashi"),  # Mbuji-Mayi
    ],
)
def test_large_cities_near_borders_are_not_asked_for(lat, lon, zone):
    (found,) = near_time_zones(lat, lon)
    assert offsets(found) == offsets(zone)


def test_clocks_are_compared_at_the_times_of_the_data():
    def during(year):
        ends = (datetime(year, month, 1, tzinfo=UTC).timestamp() for month in (1, 12))
        return near_time_zones(36.9, 40.5, tuple(ends))  # between Turkey and Syria

    assert len(during(2024)) == 1
    assert set(during(2019)) == {"Europe/Istanbul", "Asia/Damascus"}


def test_where_two_clocks_are_in_use_one_is_asked_for():
    assert set(near_time_zones(43.82, 87.6)) == {"Asia/Urumqi", "Asia/Shanghai"}
