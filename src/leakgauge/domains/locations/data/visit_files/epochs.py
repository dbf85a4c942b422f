"""Epochs: local time divided into intervals of equal length, folded into one week or not.

Local time is the time of the wall clock in a time zone at an instant in UTC.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput

DAY = 86_400

UtcOffsets = Sequence[tuple[float, float]]  # from this instant on, this many seconds are added to UTC
WEEK = 7 * DAY
MONDAY = 4 * DAY  # 1970-01-05 was one
MOST_EPOCHS = 100_000
_LENGTH = re.compile(r"(\d+)\s*(s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": DAY}


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


@dataclass(frozen=True)
class EpochClock:
    """Epochs of equal length on the wall clock; folded, those of one week from Monday 00:00.

    Every day has 24 hours. When clocks are put forward, one hour stays empty; when they are put back, the
    repeated hour is counted as one.
    """

    length: int  # of an epoch, in seconds
    n_epochs: int
    first: int  # start of epoch 0: seconds on the wall clock since 1970-01-01 00:00
    bounds: tuple[int, int] | None  # visits outside are ignored
    folded: bool
    windows: tuple[tuple[int, int], ...] = ()  # of releases, with gaps between them; others are ignored too

    @property
    def days(self) -> Ints:
        """The day on which each epoch begins; epoch 0 begins on day 0."""
        return (
            self.first + np.arange(self.n_epochs, dtype=np.int64) * self.length
        ) // DAY - self.first // DAY

    def epoch(self, wall: str) -> str:
        """SQL for the epoch of a time on the wall clock."""
        since = f"({wall} - {self.first})"
        since = f"(({since} % {WEEK} + {WEEK}) % {WEEK})" if self.folded else since
        return f"CAST(floor({since} / {self.length}) AS INTEGER)"

    def inside(self, wall: str) -> str:
        """SQL for whether a time on the wall clock lies in the window."""
        within = [f"({wall} >= {start} AND {wall} < {stop})" for start, stop in self.windows]
        parts = [f"({' OR '.join(within)})"] if within else []
        if self.bounds is not None:
            parts.append(f"({wall} >= {self.bounds[0]} AND {wall} < {self.bounds[1]})")
        return f"({' AND '.join(parts)})" if parts else "true"


def parse_epoch_length(text: str) -> int:
    """Seconds of an epoch; an epoch must divide a day, or be a whole number of days.

    >>> parse_epoch_length("30min")
    1800
    """
    match = _LENGTH.fullmatch(text.strip())
    if not match or int(match[1]) == 0:
        raise BadInput(f'data.epoch: not a length of time: {text!r}; write "1h", "30min", "1d"')
    length = int(match[1]) * _SECONDS[match[2]]
    if DAY % length and length % DAY:
        raise BadInput(f"data.epoch = {text!r} does not fit into a day; 1h, 2h, 3h, 4h, 6h, 8h, 12h, 1d do")
    return length


def window_clock(length: int, window: tuple[int, int]) -> EpochClock:
    """The epochs of a window that a plan names."""
    start, stop = window
    if not start < stop:
        raise BadInput(
            f"data.window ends ({format_wall_time(stop)}) before it begins ({format_wall_time(start)}); "
            "write [start, end]; the end itself is excluded"
        )
    if start % min(length, DAY) or (stop - start) % length:
        raise BadInput(
            f"data.window = {format_wall_time(start)} to {format_wall_time(stop)} is not a whole number of "
            f"epochs of {length} s after midnight; change its ends"
        )
    return _bounded(EpochClock(length, (stop - start) // length, start, window, folded=False))


def all_days_clock(length: int, first: float, last: float) -> EpochClock:
    """The epochs of all days between two times on the wall clock."""
    start = int(first // DAY) * DAY
    unit = max(length, DAY)
    n_epochs = (int((last - start) // unit) + 1) * (unit // length)
    return _bounded(EpochClock(length, n_epochs, start, (start, start + n_epochs * length), folded=False))


def weekly_clock(length: int, window: tuple[int, int] | None) -> EpochClock:
    """The epochs of one week; all visits, or those in a window, are folded onto it."""
    if WEEK % length:
        raise BadInput(f"data.fold: an epoch of {length // DAY} days does not fit into a week; 1d and 7d do")
    if window is not None:
        window_clock(length, window)
    return EpochClock(length, WEEK // length, MONDAY, window, folded=True)


def _bounded(clock: EpochClock) -> EpochClock:
    if clock.n_epochs > MOST_EPOCHS:
        last = clock.first + clock.n_epochs * clock.length
        ends = f"{format_wall_time(clock.first)} to {format_wall_time(last)}"
        raise BadInput(
            f"data: {clock.n_epochs} epochs from {ends}, at most {MOST_EPOCHS}; set window = [first, end], "
            "fold = true or a longer epoch"
        )
    return clock
