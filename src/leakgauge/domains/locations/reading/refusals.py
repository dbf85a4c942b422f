"""What to say of a file of which nothing can be made."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from leakgauge.domains.locations.reading.csv_rows import MOST_LINES
from leakgauge.domains.locations.reading.loaded import Tally
from leakgauge.domains.locations.reading.rows import Connection
from leakgauge.domains.locations.reading.sifting import BadRow, Sieve, places_of
from leakgauge.domains.locations.reading.table import FileTable
from leakgauge.domains.locations.reading.zones import show

WHERE = "data.source"
SUSPECTS = "columns, time_unit, time_format, clock or scale may be wrong"


def too_bad(table: FileTable, tally: Tally, parts: Mapping[str, int], found: Sequence[BadRow]) -> str:
    """Too many rows are bad: how many, in which part, and which are the first."""
    kinds = ", ".join(f"{part}: {n}" for part, n in parts.items())
    places = places_of(found, Path(table.source).name)
    rows = [f"{place} ({row.shown or row.part})" for place, row in zip(places, found)]
    first = f"first {', '.join(rows)}" if rows else f"none in the first {MOST_LINES} lines"
    hint = SUSPECTS if 2 * tally.bad > tally.rows else "mend them"
    return (
        f"{WHERE}: {tally.bad} of {tally.rows} rows of {table.source} are bad ({kinds}), {first}; at most a "
        f"share of {table.bad_share} may be; {hint}, or raise data.bad_share"
    )


def nothing_left(connection: Connection, table: FileTable, sieve: Sieve, tally: Tally) -> str:
    """No visit lies in the window, or none of those in the box; where they lie instead."""
    if sieve.grid is not None and tally.outside_map:
        extent = sieve.parser.extent(connection, 0.0)
        return (
            f"data.box: no visit of {table.source} in the window lies in {_corners(astuple(sieve.grid.box))} "
            f"(south, west, north, east); coordinates run over {_corners(extent.box or ())}; move the box"
        )
    if sieve.clock.bounds is not None and tally.outside_window:
        first, last = map(show, sieve.clock.bounds)
        begin, end = map(show, sieve.parser.extent(connection, None).walls)
        return (
            f"data.window: no visit of {table.source} lies in {first} to {last}; in local time they run "
            f"from {begin} to {end}; move the window"
        )
    return f"{WHERE}: no visit is left of {table.source} ({tally.words}); check data.columns"


def _corners(box: Sequence[float]) -> str:
    return "[" + ", ".join(f"{corner:.6g}" for corner in box) + "]"
