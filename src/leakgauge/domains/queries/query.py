"""A query to an oracle: a count, sum or average of selected records, or one for each of several groups."""

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
    AVERAGE = "average"  # a noisy sum of clipped values over a noisy count
    HISTOGRAM = "histogram"  # a count for each group


WITH_COLUMN = (QueryKind.SUM, QueryKind.AVERAGE)


@dataclass(frozen=True, kw_only=True)
class Query:
    """A linear query: ``kind`` over the records that ``where`` selects, or those of some ``ids``.

    With neither, over all records. ``where`` is what follows WHERE in SQL. With ``group_by`` there is an
    answer for each of the ``groups``, which are values of that column, or for each interval between two
    ``edges``, the lower one included. Groups are stated and not found in the data, which would reveal who is
    there.

    >>> Query(kind=QueryKind.SUM, column="income", bound=100.0).on([3, 1]).ids
    (3, 1)
    >>> Query(kind=QueryKind.HISTOGRAM, group_by="age", edges=(0, 18, 65, 120)).n_groups
    3
    """

    kind: QueryKind = QueryKind.COUNT
    column: str | None = None
    bound: float | None = None
    where: str | None = None
    ids: tuple[Id, ...] | None = None
    group_by: str | None = None
    groups: tuple[str | int | float | bool, ...] | None = None
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in WITH_COLUMN and (self.column is not None or self.bound is not None):
            raise BadInput(f'a {self.kind} has no column and no bound; leave them out, or set kind = "sum"')
        if self.kind in WITH_COLUMN and self.column is None:
            raise BadInput(f"{self._article} needs a column; add column = ...")
        if self.kind in WITH_COLUMN and self.bound is None:
            raise BadInput(f"{self._article} needs a bound on |{self.column}| of one record; add bound = ...")
        self._require_groups()
        if self.bound is not None and not 0 < self.bound < math.inf:
            raise BadInput(f"bound must be > 0 and finite, got {self.bound}")
        if self.where is not None and self.ids is not None:
            raise BadInput("a query selects by where or by ids, not by both; leave one out")
        if self.ids is not None and len(set(self.ids)) < len(self.ids):
            raise BadInput("ids must differ: a record cannot be selected twice")

    def _require_groups(self) -> None:
        if self.group_by is None:
            if self.kind is QueryKind.HISTOGRAM:
                raise BadInput("a histogram needs the column of its groups; add group_by = ...")
            if self.groups is not None or self.edges is not None:
                raise BadInput("groups and edges belong to a column; add group_by = ...")
            return
        if self.kind is QueryKind.COUNT:
            raise BadInput('a count of each group is a histogram; set kind = "histogram"')
        if (self.groups is None) == (self.edges is None):
            raise BadInput(
                "group_by takes groups, a list of values, or edges of intervals; groups that come from the "
                "data would reveal who is in it; add one of the two"
            )
        if self.groups is not None and not 1 <= len(self.groups) == len(set(self.groups)):
            raise BadInput("groups must be at least one value, each once")
        if self.edges is not None and not (
            len(self.edges) >= 2 and all(low < high for low, high in zip(self.edges, self.edges[1:]))
        ):
            raise BadInput(f"edges must be at least two increasing numbers, got {list(self.edges)}")

    @property
    def _article(self) -> str:
        return "an average" if self.kind is QueryKind.AVERAGE else f"a {self.kind}"

    @property
    def n_groups(self) -> int | None:
        """How many numbers an answer has; nothing where it is a single number."""
        if self.groups is not None:
            return len(self.groups)
        return None if self.edges is None else len(self.edges) - 1

    @property
    def counted(self) -> "Query":
        """The number of records behind each number of the answer."""
        kind = QueryKind.COUNT if self.group_by is None else QueryKind.HISTOGRAM
        return replace(self, kind=kind, column=None, bound=None)

    @property
    def sensitivity(self) -> float:
        """How much one record can change the answer when it is added or removed.

        It is in one group at most, so that groups do not add to it. Of an average, it is that of the sum; the
        count of records changes by one.
        """
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
