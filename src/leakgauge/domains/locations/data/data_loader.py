"""Load the data that the `data` table of a plan describes: visits or cells from a file, or generated ones."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.cell_files.cell_plan_table import CellDataTable, has_cell_columns
from leakgauge.domains.locations.data.release_windows import (
    check_releases,
    divide_into_releases,
    wall_windows,
    window_around,
)
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity, generate_city
from leakgauge.domains.locations.data.synthetic_genotypes import (
    SYNTHETIC_GENOTYPES,
    SyntheticGenotypes,
    generate_genotypes,
)
from leakgauge.domains.locations.data.visit_data import WHERE as FRIENDS
from leakgauge.domains.locations.data.visit_data import VisitData, read_friends
from leakgauge.domains.locations.data.visit_files.file_formats import digest_files, find_files
from leakgauge.domains.locations.plan_tables import LocationsDataTable, LocationsPlacesTable
from leakgauge.support.cache import RecentCache, file_identity
from leakgauge.support.frame_source import find_frame
from leakgauge.support.table_reader import read_dataclass

SYNTHETIC = "synthetic"

_cache: RecentCache[VisitData] = RecentCache()


def load_visits(table: Mapping[str, Any], folder: Path, seed: int) -> VisitData:
    """Read visits from files in ``folder``, or generate a city from the seed.

    The last data sets are cached in memory until the table or a file changes.
    """
    keys = {key: value for key, value in table.items() if key not in ("friends", "releases")}
    releases = check_releases(table.get("releases"))
    friends = table.get("friends")
    if friends is not None and not isinstance(friends, str):
        raise BadInput(f"{FRIENDS}: must be a CSV file with columns target and friend, got {friends!r}")
    source, zone = keys.pop("source", SYNTHETIC), None
    if source == SYNTHETIC:
        city = read_dataclass(SyntheticCity, keys, "data")
        visits = _cache.once(("city", repr(city), seed), lambda: generate_city(city, seed))
    elif source == SYNTHETIC_GENOTYPES:
        genotypes = read_dataclass(SyntheticGenotypes, keys, "data")
        visits = _cache.once((repr(genotypes), seed), lambda: generate_genotypes(genotypes, seed))
    elif not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    elif has_cell_columns(keys):
        visits = _read_cells(read_dataclass(CellDataTable, {"source": source, **keys}, "data"), folder)
    else:
        data = read_dataclass(LocationsDataTable, {"source": source, **keys}, "data")
        zone = _time_zone(data) if isinstance(releases, list) else None
        if isinstance(releases, list) and data.window is None:
            data = replace(data, window=tuple(window_around(releases, zone)))
        visits = _read_files(data, folder, wall_windows(releases, zone) if isinstance(releases, list) else ())
    if releases is not None:
        visits = divide_into_releases(visits, releases, zone)
    return visits if friends is None else _with_friends(visits, folder / friends)


def _time_zone(table: LocationsDataTable) -> ZoneInfo | None:
    from leakgauge.domains.locations.data.visit_files.visit_reader import time_zone_of_table

    return time_zone_of_table(table)


def _read_files(table: LocationsDataTable, folder: Path, releases: tuple[tuple[int, int], ...]) -> VisitData:
    from leakgauge.domains.locations.data.visit_files.visit_reader import read_visits

    places = table.places.source if isinstance(table.places, LocationsPlacesTable) else table.places
    files = find_files(table.source, folder, table.format, "data.source")
    if places is not None:
        files += find_files(places, folder, None, "data.places")
    key = (repr(table), releases, _frame_digest(table.source), *(file_identity(file) for file in files))
    return _cache.once(key, lambda: read_visits(table, folder, releases))


def _read_cells(table: CellDataTable, folder: Path) -> VisitData:
    from leakgauge.domains.locations.data.cell_files.cell_reader import read_cells

    files = find_files(table.source, folder, None, "data.source")
    key = (repr(table), _frame_digest(table.source), *(file_identity(file) for file in files))
    return _cache.once(key, lambda: read_cells(table, folder))


def _frame_digest(source: str) -> str | None:
    frame = find_frame(source)
    return None if frame is None else frame.digest


def _with_friends(visits: VisitData, path: Path) -> VisitData:
    friends = read_friends(path, visits.traces)
    return replace(visits, friends=friends, digest=digest_files((path,), visits.digest))
