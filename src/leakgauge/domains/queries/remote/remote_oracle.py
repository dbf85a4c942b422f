"""The oracle of a service: fills its request templates, and opens a separate round for every round.

The service adapter opens rounds at the service, sends queries to them, and closes them.
"""

import math
import secrets
import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import TypeVar

import numpy as np

from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.accounting import Ledger
from leakgauge.domains.queries.oracle import OracleRules, cache_key
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.records import OracleTable, ResolvedQuery
from leakgauge.domains.queries.remote import http_client
from leakgauge.domains.queries.remote.plan_tables import OpenRequest, QueriesServiceTable, SumForm
from leakgauge.domains.queries.remote.reported_spending import ReportedSpending
from leakgauge.domains.queries.remote.request_templates import PlaceholderValues, RequestTemplate
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal

Result = TypeVar("Result")

ABANDON_TIMEOUT = 3.0  # seconds for closing rounds when something went wrong
MOST_CLOSE_FAILURES = 8  # after which the other rounds of a block are left open
MANY_ROUNDS = 64  # this many rounds do not get the same noise by chance
LEAST_NOISE = 0.5  # noise scale below which rounded noise is often zero


class ServiceAdapter:
    """Sends the requests of a plan to a service, for many rounds at a time.

    A query is sent to all rounds before the next query is sent to any. A lost reply raises ``ReleaseLost``,
    because an incomplete round is not used.
    """

    def __init__(self, service: QueriesServiceTable) -> None:
        http_client.require_httpx()
        self.service, self._sender = service, http_client.HttpClient(service)
        self._opened: dict[str, PlaceholderValues] = {}  # rounds, by the name that the service gave them
        self._finished: list[PlaceholderValues] = []
        self._n_left = 0  # rounds that stay open at the service
        self._lock = Lock()
        self._understood: set[str] = set()  # requests and fields of which a reply was understood before
        self._spending = None if service.spent is None else ReportedSpending(service.spent)

    def require_token(self) -> None:
        """Refuse to start without the token that the plan names; a dry run needs none."""
        self._sender.secret = http_client.token_of(self.service)

    @property
    def sent(self) -> int:
        """How many requests were sent so far."""
        return self._sender.meter.sent

    def open(self, tables: Sequence[PlaceholderValues]) -> list[PlaceholderValues]:
        """Close finished rounds, then open a round for each table."""
        self._close([self._finished.pop() for _ in range(len(self._finished))], math.inf)
        template = self.service.open
        if template is None:
            return list(tables)
        return self._sender.each(lambda i: self._open_one(template, tables[i]), len(tables))

    def ask(self, rounds: Sequence[PlaceholderValues], question: PlaceholderValues) -> Reals:
        """Send a query to every round; return an answer for each, NaN where it is refused."""
        return np.array(self._sender.each(lambda i: self._ask_one(rounds[i], question), len(rounds)))

    def reported(self, rounds: Sequence[PlaceholderValues]) -> Reals | None:
        """Return the epsilon that the service says it has spent in each round; None if it says nothing."""
        if self._spending is None:
            return None
        return np.array([self._spending.of(values["round"]) for values in rounds])

    def finish(self, rounds: Sequence[PlaceholderValues]) -> None:
        """Mark rounds as finished, so that they are closed later."""
        self._finished.extend(rounds)

    def end(self) -> None:
        """Close all rounds after a completed block."""
        self._sender.meter.useful = True
        self._finished.clear()
        self._close(list(self._opened.values()), math.inf)
        self._sender.close()

    def abandon(self) -> str | None:
        """Close rounds after a failure, as far as possible within a short timeout; say what stays open."""
        self._finished.clear()
        self._close(list(self._opened.values()), monotonic() + ABANDON_TIMEOUT)
        self._sender.close()
        if self._n_left == 0:
            return None
        why = "which could not be closed" if self.service.close is not None else "as the plan has no close"
        return f"{self._n_left} rounds stay open at the service, {why}"

    def _open_one(self, template: OpenRequest, table: PlaceholderValues) -> PlaceholderValues:
        def interpret(reply: http_client.HttpReply) -> str:
            http_client.require_success(reply)
            name = self._field(reply, template.round, "open.round")
            if isinstance(name, bool) or not isinstance(name, int | str) or name in ("", ".", ".."):
                raise http_client.UnclearReply("a round without a name")
            return str(name)

        name = self._send(template, table, interpret, repeatable=True)  # an unused round does no harm
        with self._lock:
            if name in self._opened:
                raise BadInput(
                    "challenger.service.open: two rounds got the same name, so they are not independent; "
                    "open a separate table and budget for each"
                )
            self._opened[name] = {**table, "round": name}
        return self._opened[name]

    def _ask_one(self, values: PlaceholderValues, question: PlaceholderValues) -> float:
        template, refused = self.service.asking, self.service.refused
        assert refused is not None

        def interpret(reply: http_client.HttpReply) -> float:
            is_refused = http_client.is_refusal(reply, refused)
            if self._spending is not None and (is_refused or 200 <= reply.status < 300):
                self._spending.read(reply, values["round"], refused=is_refused)
            if is_refused:
                if self.service.open is None:
                    raise BadInput(
                        "the service refuses, but without open no round has its own budget; remove the limit "
                        "of the service, or add open"
                    )
                return math.nan
            http_client.require_success(reply)
            return http_client.finite_answer(self._field(reply, template.answer, "ask.answer"))

        return self._send(
            template, {**values, **question}, interpret, repeatable="request" in template.places
        )

    def _close(self, wanted: Sequence[PlaceholderValues], deadline: float) -> None:
        """Try to close rounds, until some could not be closed; count those that stay open."""
        rounds = [values for values in wanted if self._opened.get(values.get("round", "")) is values]
        for values in rounds:
            del self._opened[values["round"]]
            if self._spending is not None:
                self._spending.forget(values["round"])
        template = self.service.close
        if template is None or not rounds:
            self._n_left += len(rounds)
            return
        failures: list[int] = []

        def close(i: int) -> None:
            if len(failures) < MOST_CLOSE_FAILURES and monotonic() < deadline:
                with suppress(ReleaseLost, IncompleteRun, BadInput):
                    if self._send(template, rounds[i], _is_closed, repeatable=False, tries=1):
                        return
            failures.append(i)

        self._sender.each(close, len(rounds))
        self._n_left += len(failures)

    def _send(
        self,
        template: RequestTemplate,
        values: PlaceholderValues,
        interpret: Callable[[http_client.HttpReply], Result],
        *,
        repeatable: bool,
        tries: int | None = None,
    ) -> Result:
        if self._sender.secret is None:
            self.require_token()
        call = template.fill({**values, "request": secrets.token_hex(16)}, self._sender.secret)
        url = self.service.url_of(values["world"] or "")
        try:
            result = self._sender.send(
                url, call, interpret, repeatable=repeatable, tries=tries or self.service.tries
            )
        except http_client.UnknownToService as error:
            if call.name in self._understood:
                raise ReleaseLost(f"{call.name}: {error}") from None
            raise BadInput(f"challenger.service: {call.name}: {error}; check its path") from None
        self._understood.add(call.name)
        return result

    def _field(self, reply: http_client.HttpReply, path: str, where: str) -> object:
        try:
            result = http_client.field_at(reply.body, path)
        except KeyError:
            if where in self._understood:
                raise http_client.UnclearReply(f"a reply without {path!r}") from None
            keys = ", ".join(map(repr, reply.body)) if isinstance(reply.body, dict) else "no table"
            keys = http_client.without_secret(keys, reply.secret)
            raise BadInput(f"the reply has no {path!r} but {keys}; check {where}") from None
        self._understood.add(where)
        return result


def _is_closed(reply: http_client.HttpReply) -> bool:
    """Whether a round is closed: now, or because the service does not know it any more."""
    return 200 <= reply.status < 300 or reply.status in (404, 410)


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
        "sql": f"SELECT {_aggregate_sql(query, service.sums)} FROM {service.table} WHERE {where}",
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


def _aggregate_sql(query: Query, sums: SumForm) -> str:
    if query.kind is QueryKind.COUNT:
        return "COUNT(*)"
    assert query.column is not None
    if sums is SumForm.PLAIN:  # SmartNoise SQL knows no quoted columns in sums
        simple = query.column.isidentifier() and query.column.isascii()
        return f"SUM({query.column if simple else quote_identifier(query.column)})"
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


def _selection_key(resolved: ResolvedQuery) -> Hashable:
    """What a query computes, over which records: equal for all wordings of a question."""
    query, rows = resolved.query, sha256(resolved.others.tobytes()).digest()
    return "records", query.kind, query.column, query.bound, rows, resolved.targets.tobytes()


class HttpOracle:
    """Queries a service over HTTP; the cost is counted here, from the queries and answers.

    Rounds are opened by the first query. A query costs nothing where its answer is that of an earlier query
    which the stated cache treats as equal, or which selects the same records: the service may recognize more
    than is stated. If the answer differs, it counts as fresh.
    """

    def __init__(
        self, adapter: ServiceAdapter, table: OracleTable, rules: OracleRules, members: Bits, seeds: list[int]
    ) -> None:
        self._adapter, self._table, self._rules = adapter, table, rules
        self._members, self._seeds = members, seeds
        self._reported = None if adapter.service.spent is None else np.zeros(len(members))
        self._ledger = Ledger(members, rules.epsilon)
        self._given: dict[Hashable, Reals] = {}

    @property
    def n_rounds(self) -> int:
        return len(self._members)

    def ask(self, query: Query) -> Reals:
        resolved = self._table.ask(query)
        question = query_values(query, self._adapter.service, self._table.records.id_column)
        answers = self._adapter.ask(self._rounds, question)
        if self._reported is not None:
            self._reported = self._adapter.reported(self._rounds)
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

    @property
    def reported(self) -> Reals | None:
        """What the service says it has spent in each round; None if the plan does not say where."""
        return self._reported

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
        stated = cache_key(self._rules.cache, resolved)
        repeated = np.zeros(self.n_rounds, dtype=bool) if stated is None else self._equal(stated, answers)
        same_records = self._equal(_selection_key(resolved), answers)
        return repeated | same_records if self._no_chance(resolved.query, same_records) else repeated

    def _equal(self, key: Hashable, answers: Reals) -> Bits:
        """Return where the answer equals the last one under a key, and keep it for the next."""
        before = self._given.get(key, np.full(self.n_rounds, np.nan))
        self._given[key] = np.where(np.isnan(answers), before, answers)
        return answers == before

    def _no_chance(self, query: Query, equal: Bits) -> bool:
        """Whether fresh noise would not make answers equal: real-valued noise, or many rounds at once."""
        if not self._rules.whole:
            return True
        scale = getattr(self._rules.noise_of(query), "noise_scale", None)
        return scale is not None and scale >= LEAST_NOISE and equal.size >= MANY_ROUNDS and bool(equal.all())

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
