"""Read a file of visits as described by a plan, and explain why a file is refused."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.data.visit_data import RowCounts, VisitData
from leakgauge.domains.locations.data.visit_files import spatial_grid, trace_matrix
from leakgauge.domains.locations.data.visit_files.duckdb_reader import (
    MOST_LINES,
    Connection,
    VisitRows,
    open_visit_database,
)
from leakgauge.domains.locations.data.visit_files.epochs import (
    DAY,
    EpochClock,
    UtcOffsets,
    all_days_clock,
    format_wall_time,
    parse_epoch_length,
    to_wall_seconds,
    weekly_clock,
    window_clock,
)
from leakgauge.domains.locations.data.visit_files.file_formats import (
    TIME_FORMATS,
    ZONES,
    digest_source,
    find_files,
    open_visit_rows,
)
from leakgauge.domains.locations.data.visit_files.plausibility import (
    ROW_CHECKS,
    TRACE_CHECKS,
    RowFacts,
    TraceFacts,
    latest_likely,
    likely_reading,
    refuse_implausible,
    swapped_line,
)
from leakgauge.domains.locations.data.visit_files.time_zones import find_time_zone, zone_position
from leakgauge.domains.locations.data.visit_files.visit_parser import (
    BAD_FIELDS,
    UNIT_SECONDS,
    BadRow,
    DataExtent,
    RowFilter,
    RowStatus,
    TimeFormat,
    VisitParser,
    bad_row_locations,
)
from leakgauge.domains.locations.plan_tables import LocationsDataTable, PublishedFormat

WHERE = "data.source"
VERSION = "visits 1"  # part of the digest: change it when the same table would give other traces
DATED_VERSION = "visits 2"  # where dates have a column of their own
_DATE_LENGTH = len("2013-11-01")
LIKELY_CAUSES = {  # of bad fields: keys of the `data` table
    "user": ("columns",),
    "time": ("columns", "time_unit", "time_format", "clock"),
    "coordinates": ("columns", "scale"),
    "place": ("columns", "places"),
}


def build_parser(table: LocationsDataTable, rows: VisitRows) -> VisitParser:
    """Build the parser of rows from the `data` table."""
    zone, local = time_zone_of_table(table), table.clock == "local"
    timing = TimeFormat(
        unit=UNIT_SECONDS[table.time_unit],
        origin=None
        if table.origin is None
        else to_wall_seconds(table.origin, zone if local else None, "data.origin"),
        format=table.time_format or (TIME_FORMATS.get(table.format) if table.format else None),
        local=local,
    )
    return VisitParser(rows, timing, zone, table.scale, WHERE)


def time_zone_of_table(table: LocationsDataTable) -> ZoneInfo | None:
    """The zone that a plan names, or that of a published data set; none if rows have their own offsets."""
    if table.timezone is not None:
        return find_time_zone(table.timezone)
    if table.format is PublishedFormat.FOURSQUARE:
        return None
    return find_time_zone("UTC" if table.format is None else ZONES[table.format])


def build_row_filter(
    connection: Connection, table: LocationsDataTable, parser: VisitParser
) -> tuple[RowFilter, tuple[str, ...]]:
    """Determine epochs and places, from the rows themselves if the plan does not set them.

    Rows that cannot be what the plan says are refused; warnings about others are returned.
    """
    window = None
    if table.window is not None:
        first, last = (to_wall_seconds(end, parser.zone, "data.window") for end in table.window)
        window = (first, last)
    cut = _box_percentile(table)

    @cache
    def extent() -> DataExtent:
        return parser.extent(connection, cut)

    offsets = (
        extent().offsets
        if window is None
        else parser.offsets_between(window[0] - 2.0 * DAY, window[1] + 2.0 * DAY)
    )
    facts = extent().facts if window is None else _facts_in_window(connection, table, parser, window, offsets)
    if facts is not None and cut is not None and (points := extent().facts) is not None:
        facts = replace(facts, n_at_zero=points.n_at_zero, middle=points.middle, spread=points.spread)
    if facts is not None:
        facts = replace(facts, columns=parser.rows.point_columns)
    warnings = _check_rows(table, facts, window, extent().box if cut is not None else None)
    clock, grid = _build_clock(table, window, extent), _build_grid(table, extent)
    return RowFilter(parser, clock, offsets, grid, known=table.places is not None), warnings


def _facts_in_window(
    connection: Connection,
    table: LocationsDataTable,
    parser: VisitParser,
    window: tuple[int, int],
    offsets: UtcOffsets,
) -> RowFacts | None:
    """Facts about the first rows that lie in the window, and in the box if the plan states one."""
    inside = [f"t >= {window[0]} AND t < {window[1]}"]
    if isinstance(table.box, tuple):
        inside.append(_bounding_box(table.box).inside("lat", "lon"))
    return parser.first_rows(connection, offsets, inside)


def _check_rows(
    table: LocationsDataTable,
    facts: RowFacts | None,
    window: tuple[int, int] | None,
    box: tuple[float, float, float, float] | None,
) -> tuple[str, ...]:
    """Check the plausibility of rows; ``box`` is that of the rows, where the map follows from them."""
    if facts is None:
        return ()
    zone = table.timezone or (ZONES.get(table.format) if table.format else None)
    stated = replace(
        facts,
        unit=UNIT_SECONDS[table.time_unit],
        origin=0.0 if table.origin is None else to_wall_seconds(table.origin, None, "data.origin"),
        window=window,
        epoch=parse_epoch_length(table.epoch),
        box=box,
        fitted=box is not None,
        home=None if zone is None else zone_position(zone),
    )
    return refuse_implausible(ROW_CHECKS, stated, table.accept, Path(table.source).name)


def _build_clock(
    table: LocationsDataTable, window: tuple[int, int] | None, extent: Callable[[], DataExtent]
) -> EpochClock:
    length = parse_epoch_length(table.epoch)
    if table.fold:
        return weekly_clock(length, window)
    return window_clock(length, window) if window is not None else all_days_clock(length, *extent().walls)


def _box_percentile(table: LocationsDataTable) -> float | None:
    """The share of coordinates to cut off at each side of a box computed from the rows; None: no such box."""
    match table.box:
        case None:
            return 0.0 if table.gridded else None
        case str():
            return spatial_grid.parse_percentile(table.box)
        case _:
            return None


def _build_grid(
    table: LocationsDataTable, extent: Callable[[], DataExtent]
) -> spatial_grid.SpatialGrid | None:
    if not table.gridded:
        return None
    corners = table.box if isinstance(table.box, tuple) else extent().box
    if corners is None:
        raise BadInput(f"{WHERE}: {table.source} has no coordinates for a grid; check data.columns")
    box = _bounding_box(corners)
    if table.grid is not None:
        return spatial_grid.even_grid(box, *table.grid)
    return spatial_grid.metric_grid(box, table.cell or 0.0)


def _bounding_box(corners: tuple[float, float, float, float]) -> spatial_grid.BoundingBox:
    south, west, north, east = corners
    return spatial_grid.BoundingBox(south=south, west=west, north=north, east=east)


def too_many_bad_rows(
    table: LocationsDataTable,
    tally: RowCounts,
    parts: Mapping[str, int],
    bad_rows: Sequence[BadRow],
    way_out: str | None,
) -> str:
    """The error message for too many bad rows: how many, in which part, the first of them, and a way out."""
    kinds = ", ".join(f"{part}: {n}" for part, n in parts.items())
    places = bad_row_locations(bad_rows, Path(table.source).name)
    rows = [f"{place} ({row.fault or row.part})" for place, row in zip(places, bad_rows)]
    first = f"first {', '.join(rows)}" if rows else f"none in the first {MOST_LINES} lines"
    hint = way_out or (_likely_causes(table, parts) if 2 * tally.bad > tally.rows else "fix them")
    if way_out is None and "columns" in parts:
        hint = f"{hint}, save the file in UTF-8 if it is in another encoding"
    found = f"{WHERE}: {tally.bad} of {tally.rows} rows of {table.source} are bad ({kinds}), {first}"
    if tally.bad == tally.rows:
        return f"{found}; {hint}"
    return f"{found}; at most a share of {table.bad_share} is allowed; {hint}, or raise data.bad_share"


def _likely_causes(table: LocationsDataTable, parts: Iterable[str]) -> str:
    """The keys of the plan that may be wrong where these parts of most rows are bad."""
    keys = dict.fromkeys(key for part in parts for key in LIKELY_CAUSES.get(part, ()))
    if table.places is None:
        keys.pop("places", None)
    return f"{' or '.join(', '.join(keys).rsplit(', ', 1))} may be wrong" if keys else "fix them"


def _way_out_of_bad_rows(
    connection: Connection,
    table: LocationsDataTable,
    parser: VisitParser,
    tally: RowCounts,
    parts: Mapping[str, int],
) -> str | None:
    """The line that would make most bad rows good: decimal commas, another unit of times, or a swap."""
    if 2 * tally.bad <= tally.rows:
        return None
    points_are_bad = 2 * parts.get("coordinates", 0) > tally.bad
    if points_are_bad and table.decimal == "." and 2 * parser.n_decimal_commas(connection) > tally.bad:
        return 'coordinates are written with decimal commas: write decimal = ","'
    if (ends := parser.unreadable_times(connection)) and (line := _likely_time_line(table, *ends)):
        return f"write {line}"
    if parser.rows.lat is not None and 2 * parser.n_swapped(connection) > tally.bad:
        return f"latitude and longitude are swapped: {swapped_line(parser.rows.point_columns)}"
    return None


def _likely_time_line(table: LocationsDataTable, first: float, last: float) -> str | None:
    """The line of a plan with which these times, as it reads them now, would be likely ones."""
    origin = 0 if table.origin is None else to_wall_seconds(table.origin, None, "data.origin")
    unit = UNIT_SECONDS[table.time_unit]
    return likely_reading((first - origin) / unit, (last - origin) / unit, latest_likely())


def no_visits_left(
    connection: Connection, table: LocationsDataTable, row_filter: RowFilter, tally: RowCounts
) -> str:
    """The error message if no visit is in the window or in the box, with the extent of the visits."""
    if row_filter.grid is not None and tally.outside_map:
        extent = row_filter.parser.extent(connection, 0.0)
        return (
            f"data.box: no visit of {table.source} in the window lies in "
            f"{_corners(astuple(row_filter.grid.box))} "
            f"(south, west, north, east); coordinates run over about {_rough_corners(extent.box)}; move the "
            "box"
        )
    if row_filter.clock.bounds is not None and tally.outside_window:
        first, last = map(format_wall_time, row_filter.clock.bounds)
        extent = row_filter.parser.extent(connection, None)
        begin, end = (format_wall_time(wall)[:_DATE_LENGTH] for wall in extent.walls)
        facts = extent.facts
        odd = facts and facts.counted and facts.n_early + facts.n_future
        line = facts and odd and _likely_time_line(table, facts.first, facts.last)
        if windows := row_filter.clock.windows:
            listed = " or in ".join(
                f"{format_wall_time(start)} to {format_wall_time(stop)}" for start, stop in windows
            )
            return (
                f"data.releases: no visit of {table.source} lies in {listed}; in local time they run from "
                f"{begin} to {end}; {f'write {line}' if line else 'move the windows'}"
            )
        return (
            f"data.window: no visit of {table.source} lies in {first} to {last}; in local time they run "
            f"from {begin} to {end}; {f'write {line}' if line else 'move the window'}"
        )
    return f"{WHERE}: no visit is left of {table.source} ({tally.summary}); check data.columns"


def _rough_corners(box: Sequence[float] | None) -> str:
    """The corners of all data to one decimal, outwards: each of them is where some person was."""
    signs = (-1, -1, 1, 1)
    return _corners([sign * math.ceil(sign * corner * 10) / 10 for sign, corner in zip(signs, box or ())])


def _corners(box: Sequence[float]) -> str:
    return "[" + ", ".join(f"{corner:.6g}" for corner in box) + "]"


def read_visits(
    table: LocationsDataTable, folder: Path, releases: tuple[tuple[int, int], ...] = ()
) -> VisitData:
    """Stream the rows of a file through a database; only the traces are held in memory.

    Rows outside of all ``releases``, times on the wall clock, are outside the window.
    """
    time_zone_of_table(table)
    files = find_files(table.source, folder, table.format, WHERE)
    with open_visit_database(table.source) as connection:
        known = (
            trace_matrix.insert_places(connection, table.places, folder) if table.places is not None else ()
        )
        parser = build_parser(table, open_visit_rows(connection, table, files, WHERE))
        row_filter, warnings = build_row_filter(connection, table, parser)
        if releases:
            row_filter = replace(row_filter, clock=replace(row_filter.clock, windows=releases))
        tally = _filter_rows(connection, table, row_filter)
        cells, places = _build_map(connection, table, row_filter)
        ((kept,),) = connection.execute("SELECT sum(n) FROM visits WHERE status = 0").fetchall()
        traces = trace_matrix.build_traces(connection, cells, table.min_visits)
        few = trace_matrix.rows_of_others(connection)
    outside = tally.outside_map + tally.kept - int(kept)
    clock = row_filter.clock
    version = VERSION if table.columns.date is None else DATED_VERSION
    grid = row_filter.grid if _box_percentile(table) is not None else None
    facts = TraceFacts(
        traces=traces,
        n_rows=int(kept) - few,
        seconds=clock.n_epochs * clock.length,
        grid=None if grid is None else (grid.n_rows, grid.n_columns),
    )
    warnings += refuse_implausible(TRACE_CHECKS, facts, table.accept, Path(table.source).name)
    return VisitData(
        traces=traces,
        tally=replace(tally, kept=int(kept) - few, outside_map=outside, few_visits=few),
        digest=digest_source(table.source, (*files, *known), version, _table_without_paths(table)),
        places=places,
        first=format_wall_time(clock.first),
        epoch_seconds=clock.length,
        folded=clock.folded,
        warnings=warnings,
    )


def _filter_rows(connection: Connection, table: LocationsDataTable, row_filter: RowFilter) -> RowCounts:
    """Filter the rows; refuse too many bad rows, and a window or a box without visits."""
    counts = row_filter.filter(connection)
    malformed = row_filter.parser.rows.count_malformed(connection)
    bad = malformed + sum(counts.get(status, 0) for status in BAD_FIELDS)
    bad_rows = row_filter.bad_rows(connection) if bad else ()
    places = bad_row_locations(bad_rows, Path(table.source).name)
    tally = RowCounts(
        rows=sum(counts.values()) + malformed,
        kept=counts.get(RowStatus.KEPT, 0),
        bad=bad,
        bad_rows=tuple(f"{place} ({row.part})" for place, row in zip(places, bad_rows)),
        without_point=counts.get(RowStatus.WITHOUT_POINT, 0),
        outside_window=counts.get(RowStatus.OUTSIDE_WINDOW, 0),
        outside_map=counts.get(RowStatus.OUTSIDE_MAP, 0),
    )
    if tally.rows == 0:
        raise BadInput(f"{WHERE}: {table.source} has no rows; a file of visits has at least one")
    if bad > table.bad_share * tally.rows:
        parts = {part: counts[status] for status, part in BAD_FIELDS.items() if status in counts}
        parts |= {"columns": malformed} if malformed else {}
        way_out = _way_out_of_bad_rows(connection, table, row_filter.parser, tally, parts)
        raise BadInput(too_many_bad_rows(table, tally, parts, bad_rows, way_out))
    if tally.kept == 0:
        raise BadInput(no_visits_left(connection, table, row_filter, tally))
    return tally


def _build_map(
    connection: Connection, table: LocationsDataTable, row_filter: RowFilter
) -> tuple[CellMap, trace_matrix.Names | None]:
    if row_filter.grid is not None:
        return trace_matrix.grid_map(row_filter.grid, row_filter.clock), None
    if row_filter.known:
        return trace_matrix.known_map(connection, row_filter.clock)
    return trace_matrix.named_map(connection, row_filter.clock, table.top)


def _table_without_paths(table: LocationsDataTable) -> str:
    """The table as JSON, without the paths of its files and the checks that are turned off."""
    keys: dict[str, Any] = {k: v for k, v in asdict(table).items() if k != "accept"} | {"source": None}
    keys["places"] = keys["places"] | {"source": None} if isinstance(keys["places"], dict) else None
    return json.dumps(keys, sort_keys=True, default=str)
