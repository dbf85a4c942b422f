"""The oracle of a service: queries written for its templates, and a round of its own for every round."""

import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.accounting import Ledger
from leakgauge.domains.queries.oracle_rules import OracleRules, cache_key
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.records import OracleTable, ResolvedQuery
from leakgauge.domains.queries.remote.adapter import ServiceAdapter
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable
from leakgauge.domains.queries.remote.request_templates import PlaceholderValues
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal


def query_values(query: Query, service: QueriesServiceTable, id_column: str) -> PlaceholderValues:
    """What the placeholders of a question stand for."""
    _require_template_selects(query, service)
    where = as_predicate(query, id_column)
    return {
        "kind": query.kind.value,
        "column": query.column,
        "bound": query.bound,
        "where": where,
        "predicate": query.where,
        "ids": None if query.ids is None else list(query.ids),
        "sql": f"SELECT {_aggregate_sql(query)} FROM {service.table} WHERE {where}",
    }


def as_predicate(query: Query, id_column: str) -> str:
    """What follows WHERE in SQL.

    >>> as_predicate(Query(ids=(3, 1)), "id"), as_predicate(Query(), "id")
    ('"id" IN (3, 1)', 'TRUE')
    """
    if query.ids is not None:
        return (
            f"{quote_identifier(id_column)} IN ({', '.join(map(quote_literal, query.ids))})"
            if query.ids
            else "FALSE"
        )
    return "TRUE" if query.where is None else query.where


def _aggregate_sql(query: Query) -> str:
    if query.kind is QueryKind.COUNT:
        return "COUNT(*)"
    assert query.column is not None
    column, bound = quote_identifier(query.column), query.sensitivity
    return f"SUM(LEAST(GREATEST({column}, {-bound!r}), {bound!r}))"


def _require_template_selects(query: Query, service: QueriesServiceTable) -> None:
    """Refuse a template that would leave out which records a question is about."""
    said = service.asking.places
    if said & {"where", "sql"}:
        return
    if query.ids is not None and "ids" not in said:
        raise BadInput(
            "challenger.service.ask: an attack names records by ids, which {predicate} does not tell; write "
            '{where} instead, or have the attack name them by = "predicate"'
        )
    if query.where is not None and "predicate" not in said:
        raise BadInput(
            "challenger.service.ask: an attack names records by a predicate, which {ids} does not tell; put "
            "{where} somewhere, or choose attacks that go by ids"
        )


MANY_ROUNDS = 64  # rounds that cannot all have the same noise by chance
LEAST_NOISE = 0.5  # below that, whole numbers may well have none


class HttpOracle:
    """Asks a service over HTTP; what its answers cost is counted here, from what was asked and answered.

    Rounds are opened by the first question. An answer that repeats an earlier one, as the stated cache
    has it, costs nothing; if it differs, it is a fresh one, whatever was stated.
    """

    def __init__(
        self, adapter: ServiceAdapter, table: OracleTable, rules: OracleRules, members: Bits, seeds: list[int]
    ) -> None:
        self._adapter, self._table, self._rules = adapter, table, rules
        self._members, self._seeds = members, seeds
        self._ledger = Ledger(members, rules.epsilon)
        self._given: dict[Hashable, Reals] = {}

    @property
    def n_rounds(self) -> int:
        return len(self._members)

    def ask(self, query: Query) -> Reals:
        asked = self._table.ask(query)
        question = query_values(query, self._adapter.service, self._table.records.id_column)
        answers = self._adapter.ask(self._rounds, question)
        self._require_noise(answers, query)
        answered = ~np.isnan(answers)
        self._ledger.add(asked, answered & ~self._repeated(asked, answers))
        return answers

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained

    @property
    def believed(self) -> dict[str, Reals]:
        return self._ledger.believed

    @cached_property
    def _rounds(self) -> list[PlaceholderValues]:
        rounds = self._adapter.open([self._words(i) for i in range(self.n_rounds)])
        weakref.finalize(self, self._adapter.finish, rounds).atexit = False
        return rounds

    def _words(self, i: int) -> PlaceholderValues:
        """Who is in the table of a round, in the words of a template."""
        ids = self._table.records.ids
        there = dict(zip((ids[row] for row in self._table.targets.tolist()), self._members[i].tolist()))
        single = len(there) == 1
        return {
            "absent": [name for name, present in there.items() if not present],
            "present": [name for name, present in there.items() if present],
            "world": self._adapter.service.worlds[int(self._members[i, 0])] if single else None,
            "seed": self._seeds[i],
        }

    def _repeated(self, asked: ResolvedQuery, answers: Reals) -> Bits:
        """Where an answer is one that was given before to the same question."""
        key = cache_key(self._rules.cache, asked)
        if key is None:
            return np.zeros(self.n_rounds, dtype=bool)
        before = self._given.get(key, np.full(self.n_rounds, np.nan))
        self._given[key] = np.where(np.isnan(answers), before, answers)
        return answers == before

    def _require_noise(self, answers: Reals, query: Query) -> None:
        """Refuse answers without noise of their own: rounds that share it are one, counted many times."""
        scale = getattr(self._rules.noise_of(query), "noise_scale", None)
        if scale is None or not scale >= LEAST_NOISE:
            return
        for world in np.unique(self._members, axis=0):
            there = answers[(self._members == world).all(axis=1)]
            there = there[~np.isnan(there)]
            if there.size >= MANY_ROUNDS and (there == there[0]).all():
                raise BadInput(
                    f"challenger.service: {there.size} rounds got the same answer to a question, which the "
                    "stated noise does not do: rounds must not share answers; give each a cache of its own, "
                    "or none"
                )


@dataclass(frozen=True, eq=False)
class RemoteQueriesBlock:
    """The oracles of a block at a service: who is in the table of each round, and numbers for their seeds."""

    adapter: ServiceAdapter
    table: OracleTable
    rules: OracleRules
    members: Bits
    seeds: list[int]

    def oracle(self) -> HttpOracle:
        """A fresh oracle with rounds of its own, to which nobody has put a question."""
        return HttpOracle(self.adapter, self.table, self.rules, self.members, self.seeds)
