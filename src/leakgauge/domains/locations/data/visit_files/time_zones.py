"""Time zones by name, by country, city or abbreviation, and where on earth they are."""

import math
import re
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

from leakgauge.core.errors import BadInput

_MOST_ZONES = 4  # of a country, in a message
_NEAR, _NEAR_NAME = 0.6, 0.85  # how alike names of zones, and names of cities and countries, must be
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])0?(\d{1,2})(?::?00)?", re.IGNORECASE)
_POSITION = re.compile(r"([+-])(\d{2})(\d{2})(\d{2})?([+-])(\d{3})(\d{2})(\d{2})?")

# Abbreviations, and large cities that have no zone of their own name.
_ZONE_OF = {
    "America/Chicago": ("cst", "cdt", "houston", "dallas"),
    "America/Denver": ("mst", "mdt"),
    "America/Los_Angeles": ("pst", "pdt", "san francisco", "seattle", "california"),
    "America/New_York": ("est", "edt", "boston", "washington", "philadelphia", "miami", "nyc"),
    "America/Sao_Paulo": ("brt", "rio de janeiro"),
    "Asia/Jakarta": ("wib",),
    "Asia/Hong_Kong": ("hkt",),
    "Asia/Kolkata": ("ist", "delhi", "new delhi", "mumbai", "bangalore"),
    "Asia/Kuala_Lumpur": ("myt",),
    "Asia/Seoul": ("kst",),
    "Asia/Shanghai": ("beijing", "shenzhen"),
    "Asia/Singapore": ("sgt",),
    "Asia/Tokyo": ("jst", "osaka"),
    "Australia/Sydney": ("aest", "aedt", "canberra"),
    "Europe/Berlin": ("cest", "munich", "hamburg", "frankfurt"),
    "Europe/London": ("bst", "england", "scotland", "uk"),
    "Europe/Madrid": ("barcelona",),
    "Europe/Moscow": ("msk",),
    "Europe/Rome": ("milan", "milano", "roma"),
    "Europe/Zurich": ("geneva", "bern"),
}
# Large cities far from the main city of their zone, to a tenth of a degree: that of another country may be
# nearer.
_LARGE_CITIES = {
    "Africa/Cairo": ((31.2, 29.9), (24.1, 32.9)),
    "Africa/Johannesburg": ((-33.9, 18.4), (-29.9, 31.0), (-34.0, 25.6), (-29.1, 26.2)),
    "Africa/Lagos": ((9.1, 7.5), (12.0, 8.5), (4.8, 7.0)),
    "America/Argentina/Buenos_Aires": ((-32.9, -60.7), (-38.0, -57.6)),
    "America/Bogota": ((6.2, -75.6), (3.4, -76.5), (10.4, -75.5)),
    "America/Chicago": (
        *((29.8, -95.4), (32.8, -96.8), (29.4, -98.5), (30.0, -90.1), (36.2, -86.8), (38.6, -90.2)),
        *((39.1, -94.6), (45.0, -93.3), (35.1, -90.0), (35.5, -97.5), (43.0, -87.9), (33.5, -86.8)),
        *((41.3, -95.9), (31.8, -102.4)),
    ),
    "America/Denver": ((31.8, -106.5), (40.8, -111.9), (35.1, -106.7), (45.8, -108.5)),
    "America/Edmonton": ((51.0, -114.1),),
    "America/Guayaquil": ((-0.2, -78.5),),
    "America/Los_Angeles": ((32.7, -117.2), (36.2, -115.1), (45.5, -122.7), (47.6, -122.3), (37.8, -122.4)),
    "America/Mexico_City": ((20.7, -103.3), (19.0, -98.2)),
    "America/New_York": (
        *((33.7, -84.4), (25.8, -80.2), (42.4, -71.1), (38.9, -77.0), (35.2, -80.8), (40.4, -80.0)),
        *((42.9, -78.9), (39.1, -84.5), (41.5, -81.7), (40.0, -83.0), (28.5, -81.4), (30.3, -81.7)),
        *((27.9, -82.5), (32.8, -79.9), (36.0, -83.9), (44.5, -73.2)),
    ),
    "America/Sao_Paulo": ((-22.9, -43.2), (-15.8, -47.9), (-30.0, -51.2), (-19.9, -43.9), (-25.4, -49.3)),
    "America/Toronto": ((45.4, -75.7), (45.5, -73.6), (46.8, -71.2)),
    "Asia/Bangkok": ((18.8, 99.0), (7.0, 100.5), (16.4, 102.8), (17.4, 102.8)),
    "Asia/Dubai": ((24.5, 54.4),),
    "Asia/Ho_Chi_Minh": ((21.0, 105.8), (16.1, 108.2)),
    "Asia/Jakarta": ((-6.9, 107.6), (-7.3, 112.7), (3.6, 98.7), (-7.8, 110.4)),
    "Asia/Karachi": ((33.7, 73.0), (31.5, 74.3), (30.2, 71.5), (34.0, 71.5)),
    "Asia/Kolkata": (
        *((28.6, 77.2), (19.1, 72.9), (13.0, 77.6), (13.1, 80.3), (17.4, 78.5), (23.0, 72.6)),
        *((26.8, 80.9), (26.9, 75.8), (18.5, 73.9), (9.9, 76.3), (31.6, 74.9), (25.6, 85.1), (26.1, 91.7)),
        *((34.1, 74.8), (8.5, 76.9)),
    ),
    "Asia/Kuala_Lumpur": ((5.4, 100.3), (1.6, 103.7), (3.8, 103.3)),
    "Asia/Riyadh": ((21.5, 39.2), (26.4, 50.1), (24.5, 39.6)),
    "Asia/Seoul": ((35.2, 129.1), (35.9, 128.6), (33.5, 126.5)),
    "Asia/Shanghai": (
        *((39.9, 116.4), (23.1, 113.3), (22.6, 114.1), (30.6, 104.1), (30.6, 114.3), (45.8, 126.5)),
        *((41.8, 123.4), (29.6, 106.5), (34.3, 108.9), (38.9, 121.6), (25.0, 102.7), (22.8, 108.3)),
        *((26.1, 119.3), (24.5, 118.1), (36.1, 103.8), (36.1, 120.4)),
    ),
    "Asia/Tokyo": ((34.7, 135.5), (33.6, 130.4), (43.1, 141.4), (34.4, 132.5), (31.6, 130.6), (26.2, 127.7)),
    "Asia/Yangon": ((22.0, 96.1),),
    "Australia/Brisbane": ((-28.0, 153.4), (-19.3, 146.8), (-16.9, 145.8)),
    "Australia/Sydney": ((-35.3, 149.1), (-32.9, 151.8)),
    "Europe/Athens": ((40.6, 22.9), (35.3, 25.1), (36.4, 28.2), (37.7, 26.9), (39.1, 26.6)),
    "Europe/Berlin": (
        *((48.1, 11.6), (53.6, 10.0), (50.1, 8.7), (50.9, 7.0), (48.8, 9.2), (51.2, 6.8), (49.5, 11.1)),
        *((53.1, 8.8), (52.4, 9.7), (51.3, 12.4), (48.0, 7.9), (49.2, 7.0), (51.1, 13.7), (54.3, 10.1)),
        *((47.7, 9.2),),
    ),
    "Europe/Bucharest": ((45.8, 21.2), (46.8, 23.6), (47.2, 27.6), (45.4, 28.0), (47.1, 21.9), (44.3, 23.8)),
    "Europe/Dublin": ((51.9, -8.5), (53.3, -9.1)),
    "Europe/Istanbul": ((38.4, 27.1), (39.9, 32.9), (36.9, 30.7), (37.0, 35.3), (37.1, 37.4), (41.0, 39.7)),
    "Europe/Kyiv": ((49.8, 24.0), (46.5, 30.7), (50.0, 36.2), (48.5, 35.0), (48.3, 25.9), (48.6, 22.3)),
    "Europe/Lisbon": ((41.2, -8.6), (37.0, -7.9)),
    "Europe/London": ((55.9, -3.2), (54.6, -5.9), (53.5, -2.2), (57.1, -2.1), (51.5, -3.2)),
    "Europe/Madrid": (
        *((41.4, 2.2), (39.5, -0.4), (37.4, -6.0), (36.7, -4.4), (43.3, -2.9), (42.2, -8.7), (43.4, -8.4)),
        *((41.7, -0.9), (39.6, 2.7), (38.9, -7.0)),
    ),
    "Europe/Moscow": ((59.9, 30.3), (47.2, 39.7), (45.0, 39.0)),
    "Europe/Oslo": ((60.4, 5.3), (59.0, 5.7), (63.4, 10.4), (69.6, 19.0)),
    "Europe/Paris": (
        *((45.8, 4.8), (43.3, 5.4), (43.6, 1.4), (44.8, -0.6), (48.6, 7.8), (50.6, 3.1), (43.7, 7.3)),
        *((45.2, 5.7), (47.2, -1.6), (48.1, -1.7), (43.6, 3.9), (49.1, 6.2), (47.3, 5.0), (42.7, 2.9)),
        *((48.4, -4.5), (42.0, 9.0), (49.4, 0.1)),
    ),
    "Europe/Rome": (
        *((45.5, 9.2), (45.1, 7.7), (40.9, 14.3), (38.1, 13.4), (45.4, 12.3), (44.4, 8.9), (44.5, 11.3)),
        *((41.1, 16.9), (37.5, 15.1), (45.6, 13.8), (46.5, 11.4), (39.2, 9.1), (40.4, 18.2)),
    ),
    "Europe/Sofia": ((43.2, 27.9), (42.1, 24.7), (42.5, 27.5)),
    "Europe/Stockholm": ((57.7, 12.0), (55.6, 13.0), (63.8, 20.3), (65.6, 22.2)),
    "Europe/Vienna": ((47.3, 11.4), (47.8, 13.0), (47.1, 15.4), (48.3, 14.3), (47.5, 9.7)),
    "Europe/Warsaw": ((50.1, 19.9), (54.4, 18.6), (51.1, 17.0), (52.4, 16.9), (53.4, 14.6), (50.0, 22.0)),
    "Europe/Zurich": ((46.2, 6.1), (46.0, 9.0), (47.6, 7.6)),
    "Pacific/Auckland": ((-41.3, 174.8), (-43.5, 172.6), (-45.9, 170.5)),
}
_WITHIN_OTHERS = (  # zones of very small states, on the clock of the country around them
    *("Europe/Andorra", "Europe/Busingen", "Europe/Gibraltar", "Europe/Monaco", "Europe/San_Marino"),
    *("Europe/Vaduz", "Europe/Vatican"),
)
_UNCLEAR = 2.0  # zones whose nearest city is up to so many times as far away may be meant as well
_COUNTRY_CODES = {"usa": "US", "america": "US", "holland": "NL", "south korea": "KR"}


def find_time_zone(name: str) -> ZoneInfo:
    """Find a time zone by its name in the tz database; the error names the zone that was probably meant."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = similar_time_zones(name)
        hint = 'names look like "Europe/Rome"'
        if len(near) == 1:
            hint = f"did you mean {near[0]!r}?"
        elif near:
            more = f" and {len(near) - _MOST_ZONES} more" if len(near) > _MOST_ZONES else ""
            hint = f"it has several: {', '.join(map(repr, near[:_MOST_ZONES]))}{more}; choose one"
        raise BadInput(f"data.timezone: no time zone is called {name!r}; {hint}") from None


def similar_time_zones(name: str) -> tuple[str, ...]:
    """The zones that a wrong name may mean: that of the city or abbreviation, or those of the country.

    >>> similar_time_zones("Kuala Lumpur"), similar_time_zones("UTC+8")
    (('Asia/Kuala_Lumpur',), ('Etc/GMT-8',))
    """
    wanted = _plain(name)
    if match := _OFFSET.fullmatch(name.strip()):
        sign = "-" if match[1] == "+" else "+"  # the tz database counts hours west of Greenwich
        offset = f"Etc/GMT{sign}{int(match[2])}"
        return (offset,) if offset in available_timezones() else ()
    names = {_plain(zone): zone for zone in sorted(available_timezones())}
    known = {**_cities(), **{_plain(word): (zone,) for zone, words in _ZONE_OF.items() for word in words}}
    countries = _countries()
    for table in (known, countries, {plain: (zone,) for plain, zone in names.items()}):
        for word in (wanted, wanted.rpartition("/")[2]):
            if word in table:
                return table[word]
    if "/" in name and (near := get_close_matches(wanted, names, n=1, cutoff=_NEAR)):
        return (names[near[0]],)
    every = {**countries, **known}
    near = get_close_matches(wanted, every, n=1, cutoff=_NEAR_NAME)
    return every[near[0]] if near else ()


def near_time_zones(lat: float, lon: float) -> tuple[str, ...]:
    """The zone of the nearest large city, then zones on another clock with cities about as near.

    None where the tz database has no positions. Near a border it may be the zone of the other country.

    >>> near_time_zones(45.46, 9.19), near_time_zones(41.8, -8.5)  # Milan, and where Spain meets Portugal
    (('Europe/Rome',), ('Europe/Madrid', 'Europe/Lisbon'))
    """
    shrink = math.cos(math.radians(lat))
    distances = sorted(
        (math.hypot(north - lat, ((east - lon + 180.0) % 360.0 - 180.0) * shrink), zone)
        for zone, north, east in _city_positions()
    )
    return _different_zones([zone for far, zone in distances if far <= _UNCLEAR * distances[0][0]])


@cache
def _city_positions() -> list[tuple[str, float, float]]:
    """The zone and position of main cities and of other large ones."""
    zones = [zone for *_, zone in _zone_table() if zone not in _WITHIN_OTHERS]
    main = [(zone, *position) for zone in zones if (position := zone_position(zone)) is not None]
    return main + [(zone, *at) for zone, cities in _LARGE_CITIES.items() for at in cities if main]


@cache
def zone_position(name: str) -> tuple[float, float] | None:
    """Latitude and longitude of the main city of a zone, where the tz database has them."""
    for _, position, zone in _zone_table():
        if zone == name and (match := _POSITION.fullmatch(position)):
            lat, lon = (
                float(f"{sign}1") * (int(degrees) + int(minutes) / 60 + int(seconds or 0) / 3600)
                for sign, degrees, minutes, seconds in (match.groups()[:4], match.groups()[4:])
            )
            return lat, lon
    return None


def _plain(name: str) -> str:
    """A name without case, blanks and punctuation."""
    return re.sub(r"[^a-z0-9/]", "", name.lower())


def _cities() -> dict[str, tuple[str, ...]]:
    """The zone of each city that has one of its name; the tables of places come before older names."""
    zones = [*sorted(zone for zone in available_timezones() if "/" in zone), *(z for *_, z in _zone_table())]
    return {_plain(zone.rpartition("/")[2]): (zone,) for zone in zones if not zone.startswith("Etc/")}


def _countries() -> dict[str, tuple[str, ...]]:
    """The zones of each country, by its name and its code."""
    zones: dict[str, list[str]] = {}
    for code, _, zone in _zone_table():
        zones.setdefault(code, []).append(zone)
    names = {_plain(name.partition("(")[0]): code for code, name, *_ in _table("iso3166.tab")}
    names |= {_plain(name): code for name, code in _COUNTRY_CODES.items()}
    names |= {code.lower(): code for code in zones}
    different = {  # those of large cities first
        code: _different_zones(sorted(mine, key=lambda zone: zone not in _ZONE_OF))
        for code, mine in zones.items()
    }
    return {name: different[code] for name, code in names.items() if code in different}


def _different_zones(zones: list[str]) -> tuple[str, ...]:
    """The first zone of each clock that some zones have."""
    clocks: dict[tuple[timedelta | None, ...], str] = {}
    for zone in zones:
        clocks.setdefault(
            tuple(datetime(2024, month, 1, tzinfo=ZoneInfo(zone)).utcoffset() for month in (1, 7)), zone
        )
    return tuple(clocks.values())


def _zone_table() -> list[tuple[str, str, str]]:
    """Country code, position and name of each zone."""
    return [(row[0], row[1], row[2]) for row in _table("zone.tab")]


@cache
def _table(name: str) -> list[list[str]]:
    """The rows of a table of the tz database, of the system or of the package; none where there is none."""
    for path in (*(Path(folder) / name for folder in TZPATH), files("tzdata.zoneinfo") / name):
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            return [line.split("\t") for line in lines if line and not line.startswith("#")]
    return []
