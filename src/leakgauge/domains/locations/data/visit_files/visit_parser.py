"""Parse the fields of a visit in SQL (user, local time, coordinates, place), and filter the rows.

A field is null where it is unusable. Rows may be bad, outside the window or the map, or used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import duckdb_reader, epochs, plausibility
from leakgauge.domains.locations.data.visit_files.spatial_grid import SpatialGrid

UNIT_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0, "d": 86_400.0}
EARLIEST, LATEST = -2_208_988_800, 7_258_118_400  # 1900 and 2200; other times are treated as mistakes

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_WHOLE, *(f"U{name}" for name in _WHOLE), "FLOAT", "DOUBLE", "DECIMAL")
_TEXTS = ("VARCHAR", "ENUM", "UUID", "BLOB")
_WALLS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE")
_INSTANTS = ("TIMESTAMP WITH TIME ZONE",)

NULL_DOUBLE = "NULL::DOUBLE"
_DECIMAL_COMMA = r"[+-]?\d+,\d+"  # such as 45,47
# 1: a number; 2: a date and time with a zone; 3: one without. The second line is there for speed.
_KIND = """CASE WHEN substr(lg_text, 5, 1) NOT IN ('-', '/') THEN 1
    WHEN length(lg_text) = 19 AND substr(lg_text, 17, 1) = ':' THEN 3
    WHEN regexp_matches(substr(lg_text, 12), '[A-Za-z+-]') THEN 2 ELSE 3 END"""
TWO_TIMES = "two times of day: "  # before a date that has a time beside that of another column; no time
MAX_BAD_ROWS_NAMED = 5  # in a message
ROWS_CHECKED = 1_000_000  # of files that are not read twice


@dataclass(frozen=True, kw_only=True)
class TimeFormat:
    """How a column of times is parsed.

    Numbers count units from ``origin``, or else from 1970 in UTC. The origin, and times without a zone, are
    on the wall clock if ``local``, or else in UTC.
    """

    unit: float = 1.0
    origin: int | None = None
    format: str | None = None
    local: bool = True


def text_sql(field: duckdb_reader.SqlField) -> str:
    """SQL for a name; blank is null, and whole numbers are written without a decimal point."""
    if _base_type(field) in ("FLOAT", "DOUBLE"):
        whole = f"CAST(CAST({field.sql} AS BIGINT) AS VARCHAR)"
        written = f"CASE WHEN {field.sql} = floor({field.sql}) AND abs({field.sql}) < 1e15 THEN {whole} "
        return f"CASE WHEN isfinite({field.sql}) THEN {written} ELSE CAST({field.sql} AS VARCHAR) END END"
    if _base_type(field) in _NUMBERS:
        return f"CAST({field.sql} AS VARCHAR)"
    return f"nullif(trim(CAST({field.sql} AS VARCHAR)), '')"


def number_sql(field: duckdb_reader.SqlField, scale: float = 1.0) -> str:
    """SQL for a number."""
    plain = field.sql if _base_type(field) == "DOUBLE" else f"try_cast({field.sql} AS DOUBLE)"
    return scaled_sql(plain, scale)


def scaled_sql(sql: str, scale: float) -> str:
    """SQL for a number times a scale; 1e-5 divides by 1e5, as reading decimals would.

    >>> scaled_sql("x", 1e-5)
    '(x / 100000.0)'
    """
    if scale == 1.0:
        return sql
    inverse = float(round(1 / scale)) if scale < 1 else 0.0
    return f"({sql} / {inverse!r})" if inverse and 1 / inverse == scale else f"({sql} * {scale!r})"


def times_sql(field: duckdb_reader.SqlField, timing: TimeFormat, where: str) -> tuple[str, str]:
    """SQL for the instant (seconds since 1970 in UTC) and the time on the wall clock; one of them is null.

    It uses columns of the relation that ``with_time_text`` returns.
    """
    base = _base_type(field)
    if base in _NUMBERS and timing.format is None:
        return _number_times_sql(number_sql(field), timing)
    if base in _INSTANTS:
        return f"epoch({field.sql})", NULL_DOUBLE
    if base in _WALLS:
        return _zoneless_times_sql(f"epoch(CAST({field.sql} AS TIMESTAMP))", timing)
    if base in (*_TEXTS, *_NUMBERS):
        return _text_times_sql(timing)
    raise BadInput(
        f"{where}: the column of times holds {field.type}; numbers, texts and timestamps can be read"
    )


def counts_time_sql(field: duckdb_reader.SqlField, timing: TimeFormat) -> str:
    """SQL for whether a time is a number that counts units from the origin, and not a date."""
    base = _base_type(field)
    if timing.format is not None or base in (*_INSTANTS, *_WALLS):
        return "false"
    return "true" if base in _NUMBERS else "lg_kind = 1"


def with_time_text(field: duckdb_reader.SqlField, relation: str) -> str:
    """A relation with the text and kind of each time, if times are texts, or numbers such as 2013110108."""
    if _base_type(field) not in (*_TEXTS, *_NUMBERS):
        return relation
    text = text_sql(field) if _base_type(field) in _NUMBERS else f"trim(CAST({field.sql} AS VARCHAR))"
    return f"(SELECT *, {_KIND} AS lg_kind FROM (SELECT *, {text} AS lg_text FROM {relation}))"


def valid_time_sql(seconds: str) -> str:
    """SQL for whether a time is present and plausible."""
    return f"coalesce({seconds} BETWEEN {EARLIEST} AND {LATEST}, false)"


def valid_point_sql(lat: str, lon: str) -> str:
    """SQL for whether coordinates are present and valid degrees; NaN is invalid."""
    return f"coalesce({lat} BETWEEN -90 AND 90 AND {lon} BETWEEN -180 AND 180, false)"


def _text_times_sql(timing: TimeFormat) -> tuple[str, str]:
    if timing.format is not None:
        parsed = f"epoch(try_strptime(lg_text, {duckdb_reader.sql_string(timing.format)}))"
        return (parsed, NULL_DOUBLE) if "%z" in timing.format.lower() else _zoneless_times_sql(parsed, timing)
    kinds = (
        _number_times_sql("try_cast(lg_text AS DOUBLE)", timing),
        ("epoch(try_cast(lg_text AS TIMESTAMPTZ))", NULL_DOUBLE),
        _zoneless_times_sql("epoch(try_cast(lg_text AS TIMESTAMP))", timing),
    )
    utc, wall = (f"CASE lg_kind WHEN 1 THEN {a} WHEN 2 THEN {b} ELSE {c} END" for a, b, c in zip(*kinds))
    return utc, wall


def _number_times_sql(count: str, timing: TimeFormat) -> tuple[str, str]:
    seconds = scaled_sql(count, timing.unit)
    return (
        (seconds, NULL_DOUBLE)
        if timing.origin is None
        else _zoneless_times_sql(f"({timing.origin} + {seconds})", timing)
    )


def _zoneless_times_sql(seconds: str, timing: TimeFormat) -> tuple[str, str]:
    return (NULL_DOUBLE, seconds) if timing.local else (seconds, NULL_DOUBLE)


def _base_type(field: duckdb_reader.SqlField) -> str:
    return field.type.partition("(")[0].strip()


@dataclass(frozen=True)
class DataExtent:
    """The range of wall clock times and the box of all usable visits, or of all but a share of them.

    ``facts`` is what the checks of plausibility need; nothing if no row is usable.
    """

    walls: tuple[float, float]
    offsets: epochs.UtcOffsets
    box: tuple[float, float, float, float] | None  # south, west, north, east
    facts: plausibility.RowFacts | None = None


@dataclass(frozen=True, eq=False)
class VisitParser:
    """Parses rows in SQL. Without a zone, each row has its own offset from UTC."""

    rows: duckdb_reader.VisitRows
    timing: TimeFormat
    zone: ZoneInfo | None
    scale: float
    where: str

    def select(self, relation: str, more: Mapping[str, str]) -> str:
        """SQL for user, instant or wall clock time, point and place name; null if missing.

        ``more`` are additional columns: names and SQL.
        """
        rows = self.rows
        utc, wall = times_sql(rows.time, self.timing, self.where)
        if self.zone is None and rows.ahead is not None:
            utc, wall = NULL_DOUBLE, f"coalesce({wall}, {utc} + {rows.ahead})"
        lat, lon = (
            NULL_DOUBLE if field is None else number_sql(field, self.scale) for field in (rows.lat, rows.lon)
        )
        parts = {
            "user_id": text_sql(rows.user),
            "utc": utc,
            "wall": wall,
            "lat": lat,
            "lon": lon,
            "spot": "NULL::VARCHAR" if rows.place is None else text_sql(rows.place),
            "without_point": rows.without_point or "false",
        }
        columns = ", ".join(f"{sql} AS {name}" for name, sql in {**more, **parts}.items())
        return f"SELECT {columns} FROM {with_time_text(rows.time, relation)}"

    def _checked_times(self) -> dict[str, str]:
        """Columns for checks: which times are numbers, and the instants of those that have one."""
        instant, _ = times_sql(self.rows.time, self.timing, self.where)
        return {"counted": counts_time_sql(self.rows.time, self.timing), "instant": instant}

    def timed(self, relation: str, offsets: epochs.UtcOffsets, more: Mapping[str, str]) -> str:
        """The same with all times on the wall clock."""
        wall = f"coalesce(wall, {epochs.wall_time_sql('utc', offsets)})"
        columns = ", ".join((*more, "user_id", f"{wall} AS wall", "lat", "lon", "spot", "without_point"))
        return f"SELECT {columns} FROM ({self.select(relation, more)})"

    def extent(self, connection: duckdb_reader.Connection, cut: float | None) -> DataExtent:
        """The extent of all rows; ``cut`` is the share of coordinates to leave out at each side.

        If no row is usable, it is the whole world and one day.
        """
        wanted = ["min(utc)", "max(utc)", "min(wall)", "max(wall)"]
        good = ["user_id IS NOT NULL", valid_time_sql("coalesce(wall, utc)")]
        if cut is not None:
            ends = f"[{cut!r}, {1 - cut!r}]"
            wanted += ["min(lat)", "min(lon)", "max(lat)", "max(lon)"]
            if cut:
                wanted[4:] = [f"quantile_cont(lat, {ends})", f"quantile_cont(lon, {ends})"]
            good.append(valid_point_sql("lat", "lon"))
        now = plausibility.latest_likely()
        has_points = self.rows.lat is not None
        facts = plausibility.row_fact_columns(now, points=has_points, percentiles=cut == 0.0)
        selected = self.select(self.rows.relation, self._checked_times())
        rows = f"SELECT *, coalesce(wall, utc) AS t FROM ({selected})"
        row = connection.execute(
            f"SELECT {', '.join((*wanted, *facts.values()))} FROM ({rows}) WHERE {' AND '.join(good)}"
        ).fetchall()[0]
        if row[0] is None and row[2] is None:
            return DataExtent((0.0, 0.0), [(0.0, 0.0)], (-90.0, -180.0, 90.0, 180.0))
        offsets, walls = self._walls(*row[:4])
        found = dict(zip(facts, row[len(wanted) :], strict=True))
        if row[0] is not None and found["n_quarter"] == found["n_rows"]:
            found["n_midnight"] = self._n_midnight(connection, offsets, good)
        return DataExtent(walls, offsets, _box(row[4 : len(wanted)]), plausibility.row_facts(found, now))

    def _n_midnight(
        self, connection: duckdb_reader.Connection, offsets: epochs.UtcOffsets, good: Sequence[str]
    ) -> int:
        """How many rows lie at 00:00 on the wall clock of the zone."""
        rows = f"SELECT *, wall AS utc FROM ({self.timed(self.rows.relation, offsets, {})})"
        ((n,),) = connection.execute(
            f"SELECT count(*) FROM ({rows}) WHERE wall % {epochs.DAY} = 0 AND {' AND '.join(good)}"
        ).fetchall()
        return int(n)

    def first_rows(
        self, connection: duckdb_reader.Connection, offsets: epochs.UtcOffsets, inside: Sequence[str]
    ) -> plausibility.RowFacts | None:
        """Facts about the first rows that meet some conditions, for plans that state their window."""
        now = plausibility.latest_likely()
        facts = plausibility.row_fact_columns(now, points=self.rows.lat is not None, percentiles=False)
        first = f"(SELECT * FROM {self.rows.relation} LIMIT {ROWS_CHECKED})"
        rows = f"SELECT *, wall AS t FROM ({self.timed(first, offsets, self._checked_times())})"
        good = ["user_id IS NOT NULL", valid_time_sql("t"), *inside]
        row = connection.execute(
            f"SELECT {', '.join(facts.values())} FROM ({rows}) WHERE {' AND '.join(good)}"
        ).fetchall()[0]
        return plausibility.row_facts(dict(zip(facts, row, strict=True)), now)

    def unreadable_times(self, connection: duckdb_reader.Connection) -> tuple[float, float] | None:
        """The smallest and largest time that is outside 1900 to 2200, as the plan reads it."""
        rows = f"SELECT coalesce(wall, utc) AS t FROM ({self.select(self.rows.relation, {})})"
        ((low, high),) = connection.execute(
            f"SELECT min(t), max(t) FROM ({rows}) WHERE NOT {valid_time_sql('t')}"
        ).fetchall()
        return None if low is None else (low, high)

    def n_swapped(self, connection: duckdb_reader.Connection) -> int:
        """How many rows have bad coordinates that would be good if they were swapped."""
        swapped = f"NOT {valid_point_sql('lat', 'lon')} AND {valid_point_sql('lon', 'lat')}"
        ((n,),) = connection.execute(
            f"SELECT count(*) FROM ({self.select(self.rows.relation, {})}) WHERE {swapped}"
        ).fetchall()
        return int(n)

    def n_decimal_commas(self, connection: duckdb_reader.Connection) -> int:
        """How many rows have a coordinate that is no number, and would be one with a decimal point."""
        points = [field for field in (self.rows.lat, self.rows.lon) if field is not None]
        if not self.rows.is_text or not points:
            return 0
        commas = " OR ".join(
            f"regexp_full_match(trim({field.sql}), {duckdb_reader.sql_string(_DECIMAL_COMMA)})"
            for field in points
        )
        ((n,),) = connection.execute(f"SELECT count(*) FROM {self.rows.relation} WHERE {commas}").fetchall()
        return int(n)

    def _walls(
        self, first: float | None, last: float | None, low: float | None, high: float | None
    ) -> tuple[epochs.UtcOffsets, tuple[float, float]]:
        if first is None or last is None:
            return [(0.0, 0.0)], (float(low or 0), float(high or 0))
        offsets = self.offsets_between(first, last)
        lowest, highest = epochs.wall_time_range(offsets, last)
        if low is not None and high is not None:
            lowest, highest = min(lowest, low), max(highest, high)
        return offsets, (lowest, highest)

    def offsets_between(self, first: float, last: float) -> epochs.UtcOffsets:
        """The UTC offsets between two instants."""
        return [(first, 0.0)] if self.zone is None else epochs.utc_offsets(self.zone, first, last)


def _box(row: tuple[Any, ...]) -> tuple[float, float, float, float] | None:
    """Corners from four numbers, or from two pairs of quantiles."""
    match row:
        case (south, west, north, east):
            return float(south), float(west), float(north), float(east)
        case ([south, north], [west, east]):
            return float(south), float(west), float(north), float(east)
    return None


class RowStatus(IntEnum):
    """Whether a row is used, or why not."""

    KEPT = 0
    NO_USER = 1
    NO_TIME = 2
    NO_POINT = 3
    NO_PLACE = 4
    WITHOUT_POINT = 5  # not a visit
    OUTSIDE_WINDOW = 6
    OUTSIDE_MAP = 7


BAD_FIELDS = {
    RowStatus.NO_USER: "user",
    RowStatus.NO_TIME: "time",
    RowStatus.NO_POINT: "coordinates",
    RowStatus.NO_PLACE: "place",
}


@dataclass(frozen=True)
class BadRow:
    """The location of a bad row, the part that is wrong, and in which way; never its value."""

    file: str
    where: str  # "line 7"
    part: str
    fault: str = ""


def bad_row_locations(rows: Sequence[BadRow], file: str) -> list[str]:
    """Locations of bad rows; the file name is left out while it is ``file`` or that of the row before.

    >>> bad_row_locations([BadRow("a.csv", "line 7", "time"), BadRow("b.csv", "line 2", "time")], "a.csv")
    ['line 7', 'b.csv: line 2']
    """
    before = [file, *(row.file for row in rows)]
    return [row.where if row.file == last else f"{row.file}: {row.where}" for row, last in zip(rows, before)]


@dataclass(frozen=True, eq=False)
class RowFilter:
    """Gives each row a status. ``known``: whether a table ``known`` lists all places."""

    parser: VisitParser
    clock: epochs.EpochClock
    offsets: epochs.UtcOffsets
    grid: SpatialGrid | None
    known: bool

    def select_with_status(self, relation: str, more: Mapping[str, str]) -> str:
        """SQL for every row with its status, place and epoch."""
        cases = [
            ("without_point", RowStatus.WITHOUT_POINT),
            ("user_id IS NULL", RowStatus.NO_USER),
            (f"NOT {valid_time_sql('wall')}", RowStatus.NO_TIME),
        ]
        if self.grid is not None:
            cases.append((f"NOT {valid_point_sql('lat', 'lon')}", RowStatus.NO_POINT))
        else:
            cases.append(("id IS NULL" if self.known else "spot IS NULL", RowStatus.NO_PLACE))
        cases.append((f"NOT {self.clock.inside('wall')}", RowStatus.OUTSIDE_WINDOW))
        if self.grid is not None:
            cases.append((f"NOT {self.grid.box.inside('lat', 'lon')}", RowStatus.OUTSIDE_MAP))
        status = " ".join(f"WHEN {sql} THEN {int(status)}" for sql, status in cases)
        join = " LEFT JOIN known USING (spot)" if self.known else ""
        return (
            f"SELECT *, CASE {status} ELSE 0 END AS status "
            f"FROM ({self.parser.timed(relation, self.offsets, more)}){join}"
        )

    def filter(self, connection: duckdb_reader.Connection) -> dict[RowStatus, int]:
        """Create a table ``visits`` of user, place and epoch, and count the rows by status.

        Visits to named places keep the sums of their coordinates.
        """
        place = self.grid.place("lat", "lon") if self.grid else ("id" if self.known else "spot")
        kept = {"user_id": "user_id", "place": place, "epoch": self.clock.epoch("wall")}
        columns = [f"CASE WHEN status = 0 THEN {sql} END AS {name}" for name, sql in kept.items()]
        columns += ["status", "count(*) AS n"]
        if self.grid is None and not self.known:
            columns += [
                f"sum({name}) FILTER (WHERE {valid_point_sql('lat', 'lon')}) AS {name}"
                for name in ("lat", "lon")
            ]
            columns += [f"count(*) FILTER (WHERE {valid_point_sql('lat', 'lon')}) AS n_points"]
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE visits AS SELECT {', '.join(columns)} "
            f"FROM ({self.select_with_status(self.parser.rows.relation, {})}) GROUP BY ALL"
        )
        counts = connection.execute("SELECT status, sum(n) FROM visits GROUP BY status").fetchall()
        return {RowStatus(status): int(n) for status, n in counts}

    def bad_rows(self, connection: duckdb_reader.Connection) -> tuple[BadRow, ...]:
        """The locations of the first bad rows, and what is wrong with them."""
        return tuple(islice(self._bad_rows(connection), MAX_BAD_ROWS_NAMED))

    def _bad_rows(self, connection: duckdb_reader.Connection) -> Iterator[BadRow]:
        rows = self.parser.rows
        raw = {"time": rows.time, "lat": rows.lat, "lon": rows.lon, "place": rows.place}
        fields = {name: field for name, field in raw.items() if field is not None}
        more = {"lg_line": "lg_line"} | {
            f"raw_{name}": f"CAST({field.sql} AS VARCHAR)" for name, field in fields.items()
        }
        for chunk in rows.chunks(connection):
            file, _, kind = chunk.label.rpartition(": ")
            bad = {
                line: BadRow(file, f"{kind} {line}", "columns")
                for line in chunk.malformed[:MAX_BAD_ROWS_NAMED]
            }
            if chunk.relation is not None:
                bad_rows = connection.execute(
                    f"SELECT status, {', '.join(more)} "
                    f"FROM ({self.select_with_status(chunk.relation, more)}) "
                    f"WHERE status IN ({', '.join(str(int(status)) for status in BAD_FIELDS)}) "
                    f"ORDER BY lg_line LIMIT {MAX_BAD_ROWS_NAMED}"
                ).fetchall()
                for status, line, *texts in bad_rows:
                    fault = _faults(RowStatus(status), dict(zip(fields, texts)), self.parser.scale)
                    bad[line] = BadRow(file, f"{kind} {line}", BAD_FIELDS[RowStatus(status)], fault)
            yield from (bad[line] for line in sorted(bad))


def _faults(status: RowStatus, texts: dict[str, str | None], scale: float) -> str:
    """What is wrong with the values, without any value: they are personal data."""
    match status:
        case RowStatus.NO_TIME:
            if (texts.get("time") or "").startswith(TWO_TIMES):
                return "its date has a time of day other than midnight; leave out columns.date if that counts"
            return f"time {_fault(texts.get('time'), 'not a time', 'outside 1900 to 2200')}"
        case RowStatus.NO_PLACE:
            return f"place {_fault(texts.get('place'), 'unknown', 'unknown')}"
        case RowStatus.NO_POINT:
            faults = []
            for name, most in (("lat", 90), ("lon", 180)):
                number = _number(texts.get(name))
                if number is None or not abs(number * scale) <= most:
                    fault = _fault(texts.get(name), "not a number", f"not in -{most} to {most} degrees")
                    faults.append(f"{name} {fault}")
            return ", ".join(faults)
    return ""


def _fault(text: str | None, no_number: str, no_range: str) -> str:
    if not (text or "").strip():
        return "missing"
    return no_number if _number(text) is None else no_range


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None
