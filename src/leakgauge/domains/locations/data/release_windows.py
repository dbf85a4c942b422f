"""Several releases about the same people: the epochs of each, from a number of parts or a list of windows."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.data.visit_data import VisitData
from leakgauge.domains.locations.data.visit_files.epochs import format_wall_time, to_wall_seconds

WHERE = "data.releases"
_EXAMPLE = '[["2024-05-06", "2024-05-13"], ["2024-05-13", "2024-05-20"]]'


def check_releases(releases: Any) -> int | list[list[Any]] | None:
    """The key `releases` of a plan: a number of equal parts, or windows of start and end, or None."""
    if releases is None:
        return None
    if isinstance(releases, int) and not isinstance(releases, bool):
        if not releases >= 1:
            raise BadInput(f"{WHERE} must be >= 1, got {releases}; leave it out for one release")
        return releases
    if not isinstance(releases, list | tuple) or not releases:
        raise BadInput(f"{WHERE}: must be a number of releases, or windows {_EXAMPLE}, got {releases!r}")
    if not all(isinstance(window, list | tuple) and len(window) == 2 for window in releases):
        raise BadInput(f"{WHERE}: every window needs a start and an end; write {_EXAMPLE}")
    return [list(window) for window in releases]


def window_around(releases: Sequence[Sequence[Any]], zone: ZoneInfo | None) -> list[Any]:
    """The window from the first start to the last end."""
    starts, ends = zip(*releases)
    return [
        min(starts, key=lambda end: to_wall_seconds(end, zone, WHERE)),
        max(ends, key=lambda end: to_wall_seconds(end, zone, WHERE)),
    ]


def wall_windows(releases: Sequence[Sequence[Any]], zone: ZoneInfo | None) -> tuple[tuple[int, int], ...]:
    """Start and end of each window, in seconds on the wall clock."""
    ends = [tuple(to_wall_seconds(end, zone, WHERE) for end in window) for window in releases]
    for start, stop in ends:
        if not start < stop:
            text = f"{format_wall_time(start)} to {format_wall_time(stop)}"
            raise BadInput(f"{WHERE}: {text} ends before it begins; write [start, end]; the end is excluded")
    return tuple((start, stop) for start, stop in ends)


def divide_into_releases(
    data: VisitData, releases: int | Sequence[Sequence[Any]], zone: ZoneInfo | None = None
) -> VisitData:
    """The same people, with the cells of each release one after the other.

    Windows may overlap: what is published twice, with fresh noise each time, makes two cells.
    """
    if not data.traces.map.timed:
        raise BadInput(f"{WHERE}: a table of people and cells has no times to divide; leave it out")
    if data.folded:
        raise BadInput(f"{WHERE} and fold exclude each other: fold puts all weeks onto one; leave out fold")
    ranges = (
        _equal_parts(data.traces.map.n_epochs, releases)
        if isinstance(releases, int)
        else [_epochs_of(data, window, zone) for window in releases]
    )
    settings = f"{data.digest}\nreleases\n{[(part.start, part.stop) for part in ranges]}"
    return replace(
        data,
        traces=_with_epochs(data.traces, ranges),
        digest=sha256(settings.encode()).hexdigest(),
        release_windows=_windows(data, ranges),
    )


def _equal_parts(n_epochs: int, n: int) -> list[range]:
    if n_epochs % n:
        raise BadInput(
            f"{WHERE} = {n}: {n_epochs} epochs cannot be divided into {n} equal parts; change data.window "
            "(epochs, for a generated city), or list windows"
        )
    length = n_epochs // n
    return [range(first, first + length) for first in range(0, n_epochs, length)]


def _epochs_of(data: VisitData, window: Sequence[Any], zone: ZoneInfo | None) -> range:
    if data.first is None or data.epoch_seconds is None:
        raise BadInput(f"{WHERE}: a generated city has no dates; write a number of releases")
    ((start, stop),) = wall_windows([window], zone)
    first, length = to_wall_seconds(data.first, None, WHERE), data.epoch_seconds
    text = f"{format_wall_time(start)} to {format_wall_time(stop)}"
    if (start - first) % length or (stop - first) % length:
        raise BadInput(f"{WHERE}: {text} is not a whole number of epochs of {length} s; change its ends")
    epochs = range((start - first) // length, (stop - first) // length)
    if epochs.start < 0 or epochs.stop > data.traces.map.n_epochs:
        raise BadInput(f"{WHERE}: {text} is not within data.window; widen data.window, or leave it out")
    visited = data.traces.map.epochs(data.traces.visits.indices)
    if not ((visited >= epochs.start) & (visited < epochs.stop)).any():
        raise BadInput(
            f"{WHERE}: no visit that is counted (box, places, min_visits) lies in {text}; move this window"
        )
    return epochs


def _with_epochs(traces: Traces, ranges: Sequence[range]) -> Traces:
    old = traces.map
    epochs = np.concatenate([np.asarray(part, dtype=np.int64) for part in ranges])
    number = np.repeat(np.arange(len(ranges)), [len(part) for part in ranges])
    days = number * (int(old.days.max()) + 1) + old.days[epochs]  # a day of another release is another day
    cells = replace(old, n_epochs=epochs.size, days=days, releases=number)
    if np.array_equal(epochs, np.arange(old.n_epochs)):
        return replace(traces, map=cells)
    columns = (np.arange(old.n_places)[:, None] * old.n_epochs + epochs).ravel()
    visits = traces.visits[:, columns]
    visits.sort_indices()
    chosen = replace(traces, visits=visits, map=cells)
    if not visits.nnz:
        raise BadInput(f"{WHERE}: no visit lies in any of the windows; move them")
    return chosen.of(np.flatnonzero(chosen.n_visits))


def _windows(data: VisitData, ranges: Sequence[range]) -> tuple[str, ...]:
    """Start and end of each release in local time; none if there are no dates."""
    if data.first is None or data.epoch_seconds is None:
        return ()
    first, length = to_wall_seconds(data.first, None, WHERE), data.epoch_seconds
    ends = ((format_wall_time(first + at * length) for at in (part.start, part.stop)) for part in ranges)
    return tuple(" to ".join(pair) for pair in ends)
