"""Read a file of visits as described by a plan, and explain why a file is refused."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
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
    all_days_clock,
    find_time_zone,
    format_wall_time,
    parse_epoch_length,
    to_wall_seconds,
    weekly_clock,
    window_clock,
)
from leakgauge.domains.locations.data.visit_files.file_formats import (
    TIME_FORMATS,
    ZONES,
    digest_files,
    find_files,
    open_visit_rows,
)
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
_DATE_LENGTH = len("2013-11-01")
LIKELY_CAUSES = "columns, time_unit, time_format, clock or scale may be wrong"


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


def build_row_filter(connection: Connection, table: LocationsDataTable, parser: VisitParser) -> RowFilter:
    """Determine epochs and places, from the rows themselves if the plan does not set them."""
    window = None
    if table.window is not None:
        first, last = (to_wall_seconds(end, parser.zone, "data.window") for end in table.window)
        window = (first, last)
    cut = _box_percentile(table)

    @cache
    def extent() -> DataExtent:
        return parser.extent(connection, cut)

    clock = _build_clock(table, window, extent)
    offsets = (
        extent().offsets
        if window is None
        else parser.offsets_between(window[0] - 2.0 * DAY, window[1] + 2.0 * DAY)
    )
    return RowFilter(parser, clock, offsets, _build_grid(table, extent), known=table.places is not None)


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
    box = spatial_grid.BoundingBox(south=corners[0], west=corners[1], north=corners[2], east=corners[3])
    if table.grid is not None:
        return spatial_grid.even_grid(box, *table.grid)
    return spatial_grid.metric_grid(box, table.cell or 0.0)


def too_many_bad_rows(
    table: LocationsDataTable, tally: RowCounts, parts: Mapping[str, int], bad_rows: Sequence[BadRow]
) -> str:
    """The error message for too many bad rows: how many, in which part, and the first of them."""
    kinds = ", ".join(f"{part}: {n}" for part, n in parts.items())
    places = bad_row_locations(bad_rows, Path(table.source).name)
    rows = [f"{place} ({row.fault or row.part})" for place, row in zip(places, bad_rows)]
    first = f"first {', '.join(rows)}" if rows else f"none in the first {MOST_LINES} lines"
    hint = LIKELY_CAUSES if 2 * tally.bad > tally.rows else "fix them"
    return (
        f"{WHERE}: {tally.bad} of {tally.rows} rows of {table.source} are bad ({kinds}), {first}; at most a "
        f"share of {table.bad_share} is allowed; {hint}, or raise data.bad_share"
    )


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
        begin, end = (
            format_wall_time(wall)[:_DATE_LENGTH] for wall in row_filter.parser.extent(connection, None).walls
        )
        return (
            f"data.window: no visit of {table.source} lies in {first} to {last}; in local time they run "
            f"from {begin} to {end}; move the window"
        )
    return f"{WHERE}: no visit is left of {table.source} ({tally.summary}); check data.columns"


def _rough_corners(box: Sequence[float] | None) -> str:
    """The corners of all data to one decimal, outwards: each of them is where some person was."""
    signs = (-1, -1, 1, 1)
    return _corners([sign * math.ceil(sign * corner * 10) / 10 for sign, corner in zip(signs, box or ())])


def _corners(box: Sequence[float]) -> str:
    return "[" + ", ".join(f"{corner:.6g}" for corner in box) + "]"


def read_visits(table: LocationsDataTable, folder: Path) -> VisitData:
    """Stream the rows of a file through a database; only the traces are held in memory."""
    time_zone_of_table(table)
    files = find_files(table.source, folder, table.format, WHERE)
    with open_visit_database(table.source) as connection:
        known = (
            trace_matrix.insert_places(connection, table.places, folder) if table.places is not None else ()
        )
        parser = build_parser(table, open_visit_rows(connection, table, files, WHERE))
        row_filter = build_row_filter(connection, table, parser)
        tally = _filter_rows(connection, table, row_filter)
        cells, places = _build_map(connection, table, row_filter)
        ((kept,),) = connection.execute("SELECT sum(n) FROM visits WHERE status = 0").fetchall()
        traces = trace_matrix.build_traces(connection, cells, table.min_visits)
        few = trace_matrix.rows_of_others(connection)
    outside = tally.outside_map + tally.kept - int(kept)
    return VisitData(
        traces=traces,
        tally=replace(tally, kept=int(kept) - few, outside_map=outside, few_visits=few),
        digest=digest_files((*files, *known), VERSION, _table_without_paths(table)),
        places=places,
        first=format_wall_time(row_filter.clock.first),
        epoch_seconds=row_filter.clock.length,
        folded=row_filter.clock.folded,
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
        raise BadInput(
            too_many_bad_rows(table, tally, parts | ({"columns": malformed} if malformed else {}), bad_rows)
        )
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
    """The table as JSON, without the paths of its files."""
    keys: dict[str, Any] = asdict(table) | {"source": None}
    keys["places"] = keys["places"] | {"source": None} if isinstance(keys["places"], dict) else None
    return json.dumps(keys, sort_keys=True, default=str)
