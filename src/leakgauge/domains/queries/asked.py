"""A query put to a table: what accountants, caches and noise need to know of it."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.conditions import Condition, Operand
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import Ints, Records
from leakgauge.domains.queries.regions import Span, spans

MOST_ROWS = 20_000_000  # that are kept of queries looked up


@dataclass(frozen=True, eq=False)
class Asked:
    """A query, what it selects by, and whom: others who are always there, and targets who may be."""

    query: Query
    condition: Condition
    id_operand: Operand
    others: Ints  # rows
    targets: Bits  # one for each target
    total: float  # what the others add up to
    shifts: Reals  # what each target adds if it is there; 0 where it is not selected

    @cached_property
    def spans(self) -> dict[Operand, Span]:
        return spans(self.condition)


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a game: some are targets, all others are there in every round."""

    records: Records
    targets: Ints  # rows
    _memory: dict[Query, Asked] = field(default_factory=dict)
    _n_kept: list[int] = field(default_factory=lambda: [0])  # rows in memory

    def __post_init__(self) -> None:
        if self.targets.size == 0 or np.unique(self.targets).size < self.targets.size:
            raise BadInput("targets must be some records, each once")

    def ask(self, query: Query) -> Asked:
        """Look up whom a query is about; the last ones are looked up once."""
        if query not in self._memory:
            asked = self._look_up(query)
            self._n_kept[0] += asked.others.size
            while self._memory and self._n_kept[0] > MOST_ROWS:
                oldest = self._memory.pop(next(iter(self._memory)))
                self._n_kept[0] -= oldest.others.size
            self._memory[query] = asked
        return self._memory[query]

    def __reduce__(self) -> tuple[type["Table"], tuple[Records, Ints]]:
        return Table, (self.records, self.targets)

    def _look_up(self, query: Query) -> Asked:
        condition = self.records.condition(query)
        rows = self.records.rows(condition)
        selected = np.isin(self.targets, rows)
        others = np.setdiff1d(rows, self.targets, assume_unique=True)
        return Asked(
            query=query,
            condition=condition,
            id_operand=self.records.id_operand,
            others=others,
            targets=selected,
            total=float(self.records.values(query, others).sum()),
            shifts=np.where(selected, self.records.values(query, self.targets), 0.0),
        )
