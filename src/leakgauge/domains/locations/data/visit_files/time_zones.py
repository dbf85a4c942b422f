"""Time zones: local (wall clock) time at an instant in UTC."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from leakgauge.core.errors import BadInput

DAY = 86_400

UtcOffsets = Sequence[tuple[float, float]]  # from this instant on, this many seconds are added to UTC


def find_time_zone(name: str) -> ZoneInfo:
    """Find a time zone by its name in the tz database."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(name, sorted(available_timezones()), n=1)
        hint = f"did you mean {near[0]!r}?" if near else 'names look like "Europe/Rome"'
        raise BadInput(f"data.timezone: no time zone is called {name!r}; {hint}") from None


def to_wall_seconds(value: Any, zone: ZoneInfo | None, where: str) -> int:
    """Seconds on the wall clock since 1970-01-01 00:00 of a date or time of a plan.

    >>> to_wall_seconds("1970-01-02", None, "data.origin")
    86400
    """
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise BadInput(
                f'{where}: not a date or time: {value!r}; write "2013-11-01" or "2013-11-01T08:00"'
            ) from None
    elif isinstance(value, date) and not isinstance(value, datetime):
        moment = datetime(value.year, value.month, value.day, tzinfo=None)  # noqa: DTZ001 (on the wall)
    if not isinstance(moment, datetime):
        raise BadInput(f'{where}: not a date or time: {value!r}; write "2013-11-01"')
    if moment.tzinfo is not None:
        moment = moment.astimezone(zone or UTC)
    return int(moment.replace(tzinfo=UTC).timestamp())


def format_wall_time(wall: float) -> str:
    """Format a wall clock time as in a plan."""
    return datetime.fromtimestamp(wall, UTC).replace(tzinfo=None).isoformat(timespec="minutes")


def utc_offsets(zone: ZoneInfo, first: float, last: float) -> UtcOffsets:
    """The UTC offsets of a zone between two instants, each with the instant it starts at."""
    offsets = [(first, _offset_at(zone, first))]
    instant = first
    while instant < last:
        after = min(instant + DAY, last)
        if _offset_at(zone, after) != offsets[-1][1]:
            change = _find_offset_change(zone, instant, after)
            offsets.append((change, _offset_at(zone, change)))
        instant = after
    return offsets


def wall_time_sql(utc: str, offsets: UtcOffsets) -> str:
    """SQL for the wall clock at an instant in SQL."""
    ahead = f"{offsets[0][1]!r}"
    for start, seconds in offsets[1:]:
        ahead = f"CASE WHEN {utc} >= {start!r} THEN {seconds!r} ELSE {ahead} END"
    return f"({utc} + {ahead})"


def wall_time_range(offsets: UtcOffsets, last: float) -> tuple[float, float]:
    """The earliest and latest wall clock times from the first offset to an instant."""
    ends = [*(start for start, _ in offsets[1:]), last]
    return (
        min(start + ahead for start, ahead in offsets),
        max(end + ahead for end, (_, ahead) in zip(ends, offsets, strict=True)),
    )


def _offset_at(zone: ZoneInfo, instant: float) -> float:
    ahead = datetime.fromtimestamp(instant, zone).utcoffset()
    assert ahead is not None  # a ZoneInfo always has an offset
    return ahead.total_seconds()


def _find_offset_change(zone: ZoneInfo, before: float, after: float) -> float:
    """The first second with the new offset."""
    low, high = int(before), int(after) + 1
    old = _offset_at(zone, before)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset_at(zone, middle) == old else (low, middle)
    return float(high)
