"""Numbers that a paper prints, read from ``published.toml`` in the folder of the paper.

The file has a table ``numbers``, whose entries are `PublishedNumber`, and a table ``tables``, whose entries
are `PublishedTable`. Claims such as "larger than" (zero) and formulas of a paper are code.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import isnan

from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import PublishedNumber
from leakgauge.support.table_reader import read_dataclass

FILE = "published.toml"


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row of a table: values in the order of the columns, nan where nothing is printed."""

    name: str
    values: tuple[float, ...]
    errors: tuple[float, ...] = ()  # standard errors, where they are printed


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A table of a paper; ``places`` is the number of decimals of its values."""

    where: str
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    places: int

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.values) != len(self.columns) or len(row.errors) not in (0, len(self.columns)):
                raise BadInput(f"{self.where}: row {row.name!r} must have {len(self.columns)} values")

    def row(self, name: str) -> PublishedRow:
        """Return the row of this name."""
        return next(row for row in self.rows if row.name == name)

    def numbers(self, name: str) -> Iterator[tuple[str, PublishedNumber]]:
        """Yield the printed numbers of a row, each with its column."""
        for column, value in zip(self.columns, self.row(name).values, strict=True):
            if not isnan(value):
                yield column, PublishedNumber(value=value, places=self.places, where=self.where)


@dataclass(frozen=True)
class PublishedNumbers:
    """All that ``published.toml`` of one paper holds."""

    numbers: Mapping[str, PublishedNumber]
    tables: Mapping[str, PublishedTable]

    def __getitem__(self, name: str) -> PublishedNumber:
        return self.numbers[name]


@lru_cache(maxsize=16)
def read_published(package: str) -> PublishedNumbers:
    """Read the numbers of a paper, given its package.

    >>> read_published("leakgauge.papers.huang")["certain"].value
    1.0
    """
    content = tomllib.loads(files(package).joinpath(FILE).read_text(encoding="utf-8"))
    where = f"{package}: {FILE}"
    return PublishedNumbers(
        {
            name: read_dataclass(PublishedNumber, table, f"{where}: {name}")
            for name, table in content.get("numbers", {}).items()
        },
        {
            name: read_dataclass(PublishedTable, table, f"{where}: {name}")
            for name, table in content.get("tables", {}).items()
        },
    )
