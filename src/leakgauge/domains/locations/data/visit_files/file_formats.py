"""Find and open visit files: CSV, Parquet, GeoJSON, and published Foursquare, Cabspotting and Milano data."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import duckdb_reader, geojson_reader
from leakgauge.domains.locations.data.visit_files.visit_parser import TWO_TIMES
from leakgauge.domains.locations.plan_tables import LocationsColumnsTable, LocationsDataTable, PublishedFormat
from leakgauge.support.frame_source import FrameSource, find_frame
from leakgauge.support.required_columns import require_columns

FORMAT_SUFFIXES = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "geojson": (".geojson", ".geojson.gz", ".json", ".json.gz"),
}

ZONES = {PublishedFormat.CABSPOTTING: "America/Los_Angeles", PublishedFormat.MILANO: "Europe/Rome"}
TIME_FORMATS = {PublishedFormat.FOURSQUARE: "%a %b %d %H:%M:%S %z %Y"}

_MIDNIGHT = r"[T ]+(0?0:00(:00([.,]0+)?)?|12:00(:00)? *[Aa][Mm])$"  # at the end of a date

_FOURSQUARE_DIALECT = duckdb_reader.CsvDialect(
    ("user", "venue", "category", "category_name", "lat", "lon", "minutes", "time"),
    "\t",
    header=False,
    quote="",
    encoding="latin-1",
)
_CABSPOTTING_DIALECT = duckdb_reader.CsvDialect(
    ("lat", "lon", "occupied", "time"), " ", header=False, quote=""
)


def find_files(source: str, folder: Path, published: PublishedFormat | None, where: str) -> tuple[Path, ...]:
    """The files of ``source``: one file, those that match a pattern with ``*``, or a Cabspotting folder.

    A data frame in memory has none.
    """
    if find_frame(source, where) is not None:
        return ()
    path = folder / source
    if published is PublishedFormat.CABSPOTTING:
        return _cabspotting_files(path, where)
    if "*" in source and not path.exists():
        files = tuple(sorted(file for file in path.parent.glob(path.name) if file.is_file()))
        if not files:
            raise BadInput(f"{where}: no file matches {source!r} in {folder}; check the pattern")
    elif path.is_dir():
        raise BadInput(f'{where}: {source!r} is a folder; name a file in it, or several as "{source}/*.csv"')
    elif not path.is_file():
        raise BadInput(f"{where}: there is no file {source!r} in {folder}; check the path")
    else:
        files = (path,)
    for file in files:
        if file.stat().st_size == 0:
            raise BadInput(f"{where}: {file.name} is empty; a file of visits has at least one row")
    return files


def format_of_files(files: tuple[Path, ...], where: str) -> str:
    """The format of files, by their suffixes."""
    kinds = {_format_of_file(file, where) for file in files}
    if len(kinds) > 1:
        raise BadInput(
            f"{where}: files of different kinds ({', '.join(sorted(kinds))}); name those of one kind"
        )
    return kinds.pop()


def digest_source(source: str, files: tuple[Path, ...], *settings: str) -> str:
    """Hash the content of files, or of the data frame in memory that ``source`` names, and how it is read."""
    frame = find_frame(source)
    return digest_files(files, *settings, *(() if frame is None else (frame.digest,)))


def digest_files(files: tuple[Path, ...], *settings: str) -> str:
    """Hash the content of files and how it is read, but not the paths."""
    hashed = sha256()
    for text in settings:
        hashed.update(f"{len(text.encode())}:{text}".encode())
    for file in files:
        with file.open("rb") as content:
            hashed.update(file_digest(content, "sha256").digest())
    return hashed.hexdigest()


def _format_of_file(file: Path, where: str) -> str:
    for kind, ends in FORMAT_SUFFIXES.items():
        if file.name.lower().endswith(ends):
            return kind
    known = ", ".join(end for ends in FORMAT_SUFFIXES.values() for end in ends)
    raise BadInput(f"{where}: {file.name!r} has an unknown ending; known: {known}")


def _cabspotting_files(path: Path, where: str) -> tuple[Path, ...]:
    if not path.is_dir():
        raise BadInput(
            f'{where}: {str(path)!r} is not a folder; "cabspotting" is a folder with files new_*.txt'
        )
    files = tuple(sorted(path.glob("new_*.txt")))
    if not files:
        raise BadInput(f"{where}: no file new_*.txt in {path}; unpack the data set there")
    return files


def foursquare_rows(files: tuple[Path, ...], *, gridded: bool) -> duckdb_reader.VisitRows:
    """Foursquare check-ins of New York or Tokyo (Yang, Zhang, Zheng and Yu 2015); venues unless gridded.

    Every row has a column with the minutes its clock is ahead of UTC.
    """
    field = {name: duckdb_reader.SqlField(f"c{i}") for i, name in enumerate(_FOURSQUARE_DIALECT.names)}
    return duckdb_reader.VisitRows(
        relation=_FOURSQUARE_DIALECT.relation(files),
        user=field["user"],
        time=field["time"],
        lat=field["lat"],
        lon=field["lon"],
        place=None if gridded else field["venue"],
        ahead=f"60 * try_cast({field['minutes'].sql} AS DOUBLE)",
        count_malformed=duckdb_reader.count_malformed_lines,
        chunks=_FOURSQUARE_DIALECT.chunks(files),
    )


def cabspotting_rows(files: tuple[Path, ...]) -> duckdb_reader.VisitRows:
    """Cabs of San Francisco, a file each (Piorkowski, Sarafijanovic-Djukic and Grossglauser 2009)."""
    field = {name: duckdb_reader.SqlField(f"c{i}") for i, name in enumerate(_CABSPOTTING_DIALECT.names)}
    return duckdb_reader.VisitRows(
        relation=_CABSPOTTING_DIALECT.relation(files),
        user=duckdb_reader.SqlField(r"regexp_extract(filename, 'new_([^/\\]*)\.txt$', 1)"),
        time=field["time"],
        lat=field["lat"],
        lon=field["lon"],
        count_malformed=duckdb_reader.count_malformed_lines,
        chunks=_CABSPOTTING_DIALECT.chunks(files),
    )


def open_visit_rows(
    connection: duckdb_reader.Connection, table: LocationsDataTable, files: tuple[Path, ...], where: str
) -> duckdb_reader.VisitRows:
    """Open files, or a data frame in memory, as rows of visits."""
    if (frame := find_frame(table.source, where)) is not None:
        with _suggest_grid(table):
            return _open_frame(connection, table, frame, where)
    match table.format:
        case PublishedFormat.FOURSQUARE:
            return foursquare_rows(files, gridded=table.gridded)
        case PublishedFormat.CABSPOTTING:
            return cabspotting_rows(files)
        case PublishedFormat.MILANO:
            tweets = _geojson_rows(
                connection, LocationsColumnsTable(user="user", time="timestamp"), files, where
            )
            return replace(tweets, without_point="NOT point")
        case None:
            with _suggest_grid(table):
                return _open_named(connection, table, files, where)


def _open_named(
    connection: duckdb_reader.Connection, table: LocationsDataTable, files: tuple[Path, ...], where: str
) -> duckdb_reader.VisitRows:
    columns, kind = _columns(table), format_of_files(files, where)
    if table.decimal != "." and kind != "csv":
        raise BadInput(f"data.decimal is for text files; {files[0].name} is {kind}; leave it out")
    if table.header is not None and kind != "csv":
        raise BadInput(
            f"data.header is for CSV files without a header line; {files[0].name} is {kind}; leave it out"
        )
    match kind:
        case "csv":
            wanted = [name for name in vars(columns).values() if name is not None]
            dialect = duckdb_reader.detect_dialect(files, wanted, table.header, table.encoding, where)
            _require_columns(columns, dialect.names, files, where)
            parts = _parts(
                columns,
                lambda name: duckdb_reader.SqlField(dialect.column(name, f"{where}: {files[0].name}")),
            )
            if table.decimal == ",":
                points = {part: parts[part] for part in ("lat", "lon") if part in parts}
                parts |= {
                    part: replace(at, sql=f"replace({at.sql}, ',', '.')") for part, at in points.items()
                }
            rows = _rows(columns, parts, dialect.relation(files), dialect.chunks(files))
            return replace(rows, count_malformed=duckdb_reader.count_malformed_lines, is_text=True)
        case "parquet":
            parquet = duckdb_reader.open_parquet(connection, files)
            _require_columns(columns, [column.name for column in parquet.columns], files, where)
            parts = _parts(columns, lambda name: parquet.field(name, where))
            return _rows(columns, parts, parquet.relation, parquet.chunks)
        case _:
            if table.columns.date is not None:
                raise BadInput(f"data.columns.date: features of {files[0].name} have one time; leave it out")
            if table.columns.lat is not None:
                raise BadInput(f"data.columns.lat: {files[0].name} already has points; leave out lat and lon")
            rows = _geojson_rows(connection, columns, files, where)
            _require_properties(connection, columns, files, where)
            return rows


def _open_frame(
    connection: duckdb_reader.Connection, table: LocationsDataTable, frame: FrameSource, where: str
) -> duckdb_reader.VisitRows:
    if table.format is not None or table.header is not None:
        raise BadInput(f"{where}: format and header are for files; leave them out for a data frame")
    columns = _columns(table)
    wanted = {part: name for part, name in vars(columns).items() if name is not None}
    require_columns(wanted, list(frame.columns), frame.name, where, "columns = { {} }")
    rows = duckdb_reader.open_frame_rows(connection, frame)
    return _rows(columns, _parts(columns, rows.field), rows.relation, rows.chunks)


@contextmanager
def _suggest_grid(table: LocationsDataTable) -> Iterator[None]:
    """Add a hint to the error about a missing place column: data with coordinates need a grid."""
    try:
        yield
    except BadInput as error:
        if table.gridded or table.columns.place or "'place'" not in str(error):
            raise
        way_out = "if visits have coordinates, add grid = [rows, columns] or cell = metres"
        raise BadInput(f"{error}; {way_out}") from None


def _columns(table: LocationsDataTable) -> LocationsColumnsTable:
    """The columns that are used: ``place``, or ``lat`` and ``lon``, have these names by default."""
    columns = table.columns
    if not table.gridded:
        return replace(columns, place=columns.place or "place")
    return columns if columns.lat else replace(columns, lat="lat", lon="lon")


def _require_columns(
    columns: LocationsColumnsTable, names: Sequence[str], files: tuple[Path, ...], where: str
) -> None:
    wanted = {part: name for part, name in vars(columns).items() if name is not None}
    require_columns(wanted, names, files[0].name, where, "columns = { {} }")


def _require_properties(
    connection: duckdb_reader.Connection, columns: LocationsColumnsTable, files: tuple[Path, ...], where: str
) -> None:
    """Refuse features none of which has a property that the plan names."""
    n_features, *counts = connection.execute(
        "SELECT count(*), count(user_id), count(moment), count(place) FROM features"
    ).fetchall()[0]
    named = {"user": columns.user, "time": columns.time, "place": columns.place}
    wanted = {part: name for part, name in named.items() if name is not None}
    if n_features and not all(count for count, part in zip(counts, named) if part in wanted):
        known = geojson_reader.property_names(files[0], where)
        require_columns(wanted, known, files[0].name, where, "columns = { {} }")


def _parts(
    columns: LocationsColumnsTable, find: Callable[[str], duckdb_reader.SqlField]
) -> dict[str, duckdb_reader.SqlField]:
    """The fields of a visit; a date and a time of day in two columns are joined.

    A date may be written with midnight. One with another time of day is a bad row: there are two times then.
    """
    parts = {part: find(name) for part, name in vars(columns).items() if name is not None}
    if (date := parts.pop("date", None)) is not None:
        day, clock = (f"trim(CAST({field.sql} AS VARCHAR))" for field in (date, parts["time"]))
        day = f"regexp_replace({day}, {duckdb_reader.sql_string(_MIDNIGHT)}, '')"
        two_times = f"CASE WHEN contains({day}, ':') THEN {duckdb_reader.sql_string(TWO_TIMES)} ELSE '' END"
        parts["time"] = duckdb_reader.SqlField(f"({two_times} || {day} || chr(32) || nullif({clock}, ''))")
    return parts


def _rows(
    columns: LocationsColumnsTable,
    parts: dict[str, duckdb_reader.SqlField],
    relation: str,
    chunks: Callable[[duckdb_reader.Connection], Iterator[duckdb_reader.NumberedRows]],
) -> duckdb_reader.VisitRows:
    return duckdb_reader.VisitRows(
        relation=relation,
        user=parts["user"],
        time=parts["time"],
        lat=parts.get("lat"),
        lon=parts.get("lon"),
        place=parts.get("place"),
        point_columns=(columns.lat, columns.lon) if columns.lat and columns.lon else None,
        chunks=chunks,
    )


def _geojson_rows(
    connection: duckdb_reader.Connection, columns: LocationsColumnsTable, files: tuple[Path, ...], where: str
) -> duckdb_reader.VisitRows:
    geojson_reader.insert_features(connection, files, columns.user, columns.time, columns.place, where)

    def chunks(_: duckdb_reader.Connection) -> Iterator[duckdb_reader.NumberedRows]:
        for file in files:
            yield duckdb_reader.NumberedRows(
                f"{file.name}: feature",
                f"(SELECT * FROM features WHERE file = {duckdb_reader.sql_string(file.name)})",
            )

    return duckdb_reader.VisitRows(
        relation="features",
        user=duckdb_reader.SqlField("user_id"),
        time=duckdb_reader.SqlField("moment"),
        lat=duckdb_reader.SqlField("lat", "DOUBLE"),
        lon=duckdb_reader.SqlField("lon", "DOUBLE"),
        place=duckdb_reader.SqlField("place") if columns.place else None,
        chunks=chunks,
    )
