"""Build the sparse matrix of traces and the map of its cells, with the coordinates of places, from visits."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.data.visit_files import duckdb_reader, visit_parser
from leakgauge.domains.locations.data.visit_files.duckdb_reader import Connection, SqlField, open_parquet
from leakgauge.domains.locations.data.visit_files.epochs import EpochClock
from leakgauge.domains.locations.data.visit_files.file_formats import find_files, format_of_files
from leakgauge.domains.locations.data.visit_files.spatial_grid import SpatialGrid, to_metres
from leakgauge.domains.locations.data.visit_matrix import ones_matrix, row_blocks
from leakgauge.domains.locations.plan_tables import LocationsPlacesTable
from leakgauge.support.required_columns import require_columns

WHERE = "data.places"

Names = npt.NDArray[np.str_]

MOST_CELLS = 2**31 - 1
_READ_AT_ONCE = 2**23  # visits


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
    n_rows += duckdb_reader.count_malformed_lines(connection) if relation.startswith("read_csv") else 0
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
            dialect = duckdb_reader.detect_dialect(files, list(names.values()), None, "utf-8", WHERE)
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


def grid_map(grid: SpatialGrid, clock: EpochClock) -> CellMap:
    """Every cell of a grid in every epoch, visited or not."""
    return _map(grid.n_places, clock, grid.positions)


def known_map(connection: Connection, clock: EpochClock) -> tuple[CellMap, Names]:
    """Every place of the file of coordinates, in every epoch."""
    columns = connection.execute("SELECT spot, known_lat, known_lon FROM known ORDER BY id").fetchnumpy()
    return _map(len(columns["spot"]), clock, _metres(columns["known_lat"], columns["known_lon"])), _texts(
        columns["spot"]
    )


def named_map(connection: Connection, clock: EpochClock, top: int | None) -> tuple[CellMap, Names]:
    """Every place that was visited, or the ``top`` most visited ones; ``visits`` is reduced to them.

    The position of a place is the mean of the coordinates of its visits, if all places have coordinates.
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE spots AS SELECT *, "
        f"CAST(row_number() OVER (ORDER BY {natural_order_sql('spot')}) - 1 AS INTEGER) AS id FROM ("
        "SELECT place AS spot, sum(n) AS n, sum(lat) / sum(n_points) AS lat, sum(lon) / sum(n_points) AS lon "
        f"FROM visits WHERE status = 0 GROUP BY place ORDER BY n DESC, {natural_order_sql('spot')} "
        f"LIMIT {'ALL' if top is None else top})"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE visits AS SELECT user_id, id AS place, epoch, status, visits.n AS n "
        "FROM visits JOIN spots ON visits.place = spots.spot WHERE status = 0"
    )
    columns = connection.execute("SELECT spot, lat, lon FROM spots ORDER BY id").fetchnumpy()
    lat, lon = columns["lat"], columns["lon"]
    has_positions = not np.ma.is_masked(lat) and bool(np.isfinite(lat).all())
    return _map(len(lat), clock, _metres(lat, lon) if has_positions else None), _texts(columns["spot"])


def build_traces(connection: Connection, cells: CellMap, min_visits: int) -> Traces:
    """One row for each person with enough visits, in the order of their names."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE people AS SELECT user_id, "
        f"row_number() OVER (ORDER BY {natural_order_sql('user_id')}) - 1 AS person FROM ("
        f"SELECT user_id FROM visits WHERE status = 0 GROUP BY user_id HAVING count(*) >= {min_visits})"
    )
    names = _texts(connection.execute("SELECT user_id FROM people ORDER BY person").fetchnumpy()["user_id"])
    if names.size == 0:
        raise BadInput(f"data.min_visits = {min_visits}: nobody has that many visits; lower it")
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE placed AS SELECT person, CAST(place AS BIGINT) * {cells.n_epochs} "
        "+ epoch AS cell FROM visits JOIN people USING (user_id) WHERE status = 0 ORDER BY person"
    )
    return Traces(_read_matrix(connection, cells.n_cells), cells, names)


def rows_of_others(connection: duckdb_reader.Connection) -> int:
    """How many rows belong to people with too few visits to have a trace."""
    ((rows,),) = connection.execute(
        "SELECT coalesce(sum(n), 0) FROM visits ANTI JOIN people USING (user_id) WHERE status = 0"
    ).fetchall()
    return int(rows)


def _read_matrix(connection: Connection, n_cells: int) -> csr_array:
    """Ones where people were, read for some people at a time."""
    numbers = connection.execute(
        "SELECT count(*) AS n FROM placed GROUP BY person ORDER BY person"
    ).fetchnumpy()["n"]
    starts = np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])
    columns = np.empty(int(starts[-1]), dtype=np.int32)
    matrix = ones_matrix(columns, starts, n_cells)
    for people, entries in row_blocks(matrix, _READ_AT_ONCE):
        keys = connection.execute(
            f"SELECT person * {n_cells} + cell AS visit FROM placed "
            f"WHERE person >= {people.start} AND person < {people.stop}"
        ).fetchnumpy()["visit"]
        columns[entries] = np.sort(np.asarray(keys, dtype=np.int64)) % n_cells
    return matrix


def _map(n_places: int, clock: EpochClock, positions: Reals | None) -> CellMap:
    if n_places * clock.n_epochs > MOST_CELLS:
        raise BadInput(
            f"data: {n_places} places in {clock.n_epochs} epochs make {n_places * clock.n_epochs} cells, "
            f"at most {MOST_CELLS}; use fewer places (top, grid) or epochs (window, fold, epoch)"
        )
    return CellMap(n_places, clock.n_epochs, clock.days, positions)


def _metres(lat: npt.ArrayLike, lon: npt.ArrayLike) -> Reals:
    return to_metres(np.asarray(lat, dtype=float), np.asarray(lon, dtype=float))


def _texts(column: npt.ArrayLike) -> Names:
    return np.asarray(column).astype(np.str_)
