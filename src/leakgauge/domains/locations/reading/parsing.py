"""The parts of every visit, as values: who, when on the wall clock, and where."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from leakgauge.domains.locations.reading import values
from leakgauge.domains.locations.reading.rows import Connection, Rows
from leakgauge.domains.locations.reading.values import Timing, good_point, good_time
from leakgauge.domains.locations.reading.zones import Steps, shifted, span, steps


@dataclass(frozen=True)
class Extent:
    """Between which times on the wall clock, and in which box, all usable visits lie, or all but a share."""

    walls: tuple[float, float]
    walk: Steps
    box: tuple[float, float, float, float] | None  # south, west, north, east


@dataclass(frozen=True, eq=False)
class Parser:
    """Makes values of rows. Without a zone every row says how far its clock is ahead of UTC."""

    rows: Rows
    timing: Timing
    zone: ZoneInfo | None
    scale: float
    where: str

    def select(self, relation: str, more: Mapping[str, str]) -> str:
        """SQL for who, instant or time on the wall clock, point and name of the place; null where missing.

        ``more`` are further columns: names and SQL.
        """
        rows = self.rows
        utc, wall = values.times(rows.time, self.timing, self.where)
        if self.zone is None and rows.ahead is not None:
            utc, wall = values.NOTHING, f"coalesce({wall}, {utc} + {rows.ahead})"
        lat, lon = (
            values.NOTHING if field is None else values.number(field, self.scale)
            for field in (rows.lat, rows.lon)
        )
        parts = {
            "who": values.text(rows.user),
            "utc": utc,
            "wall": wall,
            "lat": lat,
            "lon": lon,
            "spot": "NULL::VARCHAR" if rows.place is None else values.text(rows.place),
            "pointless": rows.pointless or "false",
        }
        columns = ", ".join(f"{sql} AS {name}" for name, sql in {**more, **parts}.items())
        return f"SELECT {columns} FROM {values.prepared(rows.time, relation)}"

    def timed(self, relation: str, walk: Steps, more: Mapping[str, str]) -> str:
        """The same with all times on the wall clock."""
        wall = f"coalesce(wall, {shifted('utc', walk)})"
        columns = ", ".join((*more, "who", f"{wall} AS wall", "lat", "lon", "spot", "pointless"))
        return f"SELECT {columns} FROM ({self.select(relation, more)})"

    def extent(self, connection: Connection, cut: float | None) -> Extent:
        """Look at all rows; ``cut`` is the share of coordinates to leave out at each side.

        Where no row is usable it is all the world, and one day.
        """
        wanted = ["min(utc)", "max(utc)", "min(wall)", "max(wall)"]
        good = ["who IS NOT NULL", good_time("coalesce(wall, utc)")]
        if cut is not None:
            ends = f"[{cut!r}, {1 - cut!r}]"
            wanted += ["min(lat)", "min(lon)", "max(lat)", "max(lon)"]
            if cut:
                wanted[4:] = [f"quantile_cont(lat, {ends})", f"quantile_cont(lon, {ends})"]
            good.append(good_point("lat", "lon"))
        rows = self.select(self.rows.relation, {})
        found = connection.execute(
            f"SELECT {', '.join(wanted)} FROM ({rows}) WHERE {' AND '.join(good)}"
        ).fetchall()[0]
        if found[0] is None and found[2] is None:
            return Extent((0.0, 0.0), [(0.0, 0.0)], (-90.0, -180.0, 90.0, 180.0))
        walk, walls = self._walls(*found[:4])
        return Extent(walls, walk, _box(found[4:]))

    def _walls(
        self, first: float | None, last: float | None, low: float | None, high: float | None
    ) -> tuple[Steps, tuple[float, float]]:
        if first is None or last is None:
            return [(0.0, 0.0)], (float(low or 0), float(high or 0))
        walk = self.walk(first, last)
        lowest, highest = span(walk, last)
        if low is not None and high is not None:
            lowest, highest = min(lowest, low), max(highest, high)
        return walk, (lowest, highest)

    def walk(self, first: float, last: float) -> Steps:
        """How far the clocks are ahead of UTC between two instants."""
        return [(first, 0.0)] if self.zone is None else steps(self.zone, first, last)


def _box(found: tuple[Any, ...]) -> tuple[float, float, float, float] | None:
    """Corners from four numbers, or from two pairs of quantiles."""
    match found:
        case (south, west, north, east):
            return float(south), float(west), float(north), float(east)
        case ([south, north], [west, east]):
            return float(south), float(west), float(north), float(east)
    return None
