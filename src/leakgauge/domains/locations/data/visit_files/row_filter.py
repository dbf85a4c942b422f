"""Filter rows of visits: bad rows, rows outside the window or the map, and rows that are used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from leakgauge.domains.locations.data.visit_files.duckdb_rows import Connection
from leakgauge.domains.locations.data.visit_files.epochs import EpochClock
from leakgauge.domains.locations.data.visit_files.spatial_grid import SpatialGrid
from leakgauge.domains.locations.data.visit_files.time_zones import UtcOffsets
from leakgauge.domains.locations.data.visit_files.visit_parser import (
    VisitParser,
    valid_point_sql,
    valid_time_sql,
)

MAX_BAD_ROWS_NAMED = 5  # in a message


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
    """The location of a bad row, the part that is wrong, and its value."""

    file: str
    where: str  # "line 7"
    part: str
    shown: str = ""


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
    clock: EpochClock
    offsets: UtcOffsets
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

    def filter(self, connection: Connection) -> dict[RowStatus, int]:
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

    def bad_rows(self, connection: Connection) -> tuple[BadRow, ...]:
        """The locations of the first bad rows, and what is wrong with them."""
        return tuple(islice(self._bad_rows(connection), MAX_BAD_ROWS_NAMED))

    def _bad_rows(self, connection: Connection) -> Iterator[BadRow]:
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
                    shown = _wrong_values(RowStatus(status), dict(zip(fields, texts)))
                    bad[line] = BadRow(file, f"{kind} {line}", BAD_FIELDS[RowStatus(status)], shown)
            yield from (bad[line] for line in sorted(bad))


def _wrong_values(status: RowStatus, texts: dict[str, str | None]) -> str:
    """The wrong values, without the user."""
    parts = {RowStatus.NO_TIME: ("time",), RowStatus.NO_POINT: ("lat", "lon"), RowStatus.NO_PLACE: ("place",)}
    blank = {name: not (texts.get(name) or "").strip() for name in parts.get(status, ())}
    return ", ".join(f"{name} missing" if blank[name] else f"{name} {texts[name]!r:.40}" for name in blank)
