"""The rounds that a service holds open: an oracle each, in memory, and what it has replied."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle import LocalOracle
from leakgauge.domains.queries.oracle_rules import OracleRules
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.records import OracleTable

MOST_OPEN = 20_000  # rounds; the one that was idle longest makes room for a new one
MOST_QUESTIONS = 100_000  # in a round


class UnknownRound(Exception):
    """Nothing is known of a round: it was closed, had to make room, or the service was started again."""


@dataclass(frozen=True, eq=False)
class _Round:
    """An oracle with one round, and by request what was asked and replied; no reply: refused."""

    oracle: LocalOracle
    replies: dict[str | int, tuple[Query, float | None]] = field(default_factory=dict)


class ServiceRounds:
    """Opens, asks and closes rounds; one at a time, for a database is not to be asked by two at once."""

    def __init__(self, table: OracleTable, rules: OracleRules, most_open: int = MOST_OPEN) -> None:
        self._table, self._rules, self._most_open = table, rules, most_open
        self._open: OrderedDict[str, _Round] = OrderedDict()  # the longest idle first
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, absent: tuple[Id, ...]) -> str:
        """Open a round in which some targets are not in the table, with noise that nobody can foresee."""
        members = ~np.isin(self._table.targets, [self._row(name) for name in absent])
        oracle = LocalOracle(self._table, self._rules, members[None, :], secrets.randbits(63))
        name = secrets.token_hex(12)
        with self._lock:
            while len(self._open) >= self._most_open:
                self._open.popitem(last=False)
            self._open[name] = _Round(oracle)
        return name

    def ask(self, name: str, query: Query, request: str | None) -> float | None:
        """The answer of a round, or nothing where it is refused; a request that came before gets its reply.

        So a reply that was lost on the way can be asked for again, and is charged once.
        """
        with self._lock:
            held = self._open.get(name)
            if held is None:
                raise UnknownRound(name)
            self._open.move_to_end(name)
            if request is not None and request in held.replies:
                return _replied(held, query, request)
            if len(held.replies) >= MOST_QUESTIONS:
                raise BadInput(f"a round takes {MOST_QUESTIONS} questions at most; open another")
            answer = float(held.oracle.ask(query)[0])
            reply = None if np.isnan(answer) else answer
            held.replies[len(held.replies) if request is None else request] = query, reply
            return reply

    def close(self, name: str) -> None:
        """Forget a round."""
        with self._lock:
            if self._open.pop(name, None) is None:
                raise UnknownRound(name)

    def _row(self, name: Id) -> int:
        row = self._table.records.row_of.get(name)
        if row is None or row not in self._table.targets:
            raise BadInput(
                f"absent: {name!r} is no target of the plan that is served; targets alone can be absent: "
                "audit by the same plan and seed"
            )
        return row


def _replied(held: _Round, query: Query, request: str) -> float | None:
    asked, reply = held.replies[request]
    if asked != query:
        raise BadInput(f"request: {request!r} stands for another question of this round; give it another key")
    return reply
