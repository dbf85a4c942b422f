"""The adapter: opens rounds at a service, puts questions to them, and closes them."""

import math
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TypeVar

import numpy as np

from leakgauge.core.errors import BadInput, IncompleteRun, Lost
from leakgauge.core.game import Reals
from leakgauge.domains.queries.remote.replies import (
    Gone,
    Reply,
    Unclear,
    is_refusal,
    number,
    pick,
    require_done,
)
from leakgauge.domains.queries.remote.sending import Sender, require_libraries, token_of
from leakgauge.domains.queries.remote.service import Open, Service
from leakgauge.domains.queries.remote.templates import Template, Words

Found = TypeVar("Found")

FAREWELL = 3.0  # seconds for closing rounds when something went wrong


class Adapter:
    """Speaks to a service as the plan says, about many rounds at a time.

    A question is put to all rounds before the next one to any. What is lost ends in ``Lost``: half of a round
    is no round.
    """

    def __init__(self, service: Service) -> None:
        require_libraries()
        self.service, self._sender = service, Sender(service)
        self._token = token_of(service)
        self._opened: dict[str, Words] = {}  # rounds, by what the service calls them
        self._finished: list[Words] = []
        self._lock = Lock()
        self._understood: set[str] = set()  # the requests to which a reply was once understood

    @property
    def sent(self) -> int:
        """How many requests were sent so far."""
        return self._sender.meter.sent

    def open(self, tables: Sequence[Words]) -> list[Words]:
        """Open a round for each of some tables, after those were closed that are of no more use."""
        self._close([self._finished.pop() for _ in range(len(self._finished))], math.inf)
        template = self.service.open
        if template is None:
            return list(tables)
        return self._sender.each(lambda i: self._open_one(template, tables[i]), len(tables))

    def ask(self, rounds: Sequence[Words], question: Words) -> Reals:
        """Put a question to every round: an answer for each, NaN where it is refused."""
        return np.array(self._sender.each(lambda i: self._ask_one(rounds[i], question), len(rounds)))

    def finish(self, rounds: Sequence[Words]) -> None:
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
        self._close(list(self._opened.values()), monotonic() + FAREWELL)
        self._sender.close()

    def _open_one(self, template: Open, table: Words) -> Words:
        def understand(reply: Reply) -> str:
            require_done(reply)
            name = self._field(reply, template.round, "open.round")
            if isinstance(name, bool) or not isinstance(name, int | str) or name in ("", ".", ".."):
                raise Unclear("a round without a name")
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

    def _ask_one(self, words: Words, question: Words) -> float:
        template, refused = self.service.asking, self.service.refused
        assert refused is not None

        def understand(reply: Reply) -> float:
            if is_refusal(reply, refused):
                if self.service.open is None:
                    raise BadInput(
                        "the service refuses, though without open no round has a budget of its own; lift its "
                        "limit, or add open"
                    )
                return math.nan
            require_done(reply)
            return number(self._field(reply, template.answer, "ask.answer"))

        return self._send(template, {**words, **question}, understand, again="request" in template.places)

    def _close(self, wanted: Sequence[Words], deadline: float) -> None:
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

        with suppress(Lost, IncompleteRun, BadInput):
            self._sender.each(close, len(rounds))

    def _send(
        self,
        template: Template,
        words: Words,
        understand: Callable[[Reply], Found],
        *,
        again: bool,
        tries: int | None = None,
    ) -> Found:
        call = template.fill({**words, "request": secrets.token_hex(16)}, self._token)
        url = self.service.url_of(words["world"] or "")
        try:
            found = self._sender.send(url, call, understand, again=again, tries=tries or self.service.tries)
        except Gone as error:
            if call.name in self._understood:
                raise Lost(f"{call.name}: {self._hidden(error)}") from None
            raise BadInput(
                f"challenger.service: {call.name}: {self._hidden(error)}; check its path"
            ) from None
        except BadInput as error:
            raise BadInput(self._hidden(error)) from None
        self._understood.add(call.name)
        return found

    def _field(self, reply: Reply, path: str, where: str) -> object:
        try:
            found = pick(reply.body, path)
        except KeyError:
            if where in self._understood:
                raise Unclear(f"a reply without {path!r}") from None
            keys = ", ".join(map(repr, reply.body)) if isinstance(reply.body, dict) else "no table"
            raise BadInput(f"the reply has no {path!r} but {keys}; check {where}") from None
        self._understood.add(where)
        return found

    def _hidden(self, error: Exception) -> str:
        """What an error says, without the token, should the service have repeated it."""
        return str(error) if self._token is None else str(error).replace(self._token, "(token)")


def _ignore(_: Reply) -> None:
    pass
