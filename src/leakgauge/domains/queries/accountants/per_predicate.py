"""An answer costs whoever its predicate could select, there or not (parallel composition, McSherry 2009)."""

from typing import TypeAlias

import numpy as np

from leakgauge.core.game import Bits
from leakgauge.domains.queries.accounting import AnswerCounts
from leakgauge.domains.queries.query import Id
from leakgauge.domains.queries.records import Ints, ResolvedQuery
from leakgauge.domains.queries.sql.disjointness import are_disjoint

_Answer: TypeAlias = tuple[ResolvedQuery, Bits]  # and the worlds in which it was given


class Accountant:
    """Counts, for every record that might exist, the answers that could be about it; goes by the most.

    Queries that name ids are counted id by id. Others are counted together with every earlier query that is
    not provably disjoint. Of all answers about a record the last was charged for all of them: so nobody can
    lose more. No row is ever looked at: tables that differ in a record get the same refusals.
    """

    sound = True

    def __init__(self, members: Bits) -> None:
        self._by_id = AnswerCounts(len(members))
        self._number_of: dict[Id, int] = {}
        self._naming: list[_Answer] = []  # those that name ids
        self._others: list[_Answer] = []
        self._spent = np.zeros(len(members), dtype=np.int64)

    def after(self, asked: ResolvedQuery) -> Ints:
        return np.maximum(self._spent, self._cost(asked))

    def add(self, asked: ResolvedQuery, answered: Bits) -> None:
        self._spent = np.where(answered, self.after(asked), self._spent)
        ids = _ids(asked)
        if ids is None:
            self._others.append((asked, answered))
        else:
            self._naming.append((asked, answered))
            self._by_id.add(self._numbers(ids), answered)

    @property
    def spent(self) -> Ints:
        return self._spent

    def _cost(self, asked: ResolvedQuery) -> Ints:
        """Answers that a record in this query could have had, with this one."""
        cost = 1 + _overlapping(asked, self._others, self._spent.size)
        if (ids := _ids(asked)) is None:
            return cost + _overlapping(asked, self._naming, self._spent.size)
        return cost + self._by_id.most(self._numbers(ids))

    def _numbers(self, ids: frozenset[Id]) -> Ints:
        numbers = [self._number_of.setdefault(name, len(self._number_of)) for name in ids]
        return np.array(numbers, dtype=np.int64)


def _ids(asked: ResolvedQuery) -> frozenset[Id] | None:
    """The ids beyond which a query selects nobody, where it names any."""
    span = asked.spans.get(asked.id_operand)
    return None if span is None else span.values  # type: ignore[return-value]


def _overlapping(asked: ResolvedQuery, earlier: list[_Answer], n_worlds: int) -> Ints:
    """How many earlier answers are not provably about others."""
    count = np.zeros(n_worlds, dtype=np.int64)
    for other, answered in earlier:
        if not are_disjoint(asked.spans, other.spans):
            count += answered
    return count
