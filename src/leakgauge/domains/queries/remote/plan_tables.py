"""The service table of a plan: its address, its requests, and how many may be sent."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Any, ClassVar
from urllib.parse import urlsplit

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.remote import request_templates


def require_safe_url(url: str) -> None:
    """Refuse an address that would expose tokens or answers in transit or in the manifest."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadInput(
            f"url = {url!r}: is not an address; write, for example, http://127.0.0.1:8700"
        ) from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise BadInput(f"url = {url!r}: is not an address; write, for example, http://127.0.0.1:8700")
    if parts.username is not None or parts.password is not None:
        raise BadInput("url: contains a name or password, which would be stored in the manifest; use token")
    if parts.scheme == "http" and not _loopback(host):
        raise BadInput(
            f"url = {url!r}: other machines are reached over https only, because answers and tokens could be "
            "read in transit; use https, or a service on 127.0.0.1"
        )


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


TOO_MANY_REQUESTS = 429  # also asks to slow down, so alone it is not a refusal
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # the name of an environment variable
NEVER_REFUSALS = (401, 404, 407, 408, 410)  # statuses about tokens, routes and restarts


@dataclass(frozen=True, kw_only=True)
class OpenRequest(request_templates.RequestTemplate):
    """How a round is opened; ``round`` is the field of the reply with its name."""

    round: str = "round"

    known: ClassVar[Mapping[str, str]] = request_templates.TABLES | request_templates.REQUEST


@dataclass(frozen=True, kw_only=True)
class AskRequest(request_templates.RequestTemplate):
    """How a query is sent; ``answer`` is the field of the reply with the number."""

    answer: str = "answer"

    known: ClassVar[Mapping[str, str]] = (
        request_templates.TABLES
        | request_templates.ROUND
        | request_templates.QUESTION
        | request_templates.REQUEST
    )


@dataclass(frozen=True, kw_only=True)
class CloseRequest(request_templates.RequestTemplate):
    """How a round is closed."""

    known: ClassVar[Mapping[str, str]] = (
        request_templates.TABLES | request_templates.ROUND | request_templates.REQUEST
    )


@dataclass(frozen=True, kw_only=True)
class RefusalRule:
    """How a refusal is recognized: by its status, by a field of the reply, or by both.

    Without ``equals``, the field must be present, and neither null nor false. Without a status, only replies
    that report success can be refusals.
    """

    status: int | None = None
    field: str | None = None
    equals: Any = None

    def __post_init__(self) -> None:
        if self.status is None and self.field is None:
            raise BadInput("a refusal is recognized by status, by field, or by both; add one")
        if self.status == TOO_MANY_REQUESTS and self.field is None:
            raise BadInput(
                f"status = {self.status}: also asks to slow down; add the field that marks a refusal"
            )
        if self.status is not None and (not 200 <= self.status < 500 or self.status in NEVER_REFUSALS):
            raise BadInput(
                f"status = {self.status}: reports a fault, which is not a refusal; use another status for "
                "refusals, such as 403"
            )


@dataclass(frozen=True, kw_only=True)
class SpentRule:
    """Where the replies to queries say what the service has spent in a round: in a field or in a header."""

    field: str | None = None
    header: str | None = None

    def __post_init__(self) -> None:
        if (self.field is None) == (self.header is None):
            raise BadInput("the epsilon spent is read from a field or from a header; name one of the two")

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"field {self.field!r}" if self.header is None else f"header {self.header!r}"


class ControlKind(StrEnum):
    """How the positive control makes the true answers of the two worlds differ by 20 noise scales."""

    ABSENT = "absent"  # the service leaves out further records with the target
    QUESTIONS = "questions"  # questions select further records in rounds with the target
    NONE = "none"  # there is no positive control


class SumForm(StrEnum):
    """How ``{sql}`` writes a sum."""

    CLIPPED = "clipped"  # every value is clipped to the bound in the query
    PLAIN = "plain"  # SUM(column): the service clips values to the same bound itself


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
            "group_by": "{group_by}",
            "groups": "{groups}",
            "edges": "{edges}",
            "request": "{request}",
        },
    ),
    "close": CloseRequest(method=request_templates.HttpMethod.DELETE, path="/rounds/{round}"),
    "refused": RefusalRule(status=403, field="refused"),
}


@dataclass(frozen=True, kw_only=True)
class QueriesServiceTable:
    """The owner's service; by default one started with ``leakgauge serve-oracle``, otherwise ``ask`` is set.

    ``token`` names an environment variable. ``rate`` is requests per second, ``total`` the requests of an
    audit each time it is started, ``tries`` how often one request is sent at most. ``control`` is by
    default "absent" for ``leakgauge serve-oracle``, else "questions".
    """

    url: str
    token: str | None = None
    rate: float = 100.0
    total: int = 100_000
    connections: int = 4
    timeout: float = 10.0
    tries: int = 5
    control: ControlKind | None = None
    worlds: tuple[str, str] = ("without", "with")
    table: str = "records"
    sums: SumForm = SumForm.CLIPPED
    open: OpenRequest | None = None
    ask: AskRequest | None = None
    close: CloseRequest | None = None
    refused: RefusalRule | None = None
    spent: SpentRule | None = None
    suppressed: RefusalRule | None = None  # how a count below the smallest is reported, if not as refused

    @property
    def requests_per_session(self) -> int:
        """How many requests open and close a round."""
        return sum(template is not None for template in (self.open, self.close))

    def __post_init__(self) -> None:
        for name in ("rate", "timeout"):
            if not 0 < getattr(self, name) < math.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {getattr(self, name)}")
        for name, most in {"total": 10**9, "connections": 64, "tries": 100}.items():
            if not 1 <= getattr(self, name) <= most:
                raise BadInput(f"{name} must be in 1..{most}, got {getattr(self, name)}")
        if self.token is not None and not _VARIABLE.fullmatch(self.token):
            raise BadInput(  # without the value, which may be the token itself
                "token: must be the name of an environment variable, in letters, digits and _, not the token "
                'itself, which would be stored with the plan; write token = "OUR_TOKEN" and export OUR_TOKEN'
            )
        if self.worlds[0] == self.worlds[1]:
            raise BadInput(f"worlds must differ, got {self.worlds[0]!r} twice")
        for place in request_templates.placeholders(self.url) - {"world"}:
            raise BadInput(f"url: {{{place}}} is not allowed here; only {{world}} is")
        for world in self.worlds:
            require_safe_url(self.url_of(world))
        if self.control is None:
            default = ControlKind.ABSENT if self.ask is None else ControlKind.QUESTIONS
            object.__setattr__(self, "control", default)
        if self.ask is None:
            for name in ("open", "close", "refused"):
                if getattr(self, name) is not None:
                    raise BadInput(f"{name} without ask: the request of a query is missing; add ask = ...")
            for name, template in SERVE_ORACLE_REQUESTS.items():
                object.__setattr__(self, name, template)
        if self.refused is None:
            object.__setattr__(self, "refused", RefusalRule(status=403))
        self._require_worlds()
        self._require_question()
        if self.sums is SumForm.PLAIN and "sql" not in self.asking.places:
            raise BadInput('sums = "plain": only {sql} contains a sum; use it, or leave sums out')
        if self.control is ControlKind.ABSENT and "absent" not in self._places:
            raise BadInput(
                'control = "absent": the service must be told which records to leave out; use {absent}, or '
                'control = "questions"'
            )
        if self.token is None and "token" in self._places:
            raise BadInput(
                "a header uses {token}, but there is none; set token to the name of an environment variable"
            )

    @property
    def asking(self) -> AskRequest:
        assert self.ask is not None
        return self.ask

    @property
    def by_world(self) -> bool:
        """Whether requests name a world instead of the ids of targets."""
        return "world" in self._places

    @property
    def _places(self) -> set[str]:
        templates = [template for template in (self.open, self.ask, self.close) if template is not None]
        return request_templates.placeholders(self.url).union(*(template.places for template in templates))

    def url_of(self, world: str) -> str:
        return self.url.replace("{world}", world).rstrip("/")

    def _require_worlds(self) -> None:
        """Refuse templates that would use the same table in every round."""
        where, template_of_world = ("ask", self.asking) if self.open is None else ("open", self.open)
        if not (template_of_world.places | request_templates.placeholders(self.url)) & {
            "absent",
            "present",
            "world",
        }:
            raise BadInput(
                f"{where}: does not state which targets are in the table, so that all rounds would be alike; "
                "use {absent}, {present} or {world}"
            )
        if self.open is not None and "round" not in self.asking.places:
            raise BadInput("ask: does not state the round; use {round}, or leave out open")
        if self.open is None and "round" in self.asking.places:
            raise BadInput("ask: {round} needs an open round; add open = ...")
        if self.open is None and self.close is not None:
            raise BadInput("close: no round is ever opened; leave it out, or add open = ...")
        if self.open is None and self.spent is not None:
            raise BadInput(
                "spent: without open, no round has an account of its own; leave it out, or add open = ..."
            )

    def _require_question(self) -> None:
        if not self.asking.places & {"where", "predicate", "ids", "sql"}:
            raise BadInput("ask: does not contain the query; use {where}, {ids} or {sql}")
