"""The service adapter: opens rounds at a service, sends queries to them, and closes them."""

import math
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TypeVar

import numpy as np

from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import Reals
from leakgauge.domains.queries.remote.http_client import HttpClient, require_httpx, token_of
from leakgauge.domains.queries.remote.plan_tables import OpenRequest, QueriesServiceTable
from leakgauge.domains.queries.remote.replies import (
    HttpReply,
    UnclearReply,
    UnknownToService,
    field_at,
    finite_answer,
    is_refusal,
    require_success,
)
from leakgauge.domains.queries.remote.request_templates import PlaceholderValues, RequestTemplate

Result = TypeVar("Result")

ABANDON_TIMEOUT = 3.0  # seconds for closing rounds when something went wrong


class ServiceAdapter:
    """Sends the requests of a plan to a service, for many rounds at a time.

    A query is sent to all rounds before the next query is sent to any. A lost reply raises ``ReleaseLost``,
    because an incomplete round is not used.
    """

    def __init__(self, service: QueriesServiceTable) -> None:
        require_httpx()
        self.service, self._sender = service, HttpClient(service)
        self._token = token_of(service)
        self._opened: dict[str, PlaceholderValues] = {}  # rounds, by the name that the service gave them
        self._finished: list[PlaceholderValues] = []
        self._lock = Lock()
        self._understood: set[str] = set()  # requests and fields of which a reply was understood before

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

    def finish(self, rounds: Sequence[PlaceholderValues]) -> None:
        """Mark rounds as finished, so that they are closed later."""
        self._finished.extend(rounds)

    def end(self) -> None:
        """Close all rounds after a completed block."""
        self._sender.meter.useful = True
        self._finished.clear()
        self._close(list(self._opened.values()), math.inf)
        self._sender.close()

    def abandon(self) -> None:
        """Close rounds after a failure, as far as possible within a short timeout."""
        self._finished.clear()
        self._close(list(self._opened.values()), monotonic() + ABANDON_TIMEOUT)
        self._sender.close()

    def _open_one(self, template: OpenRequest, table: PlaceholderValues) -> PlaceholderValues:
        def interpret(reply: HttpReply) -> str:
            require_success(reply)
            name = self._field(reply, template.round, "open.round")
            if isinstance(name, bool) or not isinstance(name, int | str) or name in ("", ".", ".."):
                raise UnclearReply("a round without a name")
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

        def interpret(reply: HttpReply) -> float:
            if is_refusal(reply, refused):
                if self.service.open is None:
                    raise BadInput(
                        "the service refuses, but without open no round has its own budget; remove the limit "
                        "of the service, or add open"
                    )
                return math.nan
            require_success(reply)
            return finite_answer(self._field(reply, template.answer, "ask.answer"))

        return self._send(
            template, {**values, **question}, interpret, repeatable="request" in template.places
        )

    def _close(self, wanted: Sequence[PlaceholderValues], deadline: float) -> None:
        """Try to close rounds; if one cannot be closed, the others are left open too."""
        rounds = [values for values in wanted if self._opened.get(values.get("round", "")) is values]
        for values in rounds:
            del self._opened[values["round"]]
        template = self.service.close
        if template is None or not rounds:
            return

        def close(i: int) -> None:
            if monotonic() < deadline:
                self._send(template, rounds[i], _ignore, repeatable=False, tries=1)

        with suppress(ReleaseLost, IncompleteRun, BadInput):
            self._sender.each(close, len(rounds))

    def _send(
        self,
        template: RequestTemplate,
        values: PlaceholderValues,
        interpret: Callable[[HttpReply], Result],
        *,
        repeatable: bool,
        tries: int | None = None,
    ) -> Result:
        call = template.fill({**values, "request": secrets.token_hex(16)}, self._token)
        url = self.service.url_of(values["world"] or "")
        try:
            result = self._sender.send(
                url, call, interpret, repeatable=repeatable, tries=tries or self.service.tries
            )
        except UnknownToService as error:
            if call.name in self._understood:
                raise ReleaseLost(f"{call.name}: {self._without_token(error)}") from None
            raise BadInput(
                f"challenger.service: {call.name}: {self._without_token(error)}; check its path"
            ) from None
        except BadInput as error:
            raise BadInput(self._without_token(error)) from None
        self._understood.add(call.name)
        return result

    def _field(self, reply: HttpReply, path: str, where: str) -> object:
        try:
            result = field_at(reply.body, path)
        except KeyError:
            if where in self._understood:
                raise UnclearReply(f"a reply without {path!r}") from None
            keys = ", ".join(map(repr, reply.body)) if isinstance(reply.body, dict) else "no table"
            raise BadInput(f"the reply has no {path!r} but {keys}; check {where}") from None
        self._understood.add(where)
        return result

    def _without_token(self, error: Exception) -> str:
        """Return the message of an error without the token, which the service may have repeated."""
        return str(error) if self._token is None else str(error).replace(self._token, "(token)")


def _ignore(_: HttpReply) -> None:
    pass
