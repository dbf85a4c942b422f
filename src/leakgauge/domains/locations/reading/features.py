"""Visits in GeoJSON: a feature with a point each."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading.csv_rows import opened
from leakgauge.domains.locations.reading.json_stream import features
from leakgauge.domains.locations.reading.rows import Connection

BATCH = 100_000  # features
GEOMETRIES = ("geometry", "geomPoint.geom")  # GeoJSON's own, and that of the Milan data


class _Visit(NamedTuple):
    """What one feature says; missing texts are empty."""

    who: str
    moment: str
    place: str
    point: bool
    lat: float
    lon: float


def fill(
    connection: Connection, files: Sequence[Path], user: str, time: str, place: str | None, where: str
) -> None:
    """Put all features into a table ``features``; ``lg_line`` is the number of a feature in its file."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE features (lg_line BIGINT, file VARCHAR, who VARCHAR, moment VARCHAR, "
        "place VARCHAR, point BOOLEAN, lat DOUBLE, lon DOUBLE)"
    )
    for file in files:
        try:
            with opened(file, "utf-8") as text:
                found = features(text, f"{where}: {file.name}")
                visits = enumerate((_visit(feature, user, time, place) for feature in found), 1)
                while batch := list(islice(visits, BATCH)):
                    _insert(connection, file, batch)
        except (OSError, EOFError) as error:
            raise BadInput(f"{where}: {file.name} cannot be read ({error}); is it whole?") from None


def _insert(connection: Connection, file: Path, batch: list[tuple[int, _Visit]]) -> None:
    texts = {
        name: np.array([getattr(visit, name) for _, visit in batch], dtype=object)
        for name in ("who", "moment", "place")
    }
    numbers = {
        name: np.array([getattr(visit, name) for _, visit in batch]) for name in ("point", "lat", "lon")
    }
    lines = np.array([line for line, _ in batch], dtype=np.int64)
    connection.register("batch", {"lg_line": lines, **texts, **numbers})
    connection.execute(
        "INSERT INTO features SELECT lg_line, ?, nullif(who, ''), nullif(moment, ''), nullif(place, ''), "
        "point, lat, lon FROM batch",
        [file.name],
    )


def _visit(feature: Any, user: str, time: str, place: str | None) -> _Visit:
    if not isinstance(feature, dict):
        return _Visit("", "", "", False, np.nan, np.nan)
    inner = feature.get("properties")
    values = {**feature, **inner} if isinstance(inner, dict) else feature
    return _Visit(_text(values, user), _text(values, time), _text(values, place), *_point(feature))


def _text(values: dict[str, Any], name: str | None) -> str:
    value = None if name is None else values.get(name)
    return "" if value is None else str(value)


def _point(feature: dict[str, Any]) -> tuple[bool, float, float]:
    """Whether there is a point, its latitude and its longitude."""
    for name in GEOMETRIES:
        geometry = feature.get(name)
        if isinstance(geometry, dict) and geometry.get("type") == "Point":
            match geometry.get("coordinates"):
                case [int() | float() as lon, int() | float() as lat, *_]:
                    return True, float(lat), float(lon)
    return False, np.nan, np.nan
