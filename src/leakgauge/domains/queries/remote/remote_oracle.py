"""The oracle of a service: fills its request templates, and opens a separate round for every round.

The service adapter opens rounds at the service, sends queries to them, and closes them.
"""

import math
import secrets
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import Transcript
from leakgauge.domains.queries.accounting import Ledger
from leakgauge.domains.queries.oracle import OracleRules, cache_key
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleTable, ResolvedQuery
from leakgauge.domains.queries.remote import http_client
from leakgauge.domains.queries.remote.auditor_questions import (
    APART,
    MOST_QUESTIONS,
    about_nobody,
    answers_beyond,
    further_questions,
    has_probe,
    n_pair_sessions,
    question_pair,
    questions_apart,
    requests_once,
    rounds_per_pair,
)
from leakgauge.domains.queries.remote.plan_tables import OpenRequest, QueriesServiceTable
from leakgauge.domains.queries.remote.question_values import grouped_answer, query_values
from leakgauge.domains.queries.remote.reply_fields import opening_fields, reply_fields
from leakgauge.domains.queries.remote.reported_budget import ReportedSpending
from leakgauge.domains.queries.remote.request_templates import PlaceholderValues, RequestTemplate
from leakgauge.domains.queries.transcript import TranscriptRecorder

Result = TypeVar("Result")

ABANDON_TIMEOUT = 3.0  # seconds for closing rounds when something went wrong
MOST_CLOSE_FAILURES = 8  # after which the other rounds of a block are left open
MOST_FAULTS = 200  # faults in a row after which a service is taken to be down


@dataclass(frozen=True)
class ServedAnswer:
    """What a service gave for one question in one round: a number, a refusal (NaN) or a fault (NaN).

    A question with groups has a number for each.
    """

    answer: float | list[float]
    fault: str | None = None  # that stayed one
    n_faults: int = 0  # of all tries
    seconds: float = math.nan  # of the request that was answered
    fields: Mapping[str, float] = field(default_factory=dict)  # of the last reply, besides the answer
    n_in_errors: int = 0  # different answers in errors and refusals, which cost as much as any other


class ServiceAdapter:
    """Sends the requests of a plan to a service, for many rounds at a time.

    A query is sent to all rounds before the next query is sent to any. A lost reply raises ``ReleaseLost``,
    because an incomplete round is not used. A fault that the service reports itself belongs to the round, as
    a refusal does: it may depend on who is in the table.
    """

    def __init__(self, service: QueriesServiceTable) -> None:
        http_client.require_httpx()
        self.service, self._sender = service, http_client.HttpClient(service)
        self._opened: dict[str, PlaceholderValues] = {}  # rounds, by the name that the service gave them
        self._openings: dict[str, dict[str, float]] = {}  # what the replies that opened them hold besides
        self._finished: list[PlaceholderValues] = []
        self._n_left = 0  # rounds that stay open at the service
        self._lock = Lock()
        self._understood: set[str] = set()  # requests and fields of which a reply was understood before
        self._faults = 0  # in a row
        self.apart: Transcript | None = None  # what the auditor's own sessions gave, asked once
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

    def ask(self, rounds: Sequence[PlaceholderValues], question: PlaceholderValues) -> list[ServedAnswer]:
        """Send a query to every round; return what each gave."""
        served = self._sender.each(lambda i: self._ask_one(rounds[i], question), len(rounds))
        faults = [one.fault for one in served if one.fault is not None]
        if faults and len(faults) == len(served) and "ask.answer" not in self._understood:
            raise ReleaseLost(faults[0])
        return served

    def ask_at_once(
        self, values: PlaceholderValues, questions: Sequence[PlaceholderValues]
    ) -> list[ServedAnswer]:
        """Send queries to one round at the same moment; one that is lost got no answer."""

        def ask(i: int) -> ServedAnswer:
            with suppress(ReleaseLost):
                return self._ask_one(values, questions[i])
            return ServedAnswer(math.nan)

        return self._sender.at_once(ask, len(questions))

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
            self._openings[str(name)] = opening_fields(reply, template.round)
            return str(name)

        try:
            name = self._send(template, table, interpret, repeatable=True)  # an unused round does no harm
        except http_client.FaultReply as error:
            raise ReleaseLost(str(error)) from None
        with self._lock:
            if name in self._opened:
                raise BadInput(
                    "challenger.service.open: two rounds got the same name, so they are not independent; "
                    "open a separate table and budget for each"
                )
            self._opened[name] = {**table, "round": name}
        return self._opened[name]

    def _ask_one(self, values: PlaceholderValues, question: PlaceholderValues) -> ServedAnswer:
        template, refused, suppressed = self.service.asking, self.service.refused, self.service.suppressed
        assert refused is not None
        n_faults, fields, in_errors = 0, dict[str, float](), set[float]()

        grouped = question.get("group_by") is not None
        refusal = grouped_answer({}, question) if grouped else math.nan

        def interpret(reply: http_client.HttpReply) -> ServedAnswer:
            nonlocal n_faults, fields
            fields = reply_fields(reply, template.answer)
            number = _number_at(reply, template.answer)
            try:
                answered = read(reply)
            except http_client.FaultReply:
                n_faults += 1
                in_errors.add(number)
                raise
            in_errors.add(number)
            return answered

        def read(reply: http_client.HttpReply) -> ServedAnswer:
            is_refused = http_client.is_refusal(reply, refused)
            if self._spending is not None and (is_refused or 200 <= reply.status < 300):
                self._spending.read(reply, values["round"], refused=is_refused)
            if suppressed is not None and http_client.is_refusal(reply, suppressed):
                return ServedAnswer(refusal, seconds=reply.seconds)
            if is_refused:
                if self.service.open is None:
                    raise BadInput(
                        "the service refuses, but without open no round has its own budget; remove the limit "
                        "of the service, or add open"
                    )
                return ServedAnswer(refusal, seconds=reply.seconds)
            http_client.require_success(reply)
            value = self._field(reply, template.answer, "ask.answer")
            answer = grouped_answer(value, question) if grouped else http_client.finite_answer(value)
            return ServedAnswer(answer, seconds=reply.seconds)

        try:
            served = self._send(
                template, {**values, **question}, interpret, repeatable="request" in template.places
            )
        except http_client.FaultReply as error:
            served = self._count_fault(str(error), n_faults, refusal)
        else:
            self._faults = 0
        n_in_errors = sum(math.isfinite(number) and number != served.answer for number in in_errors)
        fields |= self._openings.get(values.get("round", ""), {})
        return replace(served, n_faults=n_faults, fields=fields, n_in_errors=n_in_errors)

    def _count_fault(self, problem: str, n_faults: int, refusal: float | list[float]) -> ServedAnswer:
        with self._lock:
            self._faults += 1
        if self._faults >= MOST_FAULTS:
            raise ReleaseLost(f"{problem}, and so for {self._faults} questions in a row")
        return ServedAnswer(refusal, fault=problem, n_faults=n_faults)

    def _close(self, wanted: Sequence[PlaceholderValues], deadline: float) -> None:
        """Try to close rounds, until some could not be closed; count those that stay open."""
        rounds = [values for values in wanted if self._opened.get(values.get("round", "")) is values]
        for values in rounds:
            del self._opened[values["round"]]
            self._openings.pop(values["round"], None)
            if self._spending is not None:
                self._spending.forget(values["round"])
        template = self.service.close
        if template is None or not rounds:
            self._n_left += len(rounds)
            return
        failures: list[int] = []

        def close(i: int) -> None:
            if len(failures) < MOST_CLOSE_FAILURES and monotonic() < deadline:
                with suppress(ReleaseLost, IncompleteRun, BadInput, http_client.FaultReply):
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


class HttpOracle:
    """Queries a service over HTTP; the cost is counted here, from the queries and answers.

    Rounds are opened by the first query. A query costs nothing where its answer is that of an earlier query
    which the stated cache treats as equal, or which selects the same records: the service may recognise more
    than is stated. If the answer differs, it counts as fresh.
    """

    def __init__(
        self, adapter: ServiceAdapter, table: OracleTable, rules: OracleRules, members: Bits, seeds: list[int]
    ) -> None:
        self._adapter, self._table, self._rules = adapter, table, rules
        self._members, self._seeds = members, seeds
        self._reported = None if adapter.service.spent is None else np.zeros(len(members))
        self._ledger = Ledger(members, rules.epsilon)
        self._first: Query | None = None  # question of the attack
        self.fault: str | None = None  # the last that the service reported
        self._pairs: Transcript = {}  # of the auditor
        self._recorder = TranscriptRecorder(
            members,
            real_valued=rules.real_valued,
            rows_per_person=rules.rows_per_person,
            never_by_chance=rules.rounds_never_equal,
        )

    @property
    def n_rounds(self) -> int:
        return len(self._members)

    def ask(self, query: Query) -> Reals:
        resolved = self._table.ask(query)
        served = self._adapter.ask(self._rounds, self._values(query))
        if self._reported is not None:
            self._reported = self._adapter.reported(self._rounds)
        self._ledger.add(resolved, self._record(resolved, served))
        self._first = self._first or query
        self.fault = next((one.fault for one in served if one.fault is not None), self.fault)
        return np.array([one.answer for one in served])

    def _record(self, resolved: ResolvedQuery, served: list[ServedAnswer]) -> Bits:
        """Keep what rounds gave, all of them or the first ones; return where answers are fresh."""
        return self._recorder.add(
            resolved,
            np.array([one.answer for one in served]),
            key=cache_key(self._rules.cache, resolved),
            scale=self._rules.noise_of(resolved.query).noise_scale,
            errors=np.array([one.fault is not None for one in served]),
            faults=np.array([one.n_faults for one in served]),
            seconds=np.array([one.seconds for one in served]),
            fields=[one.fields for one in served],
            in_errors=np.array([one.n_in_errors for one in served]),
            additive=self._rules.has_additive_noise(resolved.query),
        )

    def transcript(self) -> Transcript:
        """Ask what the auditor wants to know besides; return all questions and answers."""
        if self._first is not None:
            with suppress(IncompleteRun, ReleaseLost, BadInput):  # no round that counts depends on it
                if has_probe(self._rules, self.n_rounds, self._seeds[0]):
                    self._probe(self._first)
                self._pairs = self._ask_pairs(self._first)
            if self._adapter.apart is None:
                self._adapter.apart = self._ask_apart(self._first)
            self._first = None
        return {**self._recorder.columns, **self._pairs, **(self._adapter.apart or {})}

    def _ask_apart(self, first: Query) -> Transcript:
        """Ask many questions at once, about a total and about nobody, in sessions of the auditor."""
        found: dict[str, npt.NDArray[Any]] = {}
        service = self._adapter.service
        if not requests_once(self._rules, service.requests_per_session, service.total - self._adapter.sent)[
            0
        ]:
            return found
        beyond = answers_beyond(self._rules) if self._rules.bounded else None
        if beyond is not None:
            with suppress(IncompleteRun, ReleaseLost, BadInput):
                found["burst_answers"] = np.array(self._ask_burst(first, beyond))
        if not self._rules.has_additive_noise(first):
            return found
        members = np.resize(self._members, (2 * APART, self._members.shape[1]))
        members[:, 0] = np.arange(2 * APART) % 2 == 1
        with suppress(IncompleteRun, ReleaseLost, BadInput), self._sessions(members) as rounds:
            answers, truths, sizes = [], [], []
            for size, query in questions_apart(first, self._table):
                sizes.append(size)
                asked = self._table.ask(query)
                served = self._adapter.ask(rounds, self._values(query))
                answers.append(np.array([one.answer for one in served]).reshape(2 * APART, -1)[:, 0])
                truths.append((asked.total + members @ asked.shifts).reshape(2 * APART, -1)[:, 0])
            found["apart_answers"], found["apart_truths"] = np.stack(answers), np.stack(truths)
            found["apart_sizes"] = np.array(sizes)
            if beyond is not None:
                questions = islice(about_nobody(first, self._table), beyond + 1)
                given = [self._adapter.ask(rounds[:1], self._values(query))[0] for query in questions]
                found["nobody_answers"] = np.array(_n_different(given))
        return found

    def _ask_burst(self, first: Query, beyond: int) -> int:
        """How many different answers one session gives at once, when its budget is nearly spent."""
        questions = [self._values(query) for query in further_questions(first, self._table)]
        n_before = max(0, min(beyond - 1 - MOST_QUESTIONS // 4, len(questions) - MOST_QUESTIONS))
        at_once = questions[n_before:][:MOST_QUESTIONS]
        if n_before + len(at_once) < beyond or self._adapter.service.rate < MOST_QUESTIONS:
            raise ReleaseLost("cannot be tested")
        with self._sessions(np.ones((1, self._members.shape[1]), dtype=bool)) as rounds:
            before = [self._adapter.ask(rounds, question)[0] for question in questions[:n_before]]
            if not (n_given := _n_different([*before, *self._adapter.ask_at_once(rounds[0], at_once)])):
                raise ReleaseLost("no question was answered")
        return n_given

    @contextmanager
    def _sessions(self, members: Bits) -> Iterator[list[PlaceholderValues]]:
        """Sessions of the auditor with these targets."""
        seeds = np.random.default_rng(self._seeds[0]).integers(2**53, size=len(members)).tolist()
        rounds = self._adapter.open([self._table_values(*one) for one in zip(members, seeds)])
        try:
            yield rounds
        finally:
            self._adapter.finish(rounds)

    def _values(self, query: Query) -> PlaceholderValues:
        return query_values(query, self._adapter.service, self._table.records.id_column)

    def _ask_pairs(self, first: Query) -> Transcript:
        """Ask sessions of their own the first question, with and without a target that it selects."""
        n = n_pair_sessions(self.n_rounds, rounds_per_pair(self._rules), self._seeds[0])
        queries = question_pair(first, self._table)
        if not n or queries is None or not self._rules.has_additive_noise(first):
            return {}
        resolved = self._table.ask(queries[0])
        target = int(resolved.targets.argmax())
        members = np.resize(self._members, (2 * n, self._members.shape[1]))
        members[:, target] = np.arange(2 * n) % 2 == 1
        with self._sessions(members) as rounds:
            answers, truths = [], []
            for query in queries:
                asked, served = self._table.ask(query), self._adapter.ask(rounds, self._values(query))
                answers.append(np.array([one.answer for one in served]).reshape(2 * n, -1))
                truths.append(np.asarray(asked.total + members @ asked.shifts).reshape(2 * n, -1))
        group = int(np.abs(resolved.shifts[target]).argmax())  # to which the target contributes
        return {
            "pair_members": members[:, target],
            "pair_answers": np.stack([one[:, group] for one in answers], axis=1),
            "pair_truths": np.stack([one[:, group] for one in truths], axis=1),
        }

    def _probe(self, first: Query) -> None:
        """Ask one round until it refuses, or has answered more than its budget can pay for."""
        beyond = answers_beyond(self._rules)
        for _ in range(MOST_QUESTIONS):
            if beyond is None or not self._is_answered(first, beyond):
                break
            if not self._recorder.fresh_last:
                break
        for query in islice(further_questions(first, self._table), MOST_QUESTIONS):
            if beyond is None or not self._is_answered(query, beyond):
                return

    def _is_answered(self, query: Query, beyond: int) -> bool:
        """Ask the first round a question; return whether it is worth to ask another."""
        if self._recorder.most_fresh(0) >= beyond:
            return False
        served = self._adapter.ask(self._rounds[:1], self._values(query))
        self._record(self._table.ask(query), served)
        return not np.isnan(served[0].answer).all()

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
        rounds = self._adapter.open([self._table_values(*one) for one in zip(self._members, self._seeds)])
        weakref.finalize(self, self._adapter.finish, rounds).atexit = False
        return rounds

    def _table_values(self, members: Bits, seed: int) -> PlaceholderValues:
        """Return the placeholder values for the table of a round."""
        ids = self._table.records.ids
        presence = dict(zip((ids[row] for row in self._table.targets.tolist()), members.tolist()))
        single = len(presence) == 1
        return {
            "absent": [name for name, present in presence.items() if not present],
            "present": [name for name, present in presence.items() if present],
            "world": self._adapter.service.worlds[int(members[0])] if single else None,
            "seed": seed,
        }


def _number_at(reply: http_client.HttpReply, path: str) -> float:
    """The number where an answer would be; NaN where there is none."""
    try:
        return http_client.finite_answer(http_client.field_at(reply.body, path))
    except (KeyError, http_client.UnclearReply):
        return math.nan


def _n_different(served: Sequence[ServedAnswer]) -> int:
    """How many different answers there are, of which each costs something."""
    given = (tuple(np.atleast_1d(one.answer).tolist()) for one in served)
    return len({answer for answer in given if np.isfinite(answer).any()})


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
