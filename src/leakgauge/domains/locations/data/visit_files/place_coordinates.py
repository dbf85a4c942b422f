"""Read a file with the coordinates of places."""

from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import csv_reader, visit_parser
from leakgauge.domains.locations.data.visit_files.duckdb_rows import Connection, SqlField
from leakgauge.domains.locations.data.visit_files.file_formats import find_files, format_of_files
from leakgauge.domains.locations.data.visit_files.parquet_reader import open_parquet
from leakgauge.domains.locations.plan_tables import LocationsPlacesTable
from leakgauge.support.required_columns import require_columns

WHERE = "data.places"


def insert_places(
    connection: Connection, table: str | LocationsPlacesTable, folder: Path
) -> tuple[Path, ...]:
    """Create a table ``known`` of all places in order, with coordinates (the mean of repeated rows)."""
    table = LocationsPlacesTable(source=table) if isinstance(table, str) else table
    files = find_files(table.source, folder, None, WHERE)
    relation, fields = _open_files(connection, table, files)
    spot = visit_parser.text_sql(fields["place"])
    lat, lon = visit_parser.number_sql(fields["lat"]), visit_parser.number_sql(fields["lon"])
    rows = f"SELECT {spot} AS spot, {lat} AS lat, {lon} AS lon FROM {relation}"
    good = f"spot IS NOT NULL AND {visit_parser.valid_point_sql('lat', 'lon')}"
    ((n_rows, n_good),) = connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {good}) FROM ({rows})"
    ).fetchall()
    n_rows += csv_reader.count_malformed_lines(connection) if relation.startswith("read_csv") else 0
    if n_rows == 0:
        raise BadInput(
            f"{WHERE}: {table.source} has no rows; each row needs a place, a latitude and a longitude"
        )
    if n_good < n_rows:
        raise BadInput(
            f"{WHERE}: {n_rows - n_good} of {n_rows} rows of {table.source} lack a place or "
            "coordinates in degrees; fix or remove them"
        )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE known AS SELECT spot, avg(lat) AS known_lat, avg(lon) AS known_lon, "
        f"CAST(row_number() OVER (ORDER BY {natural_order_sql('spot')}) - 1 AS INTEGER) AS id "
        f"FROM ({rows}) GROUP BY spot"
    )
    return files


def natural_order_sql(name: str) -> str:
    """SQL that sorts whole numbers first and by value, then other names alphabetically."""
    return f"try_cast({name} AS BIGINT) NULLS LAST, {name}"


def _open_files(
    connection: Connection, table: LocationsPlacesTable, files: tuple[Path, ...]
) -> tuple[str, dict[str, SqlField]]:
    names = {"place": table.place, "lat": table.lat, "lon": table.lon}
    line = f'places = {{ source = "{table.source}", {{}} }}'
    match format_of_files(files, WHERE):
        case "csv":
            dialect = csv_reader.detect_dialect(files, list(names.values()), None, "utf-8", WHERE)
            where = f"{WHERE}: {files[0].name}"
            require_columns(names, dialect.names, files[0].name, WHERE, line)
            return dialect.relation(files), {
                part: SqlField(dialect.column(name, where)) for part, name in names.items()
            }
        case "parquet":
            parquet = open_parquet(connection, files)
            known = [column.name for column in parquet.columns]
            require_columns(names, known, files[0].name, WHERE, line)
            return parquet.relation, {part: parquet.field(name, WHERE) for part, name in names.items()}
        case kind:
            raise BadInput(f"{WHERE}: {table.source} is {kind}; coordinates are read from CSV or Parquet")
