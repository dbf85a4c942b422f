"""Rows of visits as they stand in files, before anything is made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Connection: TypeAlias = "DuckDBPyConnection"


@dataclass(frozen=True)
class Field:
    """A part of a visit: SQL for its value as it stands in the file, and the type of that."""

    sql: str
    type: str = "VARCHAR"


@dataclass(frozen=True, eq=False)
class Piece:
    """Some consecutive rows with their numbers, to find the bad ones in.

    ``relation`` has a column ``lg_line`` beside those that fields name, or there is none; ``torn`` are lines
    that do not have the right number of columns.
    """

    label: str  # "visits.csv: line"
    relation: str | None
    torn: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """A relation of SQL with one row per visit, and where in it the parts of a visit are.

    ``ahead`` is how many seconds the row's own clock is ahead of UTC. ``pointless`` is true of rows that are
    no visit because they have no point. ``torn`` counts rows without the right columns, once all were read.
    """

    relation: str
    user: Field
    time: Field
    lat: Field | None = None
    lon: Field | None = None
    place: Field | None = None
    ahead: str | None = None
    pointless: str | None = None
    torn: Callable[[Connection], int] = lambda _: 0
    pieces: Callable[[Connection], Iterator[Piece]]


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Any) -> str:
    """A list of string literals of SQL."""
    return "[" + ", ".join(quoted(str(text)) for text in texts) + "]"
