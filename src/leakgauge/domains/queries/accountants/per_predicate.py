"""An answer costs every record its predicate could select (parallel composition, McSherry 2009)."""

from typing import TypeAlias

import numpy as np

from leakgauge.core.arrays import Bits, Ints
from leakgauge.domains.queries.accounting import AnswerCounts
from leakgauge.domains.queries.query import Id
from leakgauge.domains.queries.records import ResolvedQuery
from leakgauge.domains.queries.sql.conditions import are_disjoint

_Answer: TypeAlias = tuple[ResolvedQuery, Bits]  # and the worlds in which it was given


class Accountant:
    """Counts, for every record that could exist, the answers that could contain it; reports the largest.

    Queries that name ids are counted per id. Other queries are counted together with every earlier query
    that is not provably disjoint. The last answer that contains a record is charged for all answers that
    contain it, so the count is an upper bound for every record. No row is read: tables that differ in one
    record get the same refusals.
    """

    sound = True

    def __init__(self, members: Bits) -> None:
        self._by_id = AnswerCounts(len(members))
        self._number_of: dict[Id, int] = {}
        self._naming: list[_Answer] = []  # queries that name ids
        self._others: list[_Answer] = []
        self._spent = np.zeros(len(members), dtype=np.int64)

    def after(self, resolved: ResolvedQuery) -> Ints:
        return np.maximum(self._spent, self._cost(resolved))

    def add(self, resolved: ResolvedQuery, answered: Bits) -> None:
        self._spent = np.where(answered, self.after(resolved), self._spent)
        ids = _ids(resolved)
        if ids is None:
            self._others.append((resolved, answered))
        else:
            self._naming.append((resolved, answered))
            self._by_id.add(self._numbers(ids), answered)

    @property
    def spent(self) -> Ints:
        return self._spent

    def _cost(self, resolved: ResolvedQuery) -> Ints:
        """Return the number of answers that could contain a record of this query, including this one."""
        cost = 1 + _overlapping(resolved, self._others, self._spent.size)
        if (ids := _ids(resolved)) is None:
            return cost + _overlapping(resolved, self._naming, self._spent.size)
        return cost + self._by_id.most(self._numbers(ids))

    def _numbers(self, ids: frozenset[Id]) -> Ints:
        numbers = [self._number_of.setdefault(name, len(self._number_of)) for name in ids]
        return np.array(numbers, dtype=np.int64)


def _ids(resolved: ResolvedQuery) -> frozenset[Id] | None:
    """Return the only ids that a query can select, or nothing if it names none."""
    span = resolved.spans.get(resolved.id_operand)
    return None if span is None else span.values  # type: ignore[return-value]


def _overlapping(resolved: ResolvedQuery, earlier: list[_Answer], n_worlds: int) -> Ints:
    """Count the earlier answers whose queries are not provably disjoint from this one."""
    count = np.zeros(n_worlds, dtype=np.int64)
    for other, answered in earlier:
        if not are_disjoint(resolved.spans, other.spans):
            count += answered
    return count
