"""Data sets in the formats they were published in."""

from pathlib import Path

from leakgauge.domains.locations.reading.csv_rows import Dialect, torn
from leakgauge.domains.locations.reading.rows import Field, Rows
from leakgauge.domains.locations.reading.table import Published

ZONES = {Published.CABSPOTTING: "America/Los_Angeles", Published.MILANO: "Europe/Rome"}
TIME_FORMATS = {Published.FOURSQUARE: "%a %b %d %H:%M:%S %z %Y"}

_CHECKINS = Dialect(
    ("user", "venue", "category", "category_name", "lat", "lon", "minutes", "time"),
    "\t",
    header=False,
    quote="",
    encoding="latin-1",
)
_FIXES = Dialect(("lat", "lon", "occupied", "time"), " ", header=False, quote="")


def checkins(files: tuple[Path, ...], *, gridded: bool) -> Rows:
    """Foursquare check-ins of New York or Tokyo (Yang, Zhang, Zheng and Yu 2015); venues unless gridded.

    Every row says how many minutes its clock is ahead of UTC.
    """
    field = {name: Field(f"c{i}") for i, name in enumerate(_CHECKINS.names)}
    return Rows(
        relation=_CHECKINS.relation(files),
        user=field["user"],
        time=field["time"],
        lat=field["lat"],
        lon=field["lon"],
        place=None if gridded else field["venue"],
        ahead=f"60 * try_cast({field['minutes'].sql} AS DOUBLE)",
        torn=torn,
        pieces=_CHECKINS.pieces(files),
    )


def fixes(files: tuple[Path, ...]) -> Rows:
    """Cabs of San Francisco, a file each (Piorkowski, Sarafijanovic-Djukic and Grossglauser 2009)."""
    field = {name: Field(f"c{i}") for i, name in enumerate(_FIXES.names)}
    return Rows(
        relation=_FIXES.relation(files),
        user=Field(r"regexp_extract(filename, 'new_([^/\\]*)\.txt$', 1)"),
        time=field["time"],
        lat=field["lat"],
        lon=field["lon"],
        torn=torn,
        pieces=_FIXES.pieces(files),
    )
