"""The adapter: opens rounds at a service, puts questions to them, and closes them."""

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

Found = TypeVar("Found")

ABANDON_TIMEOUT = 3.0  # seconds for closing rounds when something went wrong


class ServiceAdapter:
    """Speaks to a service as the plan says, about many rounds at a time.

    A question is put to all rounds before the next one to any. What is lost ends in ``ReleaseLost``: half
    of a round is no round.
    """

    def __init__(self, service: QueriesServiceTable) -> None:
        require_httpx()
        self.service, self._sender = service, HttpClient(service)
        self._token = token_of(service)
        self._opened: dict[str, PlaceholderValues] = {}  # rounds, by what the service calls them
        self._finished: list[PlaceholderValues] = []
        self._lock = Lock()
        self._understood: set[str] = set()  # the requests to which a reply was once understood

    @property
    def sent(self) -> int:
        """How many requests were sent so far."""
        return self._sender.meter.sent

    def open(self, tables: Sequence[PlaceholderValues]) -> list[PlaceholderValues]:
        """Open a round for each of some tables, after those were closed that are of no more use."""
        self._close([self._finished.pop() for _ in range(len(self._finished))], math.inf)
        template = self.service.open
        if template is None:
            return list(tables)
        return self._sender.each(lambda i: self._open_one(template, tables[i]), len(tables))

    def ask(self, rounds: Sequence[PlaceholderValues], question: PlaceholderValues) -> Reals:
        """Put a question to every round: an answer for each, NaN where it is refused."""
        return np.array(self._sender.each(lambda i: self._ask_one(rounds[i], question), len(rounds)))

    def finish(self, rounds: Sequence[PlaceholderValues]) -> None:
        """Take note that nobody will ask in these rounds any more."""
        self._finished.extend(rounds)

    def end(self) -> None:
        """Close what is open, for a block was played."""
        self._sender.meter.useful = True
        self._finished.clear()
        self._close(list(self._opened.values()), math.inf)
        self._sender.close()

    def abandon(self) -> None:
        """Close what can be closed in a moment, for something went wrong."""
        self._finished.clear()
        self._close(list(self._opened.values()), monotonic() + ABANDON_TIMEOUT)
        self._sender.close()

    def _open_one(self, template: OpenRequest, table: PlaceholderValues) -> PlaceholderValues:
        def understand(reply: HttpReply) -> str:
            require_success(reply)
            name = self._field(reply, template.round, "open.round")
            if isinstance(name, bool) or not isinstance(name, int | str) or name in ("", ".", ".."):
                raise UnclearReply("a round without a name")
            return str(name)

        name = self._send(template, table, understand, again=True)  # one that nobody asks is no harm
        with self._lock:
            if name in self._opened:
                raise BadInput(
                    "challenger.service.open: two rounds got the same name: they are not independent; "
                    "each needs a table and a budget of its own"
                )
            self._opened[name] = {**table, "round": name}
        return self._opened[name]

    def _ask_one(self, words: PlaceholderValues, question: PlaceholderValues) -> float:
        template, refused = self.service.asking, self.service.refused
        assert refused is not None

        def understand(reply: HttpReply) -> float:
            if is_refusal(reply, refused):
                if self.service.open is None:
                    raise BadInput(
                        "the service refuses, though without open no round has a budget of its own; lift its "
                        "limit, or add open"
                    )
                return math.nan
            require_success(reply)
            return finite_answer(self._field(reply, template.answer, "ask.answer"))

        return self._send(template, {**words, **question}, understand, again="request" in template.places)

    def _close(self, wanted: Sequence[PlaceholderValues], deadline: float) -> None:
        """Close rounds as well as that can be done: if one cannot be closed, the others are left as well."""
        rounds = [words for words in wanted if self._opened.get(words.get("round", "")) is words]
        for words in rounds:
            del self._opened[words["round"]]
        template = self.service.close
        if template is None or not rounds:
            return

        def close(i: int) -> None:
            if monotonic() < deadline:
                self._send(template, rounds[i], _ignore, again=False, tries=1)

        with suppress(ReleaseLost, IncompleteRun, BadInput):
            self._sender.each(close, len(rounds))

    def _send(
        self,
        template: RequestTemplate,
        words: PlaceholderValues,
        understand: Callable[[HttpReply], Found],
        *,
        again: bool,
        tries: int | None = None,
    ) -> Found:
        call = template.fill({**words, "request": secrets.token_hex(16)}, self._token)
        url = self.service.url_of(words["world"] or "")
        try:
            found = self._sender.send(url, call, understand, again=again, tries=tries or self.service.tries)
        except UnknownToService as error:
            if call.name in self._understood:
                raise ReleaseLost(f"{call.name}: {self._hidden(error)}") from None
            raise BadInput(
                f"challenger.service: {call.name}: {self._hidden(error)}; check its path"
            ) from None
        except BadInput as error:
            raise BadInput(self._hidden(error)) from None
        self._understood.add(call.name)
        return found

    def _field(self, reply: HttpReply, path: str, where: str) -> object:
        try:
            found = field_at(reply.body, path)
        except KeyError:
            if where in self._understood:
                raise UnclearReply(f"a reply without {path!r}") from None
            keys = ", ".join(map(repr, reply.body)) if isinstance(reply.body, dict) else "no table"
            raise BadInput(f"the reply has no {path!r} but {keys}; check {where}") from None
        self._understood.add(where)
        return found

    def _hidden(self, error: Exception) -> str:
        """What an error says, without the token, should the service have repeated it."""
        return str(error) if self._token is None else str(error).replace(self._token, "(token)")


def _ignore(_: HttpReply) -> None:
    pass
