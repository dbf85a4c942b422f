"""Checks of whether visits can be what a plan says they are: their times, coordinates, users and places.

Each check is one entry of ``ROW_CHECKS`` or ``TRACE_CHECKS``; ``accept = ["name"]`` in a plan turns it off.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.data.visit_files.epochs import DAY, format_wall_time

EARLIEST_LIKELY = 631_152_000  # 1990-01-01
FEW_ROWS = 50  # fewer say nothing about how visits are spread
_HOUR = 3600
_KILOMETRES_PER_DEGREE = 111.2
_FAR = 1500.0  # kilometres from the main city of a time zone
_ELSEWHERE = 4500.0  # kilometres: no time zone reaches as far from its main city (China's: 4,200)
_POLAR = (-60.0, 72.0)  # latitudes beyond which hardly anybody lives
_TAIL = 0.02  # share of the points at each side that may be outliers
_SPREAD = 5  # outliers are this many times as far out as the others are spread

Facts = TypeVar("Facts")

# How numbers may have to be read: the line to write, and seconds since 1970 of a number (None: impossible).
_DIGITS = ("%Y%m%d%H", "%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%y%m%d%H", "%y%m%d%H%M", "%y%m%d%H%M%S")
_UNIT_NAMES = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_UNIT_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 30 * 365.25 * 86400.0  # seconds that a file may cover
EXAMPLE_ORIGIN = "2024-01-01"
_UNITS = {"h": 3600.0, "min": 60.0, "d": 86_400.0, "ms": 1e-3, "us": 1e-6}


@dataclass(frozen=True, kw_only=True)
class RowFacts:
    """Numbers about the rows that a plan wants, as checks need them; nothing of a single person is shown.

    Times are seconds since 1970. ``box`` is south, west, north, east of the map, ``fitted`` whether it
    follows from the rows. ``middle`` is the mean point. ``spread`` holds for latitude and longitude the 2nd
    and the 98th percentile. ``home`` is the position of the time zone of the plan.
    """

    n_rows: int
    first: float
    last: float
    n_early: int
    n_future: int
    likely: tuple[float, float] | None  # the first and the last time from 1990 to now
    now: float
    counted: bool = True  # whether times are numbers, not dates:
    unit: float = 1.0  # numbers of so many seconds
    origin: float = 0.0  # that count from here
    window: tuple[int, int] | None = None
    n_midnight: int = 0  # rows at 00:00, on the wall clock or in UTC
    epoch: int = DAY  # seconds
    n_at_zero: int = 0
    middle: tuple[float, float] | None = None
    box: tuple[float, float, float, float] | None = None
    fitted: bool = False
    spread: tuple[tuple[float, float], tuple[float, float]] | None = None
    home: tuple[float, float] | None = None
    columns: tuple[str, str] | None = None  # of latitude and longitude, where a plan may name others


@dataclass(frozen=True, kw_only=True)
class TraceFacts:
    """The traces of a file, the number of rows behind them, and the map: its length in seconds, its grid."""

    traces: Traces
    n_rows: int
    seconds: int
    grid: tuple[int, int] | None = None  # rows and columns, if they cover a box that follows from the rows


@dataclass(frozen=True)
class Check(Generic[Facts]):
    """One check: ``find`` returns what is wrong and what to write, or nothing.

    What cannot be right, or would make every number of the audit wrong, is refused; else it is a warning.
    """

    name: str
    find: Callable[[Facts], str | None]
    refuses: bool = True


def row_fact_columns(now: float, *, points: bool, percentiles: bool) -> dict[str, str]:
    """The aggregates of rows (t, instant, counted, lat, lon) that facts are made of, by name, in SQL."""
    likely = f"FILTER (WHERE t BETWEEN {EARLIEST_LIKELY} AND {now!r})"
    columns = {
        "n_rows": "count(*)",
        "n_counted": "count(*) FILTER (WHERE counted)",
        "first": "min(t)",
        "last": "max(t)",
        "n_early": f"count(*) FILTER (WHERE t < {EARLIEST_LIKELY})",
        "n_future": f"count(*) FILTER (WHERE t > {now!r})",
        "n_midnight": f"count(*) FILTER (WHERE t % {DAY} = 0)",
        "n_quarter": "count(*) FILTER (WHERE t % 900 = 0)",  # others are at midnight in no zone
        "n_utc_midnight": f"count(*) FILTER (WHERE instant % {DAY} = 0)",
        "likely_first": f"min(t) {likely}",
        "likely_last": f"max(t) {likely}",
    }
    if points:
        on_earth = "FILTER (WHERE lat BETWEEN -90 AND 90 AND lon BETWEEN -180 AND 180)"
        columns |= {
            "n_at_zero": "count(*) FILTER (WHERE lat = 0 AND lon = 0)",
            "lat": f"avg(lat) {on_earth}",
            "lon": f"avg(lon) {on_earth}",
        }
    if percentiles:
        columns |= {
            f"{name}_ends": f"approx_quantile({name}, [{_TAIL}, {1 - _TAIL}])" for name in ("lat", "lon")
        }
    return columns


def row_facts(found: Mapping[str, Any], now: float) -> RowFacts | None:
    """Facts from the values of ``row_fact_columns``; nothing if there are no rows."""
    if not found["n_rows"]:
        return None
    ends = (found.get("lat_ends"), found.get("lon_ends"))
    has_middle = found.get("lat") is not None and found.get("lon") is not None
    likely = found["likely_first"], found["likely_last"]
    return RowFacts(
        **{name: found[name] for name in ("n_rows", "first", "last", "n_early", "n_future")},
        likely=None if likely[0] is None else likely,
        now=now,
        counted=found["n_counted"] > 0,
        n_midnight=max(found["n_midnight"], found["n_utc_midnight"]),
        n_at_zero=found.get("n_at_zero") or 0,
        middle=(found["lat"], found["lon"]) if has_middle else None,
        spread=None if None in ends else (tuple(ends[0]), tuple(ends[1])),  # type: ignore[arg-type]
    )


def latest_likely() -> float:
    """Now, and a day for the time zones of the earth; later times lie in the future."""
    return time.time() + DAY


def likely_reading(low: float, high: float, now: float) -> str | None:
    """The line of a plan that would make two numbers of a file times from 1990 to now.

    >>> likely_reading(2013110108, 2013110817, 1.7e9), likely_reading(384_000, 384_200, 1.7e9)
    ('time_format = "%Y%m%d%H"', 'time_unit = "h"')
    """
    for digits in _DIGITS:
        ends = [_read_digits(number, digits) for number in (low, high)]
        if all(end is not None and EARLIEST_LIKELY <= end <= now for end in ends):
            return f'time_format = "{digits}"'
    for name, unit in _UNITS.items():
        if low * unit >= EARLIEST_LIKELY and high * unit <= now:
            return f'time_unit = "{name}"'
    return None


def _read_digits(number: float, digits: str) -> float | None:
    """Seconds since 1970 of a date written as one number, such as 2013110108."""
    text = f"{number:.0f}"
    if number != math.floor(number) or len(text) != len(datetime(2000, 1, 1, tzinfo=UTC).strftime(digits)):
        return None
    try:
        return datetime.strptime(text, digits).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _old_times(facts: RowFacts) -> str | None:
    if not facts.n_early:
        return None
    return (
        f"{_rows(facts.n_early, facts)} before 1990: times run from {_day(facts.first)} to "
        f"{_day(facts.last)}; {_time_line(facts)}"
    )


def _future_times(facts: RowFacts) -> str | None:
    if not facts.n_future:
        return None
    return (
        f"{_rows(facts.n_future, facts)} in the future: times run from {_day(facts.first)} to "
        f"{_day(facts.last)}; {_time_line(facts)}"
    )


def _time_line(facts: RowFacts) -> str:
    """What to write about times that are not likely."""
    low, high = ((end - facts.origin) / facts.unit for end in (facts.first, facts.last))
    if facts.counted and (line := likely_reading(low, high, facts.now)):
        return f"write {line}"
    if facts.likely is not None and facts.window is None:
        first, last = _day(facts.likely[0]), _day(facts.likely[1] + DAY)
        return f'write window = ["{first}", "{last}"] to leave them out'
    if not facts.counted:
        return (
            "they are dates, which no time_unit or origin changes: correct them in the file, name the right "
            "column as columns.time, or write the time_format if day, month and year are in another order"
        )
    if not facts.n_early:
        return "write the right time_unit or time_format"
    if facts.origin:
        return "write the right origin, the date that numbers count from"
    span = high - low
    unit, *others = _counting_units(span, facts.unit)
    return (
        f"if numbers from {low:.12g} to {high:.12g} count {_UNIT_NAMES[unit]}, write "
        f'time_unit = "{unit}" and origin = "{EXAMPLE_ORIGIN}", with the date that they count from'
        f"{_or_other_units(span, others)}"
    )


def _counting_units(span: float, seconds: float) -> list[str]:
    """The units that numbers may count if those in the file are to cover a day, but not a lifetime.

    >>> _counting_units(671, 1.0), _counting_units(40_000, 1.0), _counting_units(2, 1.0)
    (['h', 'd'], ['min', 'h'], ['d'])
    """
    covered = {name: span * unit for name, unit in _UNIT_SECONDS.items() if unit >= seconds}
    return [name for name, time in covered.items() if DAY <= time <= _LONGEST] or ["d"]


def _or_other_units(span: float, units: Sequence[str]) -> str:
    """Further units to choose from, and how long the file then is: numbers alone do not tell."""
    days = {unit: span * _UNIT_SECONDS[unit] / DAY for unit in units}
    return "".join(
        f'; if they count {_UNIT_NAMES[unit]} ({days[unit]:,.0f} days in all), time_unit = "{unit}"'
        for unit in units
    )


def _one_hour(facts: RowFacts) -> str | None:
    if not _all_within(facts, _HOUR):
        return None
    return (
        f"all {facts.n_rows:,} rows lie within one hour, from {format_wall_time(facts.first)}; "
        f"{_unit_line(facts)}write the right column of times (columns.time)"
    )


def _one_day(facts: RowFacts) -> str | None:
    if not _all_within(facts, DAY):
        return None
    hours = (facts.last - facts.first) / _HOUR
    return (
        f"all {facts.n_rows:,} rows lie within {hours:.1f} hours, from {format_wall_time(facts.first)}; "
        f"{_unit_line(facts)}write the right column of times (columns.time)"
    )


def _unit_line(facts: RowFacts) -> str:
    """The unit to write for numbers that are too close to one another; nothing for dates."""
    if not facts.counted:
        return ""
    span = (facts.last - facts.first) / facts.unit
    unit, *others = _counting_units(span, facts.unit)
    return (
        f'if numbers over a range of {span:.12g} count {_UNIT_NAMES[unit]}, write time_unit = "{unit}"'
        f"{_or_other_units(span, others)}; else "
    )


def _midnight(facts: RowFacts) -> str | None:
    if facts.n_rows < FEW_ROWS or facts.epoch >= DAY or facts.n_midnight < facts.n_rows:
        return None
    return (
        f"all {facts.n_rows:,} rows lie at 00:00, as dates without a time of day do, and epochs are shorter "
        'than a day; write epoch = "1d", the right column of times (columns.time), or columns.date for the '
        "dates and columns.time for the times of day"
    )


def _all_within(facts: RowFacts, seconds: int) -> bool:
    """Whether all times are this close to one another, and the plan does not ask for so short a window."""
    stated = facts.window is not None and facts.window[1] - facts.window[0] <= seconds
    return facts.n_rows >= FEW_ROWS and not stated and facts.last - facts.first < seconds


def _swapped_coordinates(facts: RowFacts) -> str | None:
    if facts.middle is None:
        return None
    lat, lon = facts.middle
    if facts.home is not None:
        there, swapped = _kilometres((lat, lon), facts.home), _kilometres((lon, lat), facts.home)
        if not (abs(lon) <= 90 and there > _FAR and swapped < there / 3):
            return None
        why = f"the mean point is {there:,.0f} km from the plan's time zone, and {swapped:,.0f} km if swapped"
    elif not _POLAR[0] <= lat <= _POLAR[1] and abs(lon) < _POLAR[1]:
        why = f"the mean latitude is {lat:.0f} degrees, where hardly anybody lives"
    else:
        return None
    return f"latitude and longitude seem to be swapped: {why}; {swapped_line(facts.columns)}"


def _other_zone(facts: RowFacts) -> str | None:
    if facts.middle is None or facts.home is None:
        return None
    if (away := _kilometres(facts.middle, facts.home)) <= _ELSEWHERE:
        return None
    return (
        f"the mean point is {away:,.0f} km from the main city of the plan's time zone; write the right "
        "timezone (else hours and days are those of elsewhere), or correct the coordinates if a minus sign "
        "is missing"
    )


def swapped_line(columns: tuple[str, str] | None) -> str:
    """The line that swaps latitude and longitude."""
    if columns is None:
        return "swap them in the file"
    lat, lon = columns
    return f'write columns = {{ lat = "{lon}", lon = "{lat}", ... }}'


def _zero_coordinates(facts: RowFacts) -> str | None:
    if not facts.n_at_zero or not facts.fitted or facts.box is None:
        return None
    south, west, north, east = facts.box
    if not (south <= 0 <= north and west <= 0 <= east):
        return None
    return (
        f"{facts.n_at_zero:,} rows lie at latitude 0, longitude 0, where devices without a fix are put; "
        f"write {_box_line(facts, without=(0.0, 0.0))} to leave them out"
    )


def _distant_points(facts: RowFacts) -> str | None:
    if facts.spread is None or facts.box is None or facts.n_rows < FEW_ROWS:
        return None
    south, west, north, east = facts.box
    for name, low, high, (near_low, near_high) in (
        ("latitude", south, north, facts.spread[0]),
        ("longitude", west, east, facts.spread[1]),
    ):
        width = max(near_high - near_low, 1e-3)
        if low < near_low - _SPREAD * width or high > near_high + _SPREAD * width:
            return (
                f"a few points lie far outside: {name} runs over {high - low:.3g} degrees, and 96 % of the "
                f"rows over {near_high - near_low:.3g}, so that most places of a grid are empty; write "
                f"{_box_line(facts)} to leave them out"
            )
    return None


def _box_line(facts: RowFacts, without: tuple[float, float] | None = None) -> str:
    """A box around all but the outliers, with a margin of half its size; none that holds ``without``."""
    unknown = "box = [south, west, north, east] of your area"
    if facts.spread is None:
        return unknown
    margins = [max(high - low, 0.02) / 2 for low, high in facts.spread]
    (south, north), (west, east) = (
        (math.floor((low - margin) * 100) / 100, math.ceil((high + margin) * 100) / 100)
        for (low, high), margin in zip(facts.spread, margins)
    )
    if without is not None and south <= without[0] <= north and west <= without[1] <= east:
        return unknown
    return f"box = [{south:g}, {west:g}, {north:g}, {east:g}]"


def _user_per_row(facts: TraceFacts) -> str | None:
    people = facts.traces.n_people
    if facts.n_rows < FEW_ROWS or facts.seconds <= DAY or people < 0.9 * facts.n_rows:
        return None
    return (
        f"{people:,} users in {facts.n_rows:,} rows: nearly every row has a user of its own, so that each "
        "visit would count as a person; write the column that identifies people as columns.user"
    )


def _main_place(facts: TraceFacts) -> str | None:
    cells = facts.traces.map
    visits = facts.traces.visitors().reshape(cells.n_places, cells.n_epochs).sum(axis=1)
    share = float(visits.max() / max(visits.sum(), 1))
    if visits.sum() < FEW_ROWS or share <= max(0.5, 2 / cells.n_places):
        return None
    return (
        f"one of {cells.n_places:,} places has {share:.0%} of all visits; a grid may be too coarse or too "
        "wide (box, grid, cell), or a place may stand for an unknown one"
    )


def _main_band(facts: TraceFacts) -> str | None:
    if facts.grid is None or min(facts.grid) < 5:
        return None
    cells = facts.traces.map
    visits = facts.traces.visitors().reshape(*facts.grid, cells.n_epochs).sum(axis=2)
    for bands, axis in (("rows", 1), ("columns", 0)):
        share = float(visits.sum(axis=axis).max() / max(visits.sum(), 1))
        if visits.sum() >= FEW_ROWS and share > 0.9:
            n = facts.grid[1 - axis]
            return (
                f"one of the {n:,} {bands} of the grid has {share:.0%} of all visits: points far from the "
                "others make the map much larger than the area, and most of its places empty; write box = "
                '[south, west, north, east] of your area, or a larger box = "p5"'
            )
    return None


ROW_CHECKS: tuple[Check[RowFacts], ...] = (
    Check("old_times", _old_times),
    Check("future_times", _future_times),
    Check("one_hour", _one_hour),
    Check("one_day", _one_day, refuses=False),
    Check("midnight", _midnight),
    Check("swapped_coordinates", _swapped_coordinates),
    Check("other_zone", _other_zone, refuses=False),
    Check("zero_coordinates", _zero_coordinates),
    Check("distant_points", _distant_points),
)
TRACE_CHECKS: tuple[Check[TraceFacts], ...] = (
    Check("user_per_row", _user_per_row),
    Check("main_place", _main_place, refuses=False),
    Check("main_band", _main_band, refuses=False),
)
CHECK_NAMES = (*(check.name for check in ROW_CHECKS), *(check.name for check in TRACE_CHECKS))


def refuse_implausible(
    checks: Sequence[Check[Facts]], facts: Facts, accepted: Sequence[str], source: str
) -> tuple[str, ...]:
    """Refuse what cannot be right, with the line to write; return warnings about what may be."""
    warnings = []
    for check in checks:
        if check.name in accepted or (problem := check.find(facts)) is None:
            continue
        way_out = f'accept = ["{check.name}"]'
        if check.refuses:
            raise BadInput(f"data.source: {source}: {problem}; if it is right, write {way_out}")
        warnings.append(f"Warning: {source}: {problem}; {way_out} hides this warning.")
    return tuple(warnings)


def _rows(n: int, facts: RowFacts) -> str:
    return f"{n:,} of {facts.n_rows:,} rows lie"


def _day(seconds: float) -> str:
    return format_wall_time(seconds)[: len("2013-11-01")]


def _kilometres(here: tuple[float, float], there: tuple[float, float]) -> float:
    """The distance of two points on a sphere (haversine)."""
    (south, west), (north, east) = (map(math.radians, point) for point in (here, there))
    chord = (
        math.sin((north - south) / 2) ** 2
        + math.cos(south) * math.cos(north) * math.sin((east - west) / 2) ** 2
    )
    return math.degrees(2 * math.asin(min(1.0, math.sqrt(chord)))) * _KILOMETRES_PER_DEGREE
