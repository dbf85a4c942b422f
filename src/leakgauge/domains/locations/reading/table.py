"""The `data` table of a plan, where it names a file of visits, as a frozen value."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from leakgauge.core.errors import BadInput


class Published(StrEnum):
    """Data sets that are read in the format they were published in."""

    FOURSQUARE = "foursquare"  # New York and Tokyo check-ins (Yang et al. 2015)
    CABSPOTTING = "cabspotting"  # San Francisco cabs (Piorkowski et al. 2009)
    MILANO = "milano"  # Social Pulse Milano (Barlacchi et al. 2015)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What a file calls the parts of a visit; ``lat``, ``lon`` and ``place`` only where they are used."""

    user: str = "user"
    time: str = "time"
    lat: str | None = None
    lon: str | None = None
    place: str | None = None

    def __post_init__(self) -> None:
        said = [name for name in vars(self).values() if name is not None]
        if twice := sorted({name for name in said if said.count(name) > 1}):
            raise BadInput(f"{twice[0]!r} is named twice; every part of a visit needs a column of its own")
        if (self.lat is None) != (self.lon is None):
            raise BadInput(f"lat = {self.lat!r} and lon = {self.lon!r}: name both or neither")


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """A CSV or Parquet file that says where places lie."""

    source: str
    place: str = "place"
    lat: str = "lat"
    lon: str = "lon"


@dataclass(frozen=True, kw_only=True)
class FileTable:
    """Which file, what its columns mean, and how visits become cells."""

    source: str
    format: Published | None = None
    columns: Columns = field(default_factory=Columns)
    header: tuple[str, ...] | None = None
    encoding: Literal["utf-8", "utf-16", "latin-1"] = "utf-8"
    timezone: str | None = None
    clock: Literal["local", "utc"] = "local"
    time_unit: Literal["s", "ms", "us", "min", "h", "d"] = "s"
    time_format: str | None = None
    origin: Any = None
    scale: float = 1.0
    grid: tuple[int, int] | None = None
    cell: float | None = None
    box: tuple[float, float, float, float] | str | None = None
    places: Coordinates | str | None = None
    top: int | None = None
    epoch: str = "1h"
    window: tuple[Any, Any] | None = None
    fold: bool = False
    min_visits: int = 1
    bad_share: float = 0.01

    def __post_init__(self) -> None:
        if self.format is not None and self.columns != Columns():
            raise BadInput(
                f"columns beside format = {self.format.value!r}, which knows its own; leave out one"
            )
        if not 0 < self.scale < math.inf:
            raise BadInput(
                f"scale must be > 0 and finite, got {self.scale}; degrees times 1e5 need scale = 1e-5"
            )
        if not 0 <= self.bad_share <= 1:
            raise BadInput(f"bad_share must be in [0, 1], got {self.bad_share}; 0.01 is usual")
        for name in ("top", "min_visits"):
            number = getattr(self, name)
            if number is not None and not number >= 1:
                raise BadInput(f"{name} must be >= 1, got {number}; leave it out to keep all")
        self._require_one_map()

    def _require_one_map(self) -> None:
        if self.grid is not None and self.cell is not None:
            raise BadInput(f"grid = {list(self.grid)} and cell = {self.cell}: say one of them")
        if self.grid is not None and not min(self.grid) >= 1:
            raise BadInput(f"grid must be [rows, columns], both >= 1, got {list(self.grid)}")
        if self.cell is not None and not 0 < self.cell < math.inf:
            raise BadInput(f"cell must be a length in metres > 0, got {self.cell}")
        if self.gridded:
            for name, value in (
                ("columns.place", self.columns.place),
                ("places", self.places),
                ("top", self.top),
            ):
                if value is not None:
                    raise BadInput(
                        f"{name} beside a grid: places are either cells of a grid or named; leave out one"
                    )
        elif self.format in (Published.CABSPOTTING, Published.MILANO):
            told = f"format = {self.format.value!r} has points and no places"
            raise BadInput(f"{told}; add grid = [rows, columns] or cell = metres")
        elif self.box is not None:
            raise BadInput("box without a grid; add grid = [rows, columns] or cell = metres")
        elif self.columns.place is None and self.columns.lat is not None:
            raise BadInput(
                "coordinates without a grid; add grid = [rows, columns] or cell = metres, or columns.place"
            )

    @property
    def gridded(self) -> bool:
        """Whether places are the cells of a grid."""
        return self.grid is not None or self.cell is not None
