"""What a plan says about times and places, made ready for the rows of a file."""

from collections.abc import Callable
from functools import cache
from zoneinfo import ZoneInfo

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading.clock import (
    Clock,
    folded_clock,
    length_of,
    whole_clock,
    window_clock,
)
from leakgauge.domains.locations.reading.grid import Box, Grid, even_grid, metric_grid, percentile_of
from leakgauge.domains.locations.reading.parsing import Extent, Parser
from leakgauge.domains.locations.reading.published import TIME_FORMATS, ZONES
from leakgauge.domains.locations.reading.rows import Connection, Rows
from leakgauge.domains.locations.reading.sifting import Sieve
from leakgauge.domains.locations.reading.table import FileTable, Published
from leakgauge.domains.locations.reading.values import SECONDS, Timing
from leakgauge.domains.locations.reading.zones import DAY, wall_of, zone_of

WHERE = "data.source"


def parser_of(table: FileTable, rows: Rows) -> Parser:
    """How the parts of a visit are to be understood."""
    zone, local = zone_for(table), table.clock == "local"
    timing = Timing(
        unit=SECONDS[table.time_unit],
        origin=None
        if table.origin is None
        else wall_of(table.origin, zone if local else None, "data.origin"),
        format=table.time_format or (TIME_FORMATS.get(table.format) if table.format else None),
        local=local,
    )
    return Parser(rows, timing, zone, table.scale, WHERE)


def zone_for(table: FileTable) -> ZoneInfo | None:
    """The zone that a plan names, or that of a published data set; none where rows bring their own clocks."""
    if table.timezone is not None:
        return zone_of(table.timezone)
    if table.format is Published.FOURSQUARE:
        return None
    return zone_of("UTC" if table.format is None else ZONES[table.format])


def sieve_of(connection: Connection, table: FileTable, parser: Parser) -> Sieve:
    """Fix epochs and places, from the rows themselves where a plan leaves them open."""
    window = None
    if table.window is not None:
        first, last = (wall_of(end, parser.zone, "data.window") for end in table.window)
        window = (first, last)
    cut = _cut(table)

    @cache
    def extent() -> Extent:
        return parser.extent(connection, cut)

    clock = _clock(table, window, extent)
    walk = extent().walk if window is None else parser.walk(window[0] - 2.0 * DAY, window[1] + 2.0 * DAY)
    return Sieve(parser, clock, walk, _grid(table, extent), known=table.places is not None)


def _clock(table: FileTable, window: tuple[int, int] | None, extent: Callable[[], Extent]) -> Clock:
    length = length_of(table.epoch)
    if table.fold:
        return folded_clock(length, window)
    return window_clock(length, window) if window is not None else whole_clock(length, *extent().walls)


def _cut(table: FileTable) -> float | None:
    """The share of coordinates that a box found in the rows cuts off at each side; None: no such box."""
    match table.box:
        case None:
            return 0.0 if table.gridded else None
        case str():
            return percentile_of(table.box)
        case _:
            return None


def _grid(table: FileTable, extent: Callable[[], Extent]) -> Grid | None:
    if not table.gridded:
        return None
    corners = table.box if isinstance(table.box, tuple) else extent().box
    if corners is None:
        raise BadInput(f"{WHERE}: {table.source} has no coordinates to lay a grid on; check data.columns")
    box = Box(south=corners[0], west=corners[1], north=corners[2], east=corners[3])
    if table.grid is not None:
        return even_grid(box, *table.grid)
    return metric_grid(box, table.cell or 0.0)
