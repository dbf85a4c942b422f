"""What a service itself says it has spent, read from its replies."""

import math
from threading import Lock
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.remote.http_client import HttpReply, UnclearReply, field_at
from leakgauge.domains.queries.remote.plan_tables import SpentRule


class ReportedSpending:
    """The last number that each round reported; its first answer must report one."""

    def __init__(self, rule: SpentRule) -> None:
        self._rule, self._lock = rule, Lock()
        self._by_round: dict[str, float] = {}

    def read(self, reply: HttpReply, name: str, *, refused: bool) -> None:
        """Read the number from the reply to a query in a round; a refusal need not hold one."""
        value = self._value(reply)
        if value is None and (refused or name in self._by_round):
            return
        spent = _number(value)
        if spent is None:
            raise BadInput(
                f"the reply says nothing usable under {self._rule.where}; it must be a number that is not "
                "negative: fix or leave out service.spent"
            )
        with self._lock:
            self._by_round[name] = spent

    def of(self, name: str) -> float:
        """Return what a round reported last; 0 if it reported nothing, because nothing was answered."""
        return self._by_round.get(name, 0.0)

    def forget(self, name: str) -> None:
        """Drop the number of a closed round."""
        self._by_round.pop(name, None)

    def _value(self, reply: HttpReply) -> Any:
        if self._rule.header is not None:
            return reply.headers.get(self._rule.header)
        assert self._rule.field is not None
        try:
            return field_at(reply.body, self._rule.field)
        except (KeyError, UnclearReply):
            return None


def _number(value: Any) -> float | None:
    """Return a finite number that is not negative; also from its text, as headers have it.

    >>> _number("0.75"), _number(2), _number("much"), _number(-1), _number(None)
    (0.75, 2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < math.inf else None
