"""What is in the data of an audit, in one line: people, visits, times, places and counts."""

import numpy as np

from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.data.visit_data import VisitData
from leakgauge.domains.locations.data.visit_files.epochs import format_wall_time, to_wall_seconds

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def data_summary(data: VisitData, counted: Traces) -> str:
    """People, visits, first and last time, places, epochs, visits per person, and the counts of everyone.

    ``counted`` are the visits that the caps leave. Nothing of a single person is in it.
    """
    if not data.traces.map.timed:
        return _cells_summary(data.traces, counted)
    traces = data.traces
    median, most = np.quantile(traces.n_visits, [0.5, 0.95], method="higher")
    counts = counted.visitors()
    empty = int(np.count_nonzero(counts == 0))
    caps = "" if counted.visits.nnz == traces.visits.nnz else f"; the caps keep {_share(counted, traces)}"
    of = " of a release" if traces.map.n_releases > 1 else ""  # twice where releases overlap
    return (
        f"{traces.n_people:,} people, {traces.visits.nnz:,} visits (a person in a place in an epoch{of}), "
        f"{_times(data)}, {traces.map.n_places:,} places, {traces.map.n_epochs:,} epochs{_length(data)}; "
        f"visits per person: median {median:,}, 95th percentile {most:,}{caps}; counts of everyone: mean "
        f"{_count(counts.mean())}, median {_count(np.median(counts))}, {empty:,} of {counts.size:,} "
        f"({empty / counts.size:.1%}) empty"
    )


def _cells_summary(traces: Traces, counted: Traces) -> str:
    """The same for people and cells without times."""
    numbers, counts = traces.value_counts.sum(axis=1), counted.visitors()
    median, most = np.quantile(numbers, [0.5, 0.95], method="higher")
    empty = int(np.count_nonzero(counts == 0))
    rows, columns = traces.map.n_places, traces.map.n_epochs
    shape = f" ({rows:,} rows x {columns:,} columns)" if columns > 1 else ""
    values = ""
    if traces.map.max_value > 1:
        by_value = traces.value_counts.sum(axis=0)
        values = "; values: " + ", ".join(f"{n:,} of {value}" for value, n in enumerate(by_value, start=1))
    caps = (
        "" if counted.visits.nnz == traces.visits.nnz else f"; the caps keep a sum of {counted.visits.nnz:,}"
    )
    return (
        f"{traces.n_people:,} people, {traces.map.n_cells:,} cells{shape}; cells per person: median "
        f"{median:,}, 95th percentile {most:,}{values}{caps}; counts of everyone: mean "
        f"{_count(counts.mean())}, median {_count(np.median(counts))}, {empty:,} of {counts.size:,} "
        f"({empty / counts.size:.1%}) empty"
    )


def _count(value: float) -> str:
    """A mean or median count: three digits, and never as a power of ten.

    >>> _count(2040.4), _count(0.7098), _count(17)
    ('2,040', '0.71', '17')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _share(counted: Traces, traces: Traces) -> str:
    return f"{counted.visits.nnz:,} visits ({counted.visits.nnz / max(traces.visits.nnz, 1):.1%})"


def _times(data: VisitData) -> str:
    """The first and the last epoch with a visit, in local time."""
    if data.release_windows:
        return f"{len(data.release_windows)} releases ({'; '.join(data.release_windows)}; local time)"
    if data.first is None or data.epoch_seconds is None:
        several = data.traces.map.n_releases
        return "no dates" if several == 1 else f"no dates, {several} releases"
    if data.folded:
        return "folded onto one week"
    epochs = data.traces.map.epochs(np.flatnonzero(data.traces.visitors()))
    start = to_wall_seconds(data.first, None, "data.window")
    first, last = (format_wall_time(start + int(epoch) * data.epoch_seconds) for epoch in _ends(epochs))
    return f"first {first}, last {last} (local time)"


def _ends(epochs: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[int, int]:
    return (int(epochs.min()), int(epochs.max())) if epochs.size else (0, 0)


def _length(data: VisitData) -> str:
    """The length of an epoch, in the largest unit that fits."""
    if data.epoch_seconds is None:
        return ""
    seconds, unit = next((size, name) for size, name in _UNITS if data.epoch_seconds % size == 0)
    return f" of {data.epoch_seconds // seconds} {unit}"
