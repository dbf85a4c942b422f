"""The service that a plan names: its address, its requests, and how many may be sent."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, ClassVar
from urllib.parse import urlsplit

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.remote.request_templates import (
    QUESTION,
    REQUEST,
    ROUND,
    TABLES,
    HttpMethod,
    RequestTemplate,
    placeholders,
)


def require_safe_url(url: str) -> None:
    """Refuse an address where a token or an answer could be read on its way, or written down."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadInput(f"url = {url!r}: is no address; write http://127.0.0.1:8700") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise BadInput(f"url = {url!r}: is no address; write http://127.0.0.1:8700")
    if parts.username is not None or parts.password is not None:
        raise BadInput("url: holds a name or password, which would be written to the manifest; use token")
    if parts.scheme == "http" and not _loopback(host):
        raise BadInput(
            f"url = {url!r}: another machine is asked over https only, for answers and tokens could be read "
            "on their way; http is for 127.0.0.1"
        )


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


TOO_MANY_REQUESTS = 429  # requests: by itself, no evidence
NEVER_REFUSALS = (401, 404, 407, 408, 410)  # statuses that tell of tokens, routes and restarts


@dataclass(frozen=True, kw_only=True)
class OpenRequest(RequestTemplate):
    """How a round is opened; ``round`` is where the reply says what it is called."""

    round: str = "round"

    known: ClassVar[Mapping[str, str]] = TABLES | REQUEST


@dataclass(frozen=True, kw_only=True)
class AskRequest(RequestTemplate):
    """How a question is put; ``answer`` is where the reply holds the number."""

    answer: str = "answer"

    known: ClassVar[Mapping[str, str]] = TABLES | ROUND | QUESTION | REQUEST


@dataclass(frozen=True, kw_only=True)
class CloseRequest(RequestTemplate):
    """How a round is closed."""

    known: ClassVar[Mapping[str, str]] = TABLES | ROUND | REQUEST


@dataclass(frozen=True, kw_only=True)
class RefusalRule:
    """How a refusal is told from all else: by its status, by a field of the reply, or by both.

    A field that ``equals`` nothing in particular need only be there, and be neither null nor false. Without a
    status, refusals are looked for in replies that report success.
    """

    status: int | None = None
    field: str | None = None
    equals: Any = None

    def __post_init__(self) -> None:
        if self.status is None and self.field is None:
            raise BadInput("a refusal is told by status, by field, or by both; add one")
        if self.status == TOO_MANY_REQUESTS and self.field is None:
            raise BadInput(
                f"status = {self.status}: asks for patience as often as it refuses; name the field that tells"
            )
        if self.status is not None and (not 200 <= self.status < 500 or self.status in NEVER_REFUSALS):
            raise BadInput(
                f"status = {self.status}: replies of that kind tell of faults, which are no evidence; have "
                "the service refuse by another one, such as 403"
            )


SERVE_ORACLE_REQUESTS = {
    "open": OpenRequest(path="/rounds", json={"absent": "{absent}"}),
    "ask": AskRequest(
        path="/rounds/{round}/ask",
        json={
            "kind": "{kind}",
            "column": "{column}",
            "bound": "{bound}",
            "where": "{predicate}",
            "ids": "{ids}",
            "request": "{request}",
        },
    ),
    "close": CloseRequest(method=HttpMethod.DELETE, path="/rounds/{round}"),
    "refused": RefusalRule(status=403, field="refused"),
}


@dataclass(frozen=True, kw_only=True)
class QueriesServiceTable:
    """A service of the owner's; one that ``leakgauge serve-oracle`` serves, unless ``ask`` says otherwise.

    ``token`` names an environment variable. ``rate`` is requests per second, ``total`` all that an audit may
    send whenever it is started, ``tries`` how often one is sent.
    """

    url: str
    token: str | None = None
    rate: float = 100.0
    total: int = 100_000
    connections: int = 4
    timeout: float = 10.0
    tries: int = 5
    worlds: tuple[str, str] = ("without", "with")
    table: str = "records"
    open: OpenRequest | None = None
    ask: AskRequest | None = None
    close: CloseRequest | None = None
    refused: RefusalRule | None = None

    def __post_init__(self) -> None:
        for name in ("rate", "timeout"):
            if not 0 < getattr(self, name) < math.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {getattr(self, name)}")
        for name, most in {"total": 10**9, "connections": 64, "tries": 100}.items():
            if not 1 <= getattr(self, name) <= most:
                raise BadInput(f"{name} must be in 1..{most}, got {getattr(self, name)}")
        if self.worlds[0] == self.worlds[1]:
            raise BadInput(f"worlds must differ, got {self.worlds[0]!r} twice")
        for place in placeholders(self.url) - {"world"}:
            raise BadInput(f"url: {{{place}}} cannot stand here; only {{world}} can")
        for world in self.worlds:
            require_safe_url(self.url_of(world))
        if self.ask is None:
            for name in ("open", "close", "refused"):
                if getattr(self, name) is not None:
                    raise BadInput(f"{name} without ask: say how a question is put as well; add ask = ...")
            for name, template in SERVE_ORACLE_REQUESTS.items():
                object.__setattr__(self, name, template)
        if self.refused is None:
            object.__setattr__(self, "refused", RefusalRule(status=403))
        self._require_worlds()
        self._require_question()
        if self.token is None and "token" in self._places:
            raise BadInput("a header says {token}, but there is none; name its environment variable by token")

    @property
    def asking(self) -> AskRequest:
        assert self.ask is not None
        return self.ask

    @property
    def by_world(self) -> bool:
        """Whether the service is told of a world by its name, and not of targets by their ids."""
        return "world" in self._places

    @property
    def _places(self) -> set[str]:
        templates = [template for template in (self.open, self.ask, self.close) if template is not None]
        return placeholders(self.url).union(*(template.places for template in templates))

    def url_of(self, world: str) -> str:
        return self.url.replace("{world}", world).rstrip("/")

    def _require_worlds(self) -> None:
        """Refuse templates by which every round would be about the same table."""
        where, telling = ("ask", self.asking) if self.open is None else ("open", self.open)
        if not (telling.places | placeholders(self.url)) & {"absent", "present", "world"}:
            raise BadInput(
                f"{where}: says nothing of who is in the table, so that all rounds would be alike; put "
                "{absent}, {present} or {world} somewhere"
            )
        if self.open is not None and "round" not in self.asking.places:
            raise BadInput("ask: does not say in which round; put {round} somewhere, or leave out open")
        if self.open is None and "round" in self.asking.places:
            raise BadInput("ask: {round} needs a round that was opened; add open = ...")
        if self.open is None and self.close is not None:
            raise BadInput("close: no round is ever opened; leave it out, or add open = ...")

    def _require_question(self) -> None:
        if not self.asking.places & {"where", "predicate", "ids", "sql"}:
            raise BadInput("ask: does not say what is asked; put {where}, {ids} or {sql} somewhere")
