"""A file that says where places lie."""

from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading import csv_rows, values
from leakgauge.domains.locations.reading.files import find, kind_of
from leakgauge.domains.locations.reading.parquet_rows import open_parquet
from leakgauge.domains.locations.reading.rows import Connection, Field
from leakgauge.domains.locations.reading.table import Coordinates

WHERE = "data.places"


def fill(connection: Connection, said: str | Coordinates, folder: Path) -> tuple[Path, ...]:
    """Make a table ``known`` of all places, in order, and where they lie (the mean, if said often)."""
    said = Coordinates(source=said) if isinstance(said, str) else said
    files = find(said.source, folder, None, WHERE)
    relation, fields = _opened(connection, said, files)
    spot = values.text(fields["place"])
    lat, lon = values.number(fields["lat"]), values.number(fields["lon"])
    rows = f"SELECT {spot} AS spot, {lat} AS lat, {lon} AS lon FROM {relation}"
    good = f"spot IS NOT NULL AND {values.good_point('lat', 'lon')}"
    ((n_rows, n_good),) = connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {good}) FROM ({rows})"
    ).fetchall()
    n_rows += csv_rows.torn(connection) if relation.startswith("read_csv") else 0
    if n_rows == 0:
        raise BadInput(
            f"{WHERE}: {said.source} has no rows; it needs a place, a latitude and a longitude in each"
        )
    if n_good < n_rows:
        raise BadInput(
            f"{WHERE}: {n_rows - n_good} of {n_rows} rows of {said.source} lack a place or "
            "coordinates in degrees; mend or remove them"
        )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE known AS SELECT spot, avg(lat) AS known_lat, avg(lon) AS known_lon, "
        f"CAST(row_number() OVER (ORDER BY {ordered('spot')}) - 1 AS INTEGER) AS id "
        f"FROM ({rows}) GROUP BY spot"
    )
    return files


def ordered(name: str) -> str:
    """SQL that puts numbers before words, and each in their order, however a file writes them."""
    return f"try_cast({name} AS BIGINT) NULLS LAST, {name}"


def _opened(
    connection: Connection, said: Coordinates, files: tuple[Path, ...]
) -> tuple[str, dict[str, Field]]:
    names = {"place": said.place, "lat": said.lat, "lon": said.lon}
    match kind_of(files, WHERE):
        case "csv":
            dialect = csv_rows.sniffed(files, list(names.values()), None, "utf-8", WHERE)
            where = f"{WHERE}: {files[0].name}"
            return dialect.relation(files), {
                part: Field(dialect.column(name, where)) for part, name in names.items()
            }
        case "parquet":
            parquet = open_parquet(connection, files)
            return parquet.relation, {part: parquet.field(name, WHERE) for part, name in names.items()}
        case kind:
            raise BadInput(f"{WHERE}: {said.source} is {kind}; coordinates are read from CSV or Parquet")
