"""Visits in GeoJSON files of any size: one feature with a point for each visit."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.duckdb_reader import Connection, open_text

CHUNK = 1 << 20  # characters
LONGEST = 16 * CHUNK  # of one feature
BATCH = 100_000  # features
FIRST_FEATURES = 100  # whose properties a message lists
GEOMETRIES = ("geometry", "geomPoint.geom")  # the GeoJSON key, and that of the Milan data

_FEATURES = re.compile(r'"features"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,\x1e]*")


def iterate_features(text: TextIO, where: str) -> Iterator[Any]:
    """Yield the features of a collection, of a list, or of a file with one feature after another.

    >>> import io
    >>> text = '{"type": "FeatureCollection", "features": [{"id": 1}, {"id": 2}]}'
    >>> list(iterate_features(io.StringIO(text), "x"))
    [{'id': 1}, {'id': 2}]
    """
    decoder = json.JSONDecoder()
    buffer = text.read(CHUNK)
    position, bracketed = _opening(decoder, buffer)
    n_read = 0
    while True:
        position = _after_space(buffer, position)
        if bracketed and buffer.startswith("]", position):
            return
        try:
            feature, position = decoder.raw_decode(buffer, position)
        except json.JSONDecodeError as error:
            more = text.read(CHUNK)
            if not more and position == len(buffer) and not bracketed:
                return
            if not more or len(buffer) - position > LONGEST:
                raise BadInput(
                    f"{where}: feature {n_read + 1} is not JSON ({error.msg}); "
                    "the file may be cut off or damaged"
                ) from None
            buffer, position = buffer[position:] + more, 0
            continue
        n_read += 1
        yield feature


def _after_space(buffer: str, position: int) -> int:
    match = _BETWEEN.match(buffer, position)
    return match.end() if match else position


def _opening(decoder: json.JSONDecoder, buffer: str) -> tuple[int, bool]:
    """Where the first feature begins, and whether a bracket ends the last."""
    start = _after_space(buffer, 0)
    if buffer.startswith("[", start):
        return start + 1, True
    try:
        first, _ = decoder.raw_decode(buffer, start)
    except json.JSONDecodeError:
        first = None
    collection = _FEATURES.search(buffer)
    if collection is None or (isinstance(first, dict) and "features" not in first):
        return start, False
    return collection.end(), True


class _Visit(NamedTuple):
    """The fields of one feature; missing texts are empty."""

    user_id: str
    moment: str
    place: str
    point: bool
    lat: float
    lon: float


def insert_features(
    connection: Connection, files: Sequence[Path], user: str, time: str, place: str | None, where: str
) -> None:
    """Insert all features into a table ``features``; ``lg_line`` is the number of a feature in its file."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE features (lg_line BIGINT, file VARCHAR, user_id VARCHAR, "
        "moment VARCHAR, place VARCHAR, point BOOLEAN, lat DOUBLE, lon DOUBLE)"
    )
    for file in files:
        try:
            with open_text(file, "utf-8") as text:
                features = iterate_features(text, f"{where}: {file.name}")
                visits = enumerate((_visit(feature, user, time, place) for feature in features), 1)
                while batch := list(islice(visits, BATCH)):
                    _insert(connection, file, batch)
        except (OSError, EOFError) as error:
            raise BadInput(
                f"{where}: {file.name} cannot be read ({error}); check that it is complete"
            ) from None


def property_names(file: Path, where: str) -> list[str]:
    """The names of what the first features of a file say besides their points."""
    names: dict[str, None] = {}
    with open_text(file, "utf-8") as text:
        for feature in islice(iterate_features(text, f"{where}: {file.name}"), FIRST_FEATURES):
            if isinstance(feature, dict):
                inner = feature.get("properties")
                names |= dict.fromkeys([*feature, *(inner if isinstance(inner, dict) else ())])
    return [name for name in names if name not in ("type", "geometry", "properties")]


def _insert(connection: Connection, file: Path, batch: list[tuple[int, _Visit]]) -> None:
    texts = {
        name: np.array([getattr(visit, name) for _, visit in batch], dtype=object)
        for name in ("user_id", "moment", "place")
    }
    numbers = {
        name: np.array([getattr(visit, name) for _, visit in batch]) for name in ("point", "lat", "lon")
    }
    lines = np.array([line for line, _ in batch], dtype=np.int64)
    connection.register("batch", {"lg_line": lines, **texts, **numbers})
    connection.execute(
        "INSERT INTO features SELECT lg_line, ?, nullif(user_id, ''), nullif(moment, ''), nullif(place, ''), "
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
