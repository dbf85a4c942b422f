"""Read a file of visits as a plan says."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading import assembly, coordinates
from leakgauge.domains.locations.reading.database import connected
from leakgauge.domains.locations.reading.files import digest_of, find
from leakgauge.domains.locations.reading.loaded import Loaded, Tally
from leakgauge.domains.locations.reading.refusals import nothing_left, too_bad
from leakgauge.domains.locations.reading.rows import Connection
from leakgauge.domains.locations.reading.setup import parser_of, sieve_of, zone_for
from leakgauge.domains.locations.reading.sifting import BAD, Sieve, Status, places_of
from leakgauge.domains.locations.reading.sources import open_rows
from leakgauge.domains.locations.reading.table import FileTable
from leakgauge.domains.locations.reading.zones import show
from leakgauge.domains.locations.traces import Map

VERSION = "visits 1"  # part of the digest: change it when the same table would give other traces
WHERE = "data.source"


def read_visits(table: FileTable, folder: Path) -> Loaded:
    """Stream the rows of a file through a database; only who was in which cell reaches memory."""
    zone_for(table)
    files = find(table.source, folder, table.format, WHERE)
    with connected(table.source) as connection:
        known = coordinates.fill(connection, table.places, folder) if table.places is not None else ()
        parser = parser_of(table, open_rows(connection, table, files, WHERE))
        sieve = sieve_of(connection, table, parser)
        tally = _sifted(connection, table, sieve)
        cells, places = _map(connection, table, sieve)
        ((kept,),) = connection.execute("SELECT sum(n) FROM visits WHERE status = 0").fetchall()
        traces = assembly.traces(connection, cells, table.min_visits)
    return Loaded(
        traces=traces,
        tally=replace(tally, kept=int(kept), outside_map=tally.outside_map + tally.kept - int(kept)),
        digest=digest_of((*files, *known), VERSION, _said(table)),
        places=places,
        first=show(sieve.clock.first),
    )


def _sifted(connection: Connection, table: FileTable, sieve: Sieve) -> Tally:
    """Sift the rows; refuse too many bad ones, and a window or a box in which nothing is left."""
    counts = sieve.sift(connection)
    torn = sieve.parser.rows.torn(connection)
    bad = torn + sum(counts.get(status, 0) for status in BAD)
    found = sieve.bad_rows(connection) if bad else ()
    places = places_of(found, Path(table.source).name)
    tally = Tally(
        rows=sum(counts.values()) + torn,
        kept=counts.get(Status.KEPT, 0),
        bad=bad,
        bad_rows=tuple(f"{place} ({row.part})" for place, row in zip(places, found)),
        pointless=counts.get(Status.POINTLESS, 0),
        outside_window=counts.get(Status.OUTSIDE_WINDOW, 0),
        outside_map=counts.get(Status.OUTSIDE_MAP, 0),
    )
    if tally.rows == 0:
        raise BadInput(f"{WHERE}: {table.source} has no rows; a file of visits has at least one")
    if bad > table.bad_share * tally.rows:
        parts = {part: counts[status] for status, part in BAD.items() if status in counts}
        raise BadInput(too_bad(table, tally, parts | ({"columns": torn} if torn else {}), found))
    if tally.kept == 0:
        raise BadInput(nothing_left(connection, table, sieve, tally))
    return tally


def _map(connection: Connection, table: FileTable, sieve: Sieve) -> tuple[Map, assembly.Names | None]:
    if sieve.grid is not None:
        return assembly.grid_map(sieve.grid, sieve.clock), None
    if sieve.known:
        return assembly.known_map(connection, sieve.clock)
    return assembly.named_map(connection, sieve.clock, table.top)


def _said(table: FileTable) -> str:
    """All of a table but where its files lie."""
    said: dict[str, Any] = asdict(table) | {"source": None}
    said["places"] = said["places"] | {"source": None} if isinstance(said["places"], dict) else None
    return json.dumps(said, sort_keys=True, default=str)
