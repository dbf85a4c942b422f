"""Tables of Guan et al. (2024): means over 50 targets, with their standard errors, by release and attack."""

from collections.abc import Callable
from dataclasses import dataclass

from leakgauge.papers.guan24.plans import GROUP, PAPER_ATTACKS, USER_DAY, AttackVariant, ReleaseSetting
from leakgauge.papers.published_numbers import read_published

PUBLISHED = read_published(__package__)


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """One number of a table, and its standard error."""

    column: str  # the data
    release: ReleaseSetting
    variant: AttackVariant
    value: float
    error: float
    places: int


def _numbers(name: str, release: Callable[[str], ReleaseSetting]) -> tuple[PrintedNumber, ...]:
    """The numbers of a table whose columns are named after a data set and an attack."""
    table = PUBLISHED.tables[name]
    heads = [column.split() for column in table.columns]
    return tuple(
        PrintedNumber(
            column=data,
            release=release(row.name),
            variant=VARIANTS[attack],
            value=value,
            error=error,
            places=table.places,
        )
        for row in table.rows
        for (data, attack), value, error in zip(heads, row.values, row.errors, strict=True)
    )


def _of_group(k: int) -> Callable[[str], ReleaseSetting]:
    return lambda size: ReleaseSetting(k=k, m=None if int(size) == GROUP else int(size))


VARIANTS = {variant.label: variant for variant in PAPER_ATTACKS}
ACCURACIES = {
    "table_3": _numbers("table_3", lambda k: ReleaseSetting(k=int(k))),
    "table_4": _numbers("table_4", lambda epsilon: ReleaseSetting(epsilon=float(epsilon))),
    "table_5": _numbers("table_5", lambda epsilon: ReleaseSetting(epsilon=float(epsilon), unit=USER_DAY)),
}
AUCS = {
    "table_6": _numbers("table_6", _of_group(k=0)),
    "table_7": _numbers("table_7", _of_group(k=0)),
    "table_8": _numbers("table_8", _of_group(k=1)),
    "table_9": _numbers("table_9", _of_group(k=1)),
}
