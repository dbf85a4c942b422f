"""The oracle of a service: fills its request templates, and opens a separate round for every round."""

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

MANY_ROUNDS = 64  # this many rounds do not get the same noise by chance
LEAST_NOISE = 0.5  # noise scale below which rounded noise is often zero


def query_values(query: Query, service: QueriesServiceTable, id_column: str) -> PlaceholderValues:
    """Return the values of the placeholders of a query."""
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
    """Return what follows WHERE in SQL.

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
    """Refuse a template that does not contain the selection of a query."""
    places = service.asking.places
    if places & {"where", "sql"}:
        return
    if query.ids is not None and "ids" not in places:
        raise BadInput(
            "challenger.service.ask: an attack selects records by ids, which {predicate} does not contain; "
            'use {where} instead, or set by = "predicate" in the attack'
        )
    if query.where is not None and "predicate" not in places:
        raise BadInput(
            "challenger.service.ask: an attack selects records by a predicate, which {ids} does not contain; "
            "use {where} instead, or choose attacks that select by ids"
        )


class HttpOracle:
    """Queries a service over HTTP; the cost is counted here, from the queries and answers.

    Rounds are opened by the first query. A query that the stated cache treats as repeated costs nothing if
    its answer is the same; if the answer differs, it counts as fresh.
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
        resolved = self._table.ask(query)
        question = query_values(query, self._adapter.service, self._table.records.id_column)
        answers = self._adapter.ask(self._rounds, question)
        self._require_noise(answers, query)
        answered = ~np.isnan(answers)
        self._ledger.add(resolved, answered & ~self._repeated(resolved, answers))
        return answers

    @property
    def obtained(self) -> Reals:
        return self._ledger.obtained

    @property
    def believed(self) -> dict[str, Reals]:
        return self._ledger.believed

    @cached_property
    def _rounds(self) -> list[PlaceholderValues]:
        rounds = self._adapter.open([self._table_values(i) for i in range(self.n_rounds)])
        weakref.finalize(self, self._adapter.finish, rounds).atexit = False
        return rounds

    def _table_values(self, i: int) -> PlaceholderValues:
        """Return the placeholder values for the table of a round."""
        ids = self._table.records.ids
        presence = dict(zip((ids[row] for row in self._table.targets.tolist()), self._members[i].tolist()))
        single = len(presence) == 1
        return {
            "absent": [name for name, present in presence.items() if not present],
            "present": [name for name, present in presence.items() if present],
            "world": self._adapter.service.worlds[int(self._members[i, 0])] if single else None,
            "seed": self._seeds[i],
        }

    def _repeated(self, resolved: ResolvedQuery, answers: Reals) -> Bits:
        """Return where the answer equals an earlier answer to the same query."""
        key = cache_key(self._rules.cache, resolved)
        if key is None:
            return np.zeros(self.n_rounds, dtype=bool)
        before = self._given.get(key, np.full(self.n_rounds, np.nan))
        self._given[key] = np.where(np.isnan(answers), before, answers)
        return answers == before

    def _require_noise(self, answers: Reals, query: Query) -> None:
        """Refuse rounds that share their noise: they would be one round counted many times."""
        scale = getattr(self._rules.noise_of(query), "noise_scale", None)
        if scale is None or not scale >= LEAST_NOISE:
            return
        for world in np.unique(self._members, axis=0):
            same_world = answers[(self._members == world).all(axis=1)]
            same_world = same_world[~np.isnan(same_world)]
            if same_world.size >= MANY_ROUNDS and (same_world == same_world[0]).all():
                raise BadInput(
                    f"challenger.service: {same_world.size} rounds got the same answer to a query, which the "
                    "stated noise rules out; rounds must not share answers: use one cache per round, or none"
                )


@dataclass(frozen=True, eq=False)
class RemoteQueriesBlock:
    """The oracles of a block at a service: the targets present in each round, and the seed of each."""

    adapter: ServiceAdapter
    table: OracleTable
    rules: OracleRules
    members: Bits
    seeds: list[int]

    def oracle(self) -> HttpOracle:
        """Return a fresh oracle with new rounds."""
        return HttpOracle(self.adapter, self.table, self.rules, self.members, self.seeds)
