"""A spatial grid: the cells of a bounding box in degrees become places."""

import math
import re
from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

METRES_PER_DEGREE = math.pi / 180 * 6_371_008.8  # of latitude, on a sphere of the earth's mean radius
MOST_PLACES = 1_000_000

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


@dataclass(frozen=True, kw_only=True)
class BoundingBox:
    """A box in degrees, including its edges."""

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        corners = f"[{self.south}, {self.west}, {self.north}, {self.east}]"
        if not (-90 <= self.south < self.north <= 90 and -180 <= self.west < self.east <= 180):
            raise BadInput(
                f"data.box = {corners}: must be [south, west, north, east] in degrees, south below north and "
                "west below east; widen it if two edges are equal"
            )

    def inside(self, lat: str, lon: str) -> str:
        """SQL for whether a point lies in the box."""
        tall, wide = f"{self.south!r} AND {self.north!r}", f"{self.west!r} AND {self.east!r}"
        return f"({lat} BETWEEN {tall} AND {lon} BETWEEN {wide})"


@dataclass(frozen=True, kw_only=True)
class SpatialGrid:
    """Rows from south to north, columns from west to east; place ``row * n_columns + column``."""

    box: BoundingBox
    n_rows: int
    n_columns: int
    height: float  # of a place, in degrees
    width: float

    @property
    def n_places(self) -> int:
        return self.n_rows * self.n_columns

    @property
    def positions(self) -> Reals:
        """Centres of the places, in metres east and north of the south-west corner."""
        rows, columns = np.divmod(np.arange(self.n_places), self.n_columns)
        centres = np.column_stack([(columns + 0.5) * self.width, (rows + 0.5) * self.height])
        return centres * METRES_PER_DEGREE * np.array([_shrink(self.box.south, self.box.north), 1.0])

    def place(self, lat: str, lon: str) -> str:
        """SQL for the place of a point in the box; an edge belongs to the place north or east of it."""
        row = _step(lat, self.box.south, self.height, self.n_rows)
        column = _step(lon, self.box.west, self.width, self.n_columns)
        return f"({row} * {self.n_columns} + {column})"


def even_grid(box: BoundingBox, n_rows: int, n_columns: int) -> SpatialGrid:
    """Divide a box into rows and columns of equal size."""
    height, width = (box.north - box.south) / n_rows, (box.east - box.west) / n_columns
    return _bounded(SpatialGrid(box=box, n_rows=n_rows, n_columns=n_columns, height=height, width=width))


def metric_grid(box: BoundingBox, cell: float) -> SpatialGrid:
    """Cover a box from its south-west corner with squares of ``cell`` metres; the last may exceed the box."""
    height = cell / METRES_PER_DEGREE
    width = height / _shrink(box.south, box.north)
    n_rows = max(1, math.ceil((box.north - box.south) / height - 1e-9))
    n_columns = max(1, math.ceil((box.east - box.west) / width - 1e-9))
    return _bounded(SpatialGrid(box=box, n_rows=n_rows, n_columns=n_columns, height=height, width=width))


def parse_percentile(text: str) -> float:
    """The share of coordinates that a percentile box cuts off at each side.

    >>> parse_percentile("p0.5")
    0.005
    """
    match = _PERCENTILE.fullmatch(text)
    if not match or not float(match[1]) < 50:
        raise BadInput(
            f"data.box: {text!r} is neither [south, west, north, east] nor a percentage below 50 to cut off "
            'at each side; write "p0.5"'
        )
    return float(match[1]) / 100


def to_metres(lat: Reals, lon: Reals) -> Reals:
    """Points in metres east and north of their south-west corner (equirectangular at the middle latitude)."""
    shrink = _shrink(float(lat.min()), float(lat.max()))
    return METRES_PER_DEGREE * np.column_stack([(lon - lon.min()) * shrink, lat - lat.min()])


def _step(degrees: str, start: float, size: float, most: int) -> str:
    return f"least({most - 1}, CAST(floor(({degrees} - {start!r}) / {size!r}) AS BIGINT))"


def _shrink(south: float, north: float) -> float:
    """How much shorter a degree of longitude is than one of latitude, half-way between two latitudes."""
    return max(math.cos(math.radians((south + north) / 2)), 1e-9)


def _bounded(grid: SpatialGrid) -> SpatialGrid:
    if grid.n_places > MOST_PLACES:
        raise BadInput(
            f"data: a grid of {grid.n_rows} x {grid.n_columns} places, at most {MOST_PLACES}; use "
            "larger cells or a smaller box"
        )
    return grid
