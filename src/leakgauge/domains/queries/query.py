"""A query to an oracle: a count of records or a sum over them, and the selected records."""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from leakgauge.core.errors import BadInput

Id: TypeAlias = int | str

_VALUES = re.compile(r"'(?:[^']|'')*'|(?<![\w\"])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")  # texts and numbers


class QueryKind(StrEnum):
    """What is computed over the selected records."""

    COUNT = "count"
    SUM = "sum"  # of a column, every value clipped to [-bound, bound]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A linear query: ``kind`` over the records that ``where`` selects, or those of some ``ids``.

    With neither, over all records. ``where`` is what follows WHERE in SQL.

    >>> Query(kind=QueryKind.SUM, column="income", bound=100.0).on([3, 1]).ids
    (3, 1)
    """

    kind: QueryKind = QueryKind.COUNT
    column: str | None = None
    bound: float | None = None
    where: str | None = None
    ids: tuple[Id, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind is QueryKind.COUNT and (self.column is not None or self.bound is not None):
            raise BadInput('a count has no column and no bound; leave them out, or set kind = "sum"')
        if self.kind is QueryKind.SUM and self.column is None:
            raise BadInput("a sum needs a column; add column = ...")
        if self.kind is QueryKind.SUM and self.bound is None:
            raise BadInput(f"a sum needs a bound on |{self.column}| of one record; add bound = ...")
        if self.bound is not None and not 0 < self.bound < math.inf:
            raise BadInput(f"bound must be > 0 and finite, got {self.bound}")
        if self.where is not None and self.ids is not None:
            raise BadInput("a query selects by where or by ids, not by both; leave one out")
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            raise BadInput("ids must differ: a record cannot be selected twice")

    @property
    def sensitivity(self) -> float:
        """How much one record can change the answer when it is added or removed."""
        return 1.0 if self.bound is None else self.bound

    def on(self, ids: "list[Id] | tuple[Id, ...]") -> "Query":
        """Return the same query about the records with these ids."""
        return replace(self, where=None, ids=tuple(ids))

    def such_that(self, where: str) -> "Query":
        """Return the same query about the records that a predicate selects."""
        return replace(self, where=where, ids=None)


def without_values(where: str) -> str:
    """Remove the values of a predicate, which may be personal, so that a report can show it.

    >>> without_values("name = 'Ann O''Hara' AND age >= 18.5")
    'name = … AND age >= …'
    """
    return _VALUES.sub("…", where)
