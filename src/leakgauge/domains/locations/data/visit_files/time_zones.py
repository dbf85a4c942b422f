"""Time zones by name, by country, city or abbreviation, and where on earth they are."""

import csv
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

import numpy as np
import numpy.typing as npt

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
_WITHIN_OTHERS = (  # zones of very small states, on the clock of the country around them
    *("Europe/Andorra", "Europe/Busingen", "Europe/Gibraltar", "Europe/Monaco", "Europe/San_Marino"),
    *("Europe/Vaduz", "Europe/Vatican"),
)
# Zones with a city up to so many times as far away as the nearest one, and so many km more, may be meant too.
_UNCLEAR, _UNCLEAR_KM = 2.0, 20.0
_ALSO_USED = {"Asia/Urumqi": ("Asia/Shanghai",)}  # the official clock beside that of daily life
_EARTH_KM = 6371.0
_CITIES = "cities.csv"  # beside this file
_USUAL_YEAR = tuple(date(2024, 1, 1) + timedelta(days=day) for day in range(366))
_WINTER_AND_SUMMER = (date(2024, 1, 1), date(2024, 7, 1))
_MOST_DAYS = 1000  # on which clocks are compared
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


def near_time_zones(lat: float, lon: float, times: tuple[float, float] | None = None) -> tuple[str, ...]:
    """The zone of the nearest city, then zones on another clock with cities about as near.

    Clocks are compared between two ``times``, in seconds since 1970, or else in 2024. None where the tz
    database has no positions. In a town at a border it may still be the zone of the other country.

    >>> near_time_zones(45.46, 9.19), near_time_zones(42.04, -8.64)  # Milan, and where Spain meets Portugal
    (('Europe/Rome',), ('Europe/Madrid', 'Europe/Lisbon'))
    """
    zones, points = _city_points()
    distances = _EARTH_KM * np.linalg.norm(points - _unit_vectors([(lat, lon)]), axis=1)
    reach = _UNCLEAR * distances.min(initial=np.inf) + _UNCLEAR_KM
    near = [zones[place] for place in np.argsort(distances, kind="stable") if distances[place] <= reach]
    near = [either for zone in near for either in (zone, *_ALSO_USED.get(zone, ()))]
    return _different_zones(near, _USUAL_YEAR if times is None else _days_between(*times))


def city_distance(lat: float, lon: float) -> float:
    """How many kilometres a point is from the nearest city that is known; infinite where none is.

    >>> city_distance(52.4, 4.9) < 10  # Amsterdam
    True
    """
    _, points = _city_points()
    return float(_EARTH_KM * np.linalg.norm(points - _unit_vectors([(lat, lon)]), axis=1).min(initial=np.inf))


def _days_between(first: float, last: float) -> tuple[date, ...]:
    """The days between two times, or some of them where there are many."""
    start = date(1970, 1, 1) + timedelta(seconds=first)
    n_days = int(last // 86_400 - first // 86_400) + 1
    return tuple(start + timedelta(days=day) for day in range(0, n_days, -(-n_days // _MOST_DAYS)))


@cache
def _city_points() -> tuple[list[str], npt.NDArray[np.float64]]:
    """The zones of main cities and of other large ones, and their points on the unit sphere."""
    known = available_timezones()
    zones = [zone for *_, zone in _zone_table() if zone not in _WITHIN_OTHERS]
    cities = [(zone, position) for zone in zones if (position := zone_position(zone)) is not None]
    if cities:
        text = files(__package__).joinpath(_CITIES).read_text(encoding="utf-8")
        rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
        cities += [
            (row["zone"], (float(row["lat"]), float(row["lon"]))) for row in rows if row["zone"] in known
        ]
    return [zone for zone, _ in cities], _unit_vectors([position for _, position in cities])


def _unit_vectors(positions: list[tuple[float, float]]) -> npt.NDArray[np.float64]:
    lat, lon = np.radians(np.array(positions, dtype=np.float64).reshape(-1, 2)).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


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
        code: _different_zones(sorted(mine, key=lambda zone: zone not in _ZONE_OF), _WINTER_AND_SUMMER)
        for code, mine in zones.items()
    }
    return {name: different[code] for name, code in names.items() if code in different}


def _different_zones(zones: list[str], days: Sequence[date]) -> tuple[str, ...]:
    """The first zone of each clock that some zones have on some days."""
    clocks: dict[tuple[timedelta | None, ...], str] = {}
    for zone in dict.fromkeys(zones):
        noon = time(12, tzinfo=ZoneInfo(zone))
        clocks.setdefault(tuple(datetime.combine(day, noon).utcoffset() for day in days), zone)
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
