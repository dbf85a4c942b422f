"""Published data sets of visits, where the folder that a user names has them."""

import json
from dataclasses import dataclass
from pathlib import Path

from leakgauge.papers.paper import Scope

MILAN = ("*milan*.geojson", "*milan*.geojson.gz", "*milan*.json", "*milan*.json.gz")
NEW_YORK = ("foursquare_nyc_checkins.csv.gz",)
KUALA_LUMPUR = ("foursquare_kuala_lumpur_checkins.parquet",)
CABS = ("cabspotting_*.parquet",)


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Visits that a plan can use: ``table`` is its `data`, ``words`` say what it is."""

    name: str
    words: str
    table: str


def milan(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Tweets of Milan, November and December 2013 (Barlacchi et al. 2015), as they were published."""
    if (path := _find(scope, MILAN)) is None:
        return None
    table = _table(path, f'format = "milano", grid = {list(grid)}, box = "p0.5", {_during(window)}')
    return DataSet(name="milan", words="Social Pulse Milano", table=table)


def new_york(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Check-ins of New York (Yang et al. 2015)."""
    if (path := _find(scope, NEW_YORK)) is None:
        return None
    columns = 'columns = { user = "user", time = "timestamp", lat = "lat", lon = "lon" }'
    clock = 'clock = "utc", timezone = "America/New_York"'
    table = _table(path, f'{columns}, {clock}, grid = {list(grid)}, box = "p0.5", {_during(window)}')
    return DataSet(name="new-york", words="Foursquare New York", table=table)


def kuala_lumpur(scope: Scope, window: tuple[str, str]) -> DataSet | None:
    """Check-ins of Kuala Lumpur (Yang et al. 2019), in 100 regions without coordinates."""
    if (path := _find(scope, KUALA_LUMPUR)) is None:
        return None
    columns = 'columns = { user = "user", time = "hour", place = "region" }'
    table = _table(path, f'{columns}, time_unit = "h", origin = "2012-04-02", {_during(window)}')
    return DataSet(name="kuala-lumpur", words="Foursquare Kuala Lumpur", table=table)


def cabs(scope: Scope, grid: tuple[int, int], window: tuple[str, str]) -> DataSet | None:
    """Cabs of San Francisco (Piorkowski et al. 2009), in the middle of the city."""
    if (path := _find(scope, CABS)) is None:
        return None
    columns = 'columns = { user = "cab", time = "ts", lat = "lat_e5", lon = "lon_e5" }, scale = 1e-5'
    clock = 'clock = "utc", timezone = "America/Los_Angeles"'
    box = "box = [37.70, -122.52, 37.82, -122.37]"
    table = _table(path, f"{columns}, {clock}, grid = {list(grid)}, {box}, {_during(window)}")
    return DataSet(name="cabs", words="San Francisco cabs", table=table)


def _find(scope: Scope, patterns: tuple[str, ...]) -> Path | None:
    """The first file that has one of these names, in the folder of the data sets or below."""
    if scope.data is None:
        return None
    found = (path for pattern in patterns for path in sorted(scope.data.rglob(pattern)) if path.is_file())
    return next(found, None)


def _table(path: Path, rest: str) -> str:
    return f"{{ source = {json.dumps(str(path))}, {rest} }}"


def _during(window: tuple[str, str]) -> str:
    return f"window = {json.dumps(list(window))}"
