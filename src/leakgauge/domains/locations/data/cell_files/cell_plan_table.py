"""The `data` table of a plan for people and cells without times, and what it excludes in other tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Unit
from leakgauge.domains.locations.data.synthetic_genotypes import SYNTHETIC_GENOTYPES
from leakgauge.domains.locations.plan_tables import LocationsChallengerTable

MAX_VALUE = 2  # of a person in a cell, where the plan names a column of values


@dataclass(frozen=True, kw_only=True)
class CellColumnsTable:
    """Column names: the person, the column or columns that make up a cell, and the value if there is one."""

    user: str = "user"
    cell: str | tuple[str, ...]
    value: str | None = None

    def __post_init__(self) -> None:
        if not self.cells:
            raise BadInput('cell names no column; write cell = "snp", or cell = ["origin", "destination"]')
        names = [self.user, *self.cells, *([] if self.value is None else [self.value])]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise BadInput(f"{repeated[0]!r} is named twice; name a different column for each part of a row")

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns that make up a cell."""
        return (self.cell,) if isinstance(self.cell, str) else tuple(self.cell)


@dataclass(frozen=True, kw_only=True)
class CellDataTable:
    """A file with one row for each person and cell."""

    source: str
    columns: CellColumnsTable
    header: tuple[str, ...] | None = None
    encoding: Literal["utf-8", "utf-16", "latin-1"] = "utf-8"
    top: int | None = None
    bad_share: float = 0.01

    def __post_init__(self) -> None:
        if self.top is not None and not self.top >= 1:
            raise BadInput(f"top must be >= 1, got {self.top}; leave it out to keep all cells")
        if self.top is not None and len(self.columns.cells) > 1:
            raise BadInput("top is for cells of one column; leave it out, or name one column as cell")
        if not 0 <= self.bad_share <= 1:
            raise BadInput(f"bad_share must be in [0, 1], got {self.bad_share}; 0.01 is usual")

    @property
    def max_value(self) -> int:
        """The most that a person may add to a cell."""
        return 1 if self.columns.value is None else MAX_VALUE


def has_cell_columns(table: Mapping[str, Any]) -> bool:
    """Whether a `data` table names columns of cells, not of visits."""
    columns = table.get("columns")
    return isinstance(columns, Mapping) and "cell" in columns


def values_per_cell(
    data: Mapping[str, Any], challenger: LocationsChallengerTable, mechanism: Mapping[str, Any]
) -> int:
    """The most that a person adds to one cell; refuse keys of other tables about times that are not there."""
    if data.get("source") == SYNTHETIC_GENOTYPES:
        most = MAX_VALUE
    elif has_cell_columns(data):
        most = 1 if data["columns"].get("value") is None else MAX_VALUE
    else:
        return 1
    for name in ("per_epoch", "per_day"):
        if getattr(challenger, name) is not None:
            raise BadInput(
                f"challenger.{name}: a table of people and cells has no times; leave it out, or set per_user"
            )
    if mechanism.get("unit") == Unit.USER_DAY.value:
        raise BadInput(
            f'mechanism.unit = "{Unit.USER_DAY.value}": a table of people and cells has no days; use '
            f'"{Unit.EVENT.value}" (one cell of one person) or "{Unit.USER.value}"'
        )
    return most
