"""The open rounds of the oracle service, kept in memory: an oracle and its replies for each."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeAlias

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.challenger import Challenger, control_group
from leakgauge.domains.queries.oracle import LocalOracle, OracleRules
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.records import OracleTable

MOST_OPEN = 20_000  # rounds; beyond that, the round idle for longest is dropped
MOST_QUESTIONS = 100_000  # in a round


Answer: TypeAlias = float | list[float | None] | None  # or one of each group; nothing: refused


class UnknownRound(Exception):
    """A round is not open: it was closed or dropped, or the service was restarted."""


@dataclass(frozen=True)
class RoundReply:
    """The answer to a query, or nothing if it is refused; and what the accountant has recorded by then."""

    answer: Answer
    spent: float


@dataclass(frozen=True, eq=False)
class _Round:
    """An oracle with one round, and its queries and replies by request key."""

    oracle: LocalOracle
    replies: dict[str | int, tuple[Query, RoundReply]] = field(default_factory=dict)


class ServiceRounds:
    """Opens, queries and closes rounds, one at a time: the database is not used concurrently."""

    def __init__(
        self,
        table: OracleTable,
        rules: OracleRules,
        most_open: int = MOST_OPEN,
        control_group: Ints | None = None,  # records that may be absent besides the targets
    ) -> None:
        self._table, self._rules, self._most_open = table, rules, most_open
        group = table.targets[:0] if control_group is None else np.setdiff1d(control_group, table.targets)
        self._with_group = OracleTable(table.records, np.concatenate([table.targets, group]))
        self._open: OrderedDict[str, _Round] = OrderedDict()  # the round idle for longest comes first
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, absent: tuple[Id, ...]) -> str:
        """Open a round without some of the targets, with noise from a secret seed."""
        rows = [self._row(name) for name in absent]
        table = self._table if np.isin(rows, self._table.targets).all() else self._with_group
        members = ~np.isin(table.targets, rows)
        oracle = LocalOracle(table, self._rules, members[None, :], secrets.randbits(63))
        name = secrets.token_hex(12)
        with self._lock:
            while len(self._open) >= self._most_open:
                self._open.popitem(last=False)
            self._open[name] = _Round(oracle)
        return name

    def ask(self, name: str, query: Query, request: str | None) -> RoundReply:
        """Answer or refuse a query; a repeated request gets the same reply.

        A client can therefore repeat a request whose reply was lost, and is charged once.
        """
        with self._lock:
            round_ = self._open.get(name)
            if round_ is None:
                raise UnknownRound(name)
            self._open.move_to_end(name)
            if request is not None and request in round_.replies:
                return _earlier_reply(round_, query, request)
            if len(round_.replies) >= MOST_QUESTIONS:
                raise BadInput(f"a round allows at most {MOST_QUESTIONS} queries; open a new one")
            answer = _as_answer(round_.oracle.ask(query)[0])
            reply = RoundReply(answer, float(round_.oracle.recorded[0]))
            round_.replies[len(round_.replies) if request is None else request] = query, reply
            return reply

    def close(self, name: str) -> None:
        """Close a round and drop its replies."""
        with self._lock:
            if self._open.pop(name, None) is None:
                raise UnknownRound(name)

    @property
    def refusal(self) -> str:
        """Why an answer may be refused."""
        if self._rules.at_least is None:
            return "the budget of this round is used up"
        return f"the count is below {self._rules.at_least}, or the budget of this round is used up"

    def _row(self, name: Id) -> int:
        row = self._table.records.row_of.get(name)
        if row is None or row not in self._with_group.targets:
            raise BadInput(
                f"absent: {name!r} is not a target of the served plan, and only targets and the records of "
                "its positive control can be absent; audit with the same plan and seed"
            )
        return row


def service_rounds(challenger: Challenger) -> ServiceRounds:
    """The rounds of a challenger, from which the records of its positive control can be absent too."""
    return ServiceRounds(challenger.table, challenger.rules, control_group=control_group(challenger))


def _as_answer(numbers: Reals) -> Answer:
    """An answer as it is sent: a number, or one for each group; nothing where all are refused."""
    if np.isnan(numbers).all():
        return None
    if numbers.ndim == 0:
        return float(numbers)
    return [None if np.isnan(one) else float(one) for one in numbers]


def _earlier_reply(round_: _Round, query: Query, request: str) -> RoundReply:
    earlier, reply = round_.replies[request]
    if earlier != query:
        raise BadInput(f"request: {request!r} was used for another query of this round; use a new key")
    return reply
