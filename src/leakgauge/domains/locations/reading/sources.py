"""Open files of visits of any kind: which columns hold which parts of a visit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading import csv_rows, features
from leakgauge.domains.locations.reading.files import kind_of
from leakgauge.domains.locations.reading.parquet_rows import open_parquet
from leakgauge.domains.locations.reading.published import checkins, fixes
from leakgauge.domains.locations.reading.rows import Connection, Field, Piece, Rows, quoted
from leakgauge.domains.locations.reading.table import Columns, FileTable, Published


def open_rows(connection: Connection, table: FileTable, files: tuple[Path, ...], where: str) -> Rows:
    """Find the parts of a visit in files."""
    match table.format:
        case Published.FOURSQUARE:
            return checkins(files, gridded=table.gridded)
        case Published.CABSPOTTING:
            return fixes(files)
        case Published.MILANO:
            tweets = _geojson(connection, Columns(user="user", time="timestamp"), files, where)
            return replace(tweets, pointless="NOT point")
        case None:
            with _pointing_to_a_grid(table):
                return _open_named(connection, table, files, where)


def _open_named(connection: Connection, table: FileTable, files: tuple[Path, ...], where: str) -> Rows:
    columns, kind = _columns(table), kind_of(files, where)
    if table.header is not None and kind != "csv":
        raise BadInput(f"data.header is for CSV files without names of columns; {files[0].name} is {kind}")
    match kind:
        case "csv":
            wanted = [name for name in vars(columns).values() if name is not None]
            dialect = csv_rows.sniffed(files, wanted, table.header, table.encoding, where)
            parts = _parts(columns, lambda name: Field(dialect.column(name, f"{where}: {files[0].name}")))
            rows = _rows(parts, dialect.relation(files), dialect.pieces(files))
            return replace(rows, torn=csv_rows.torn)
        case "parquet":
            parquet = open_parquet(connection, files)
            parts = _parts(columns, lambda name: parquet.field(name, where))
            return _rows(parts, parquet.relation, parquet.pieces)
        case _:
            if table.columns.lat is not None:
                raise BadInput(
                    f"data.columns.lat: {files[0].name} has points of its own; leave out lat and lon"
                )
            return _geojson(connection, columns, files, where)


@contextmanager
def _pointing_to_a_grid(table: FileTable) -> Iterator[None]:
    """Whoever has coordinates and says nothing of places misses a grid, not a column of that name."""
    try:
        yield
    except BadInput as error:
        if table.gridded or table.columns.place or "'place'" not in str(error):
            raise
        way_out = "if visits have coordinates, add grid = [rows, columns] or cell = metres"
        raise BadInput(f"{error}; {way_out}") from None


def _columns(table: FileTable) -> Columns:
    """The columns that are used: ``place``, or ``lat`` and ``lon``, go by these names by default."""
    columns = table.columns
    if not table.gridded:
        return replace(columns, place=columns.place or "place")
    return columns if columns.lat else replace(columns, lat="lat", lon="lon")


def _parts(columns: Columns, find: Callable[[str], Field]) -> dict[str, Field]:
    return {part: find(name) for part, name in vars(columns).items() if name is not None}


def _rows(parts: dict[str, Field], relation: str, pieces: Callable[[Connection], Iterator[Piece]]) -> Rows:
    return Rows(
        relation=relation,
        user=parts["user"],
        time=parts["time"],
        lat=parts.get("lat"),
        lon=parts.get("lon"),
        place=parts.get("place"),
        pieces=pieces,
    )


def _geojson(connection: Connection, columns: Columns, files: tuple[Path, ...], where: str) -> Rows:
    features.fill(connection, files, columns.user, columns.time, columns.place, where)

    def pieces(_: Connection) -> Iterator[Piece]:
        for file in files:
            yield Piece(f"{file.name}: feature", f"(SELECT * FROM features WHERE file = {quoted(file.name)})")

    return Rows(
        relation="features",
        user=Field("who"),
        time=Field("moment"),
        lat=Field("lat", "DOUBLE"),
        lon=Field("lon", "DOUBLE"),
        place=Field("place") if columns.place else None,
        pieces=pieces,
    )
