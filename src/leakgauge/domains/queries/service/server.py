"""The oracle as an HTTP service on this machine: clients with the token open, query and close rounds.

The open rounds are kept in memory, with an oracle and its replies for each.
"""

import os
import secrets
import signal
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hmac import compare_digest
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.challenger import Challenger, control_group
from leakgauge.domains.queries.oracle import LocalOracle, OracleRules
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.records import Ints, OracleTable
from leakgauge.support.table_reader import read_dataclass

if TYPE_CHECKING:
    from fastapi import FastAPI

MOST_OPEN = 20_000  # rounds; beyond that, the round idle for longest is dropped
MOST_QUESTIONS = 100_000  # in a round

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

Answer: TypeAlias = float | list[float | None] | None  # or one of each group; nothing: refused

LARGEST_BODY = 4_000_000  # bytes
LONGEST_REQUEST = 200  # characters of a key
HOST = "127.0.0.1"  # this machine only: the answers depend on who is in the data
TOKEN_VARIABLE = "LEAKGAUGE_TOKEN"
SHUTDOWN_SECONDS = 5  # for requests in progress when the service is stopped


class UnknownRound(Exception):
    """A round is not open: it was closed or dropped, or the service was restarted."""


@dataclass(frozen=True, eq=False)
class _Round:
    """An oracle with one round, and its queries and replies by request key; no reply means refused."""

    oracle: LocalOracle
    replies: dict[str | int, tuple[Query, Answer]] = field(default_factory=dict)


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

    def ask(self, name: str, query: Query, request: str | None) -> Answer:
        """Return the answer, or nothing if it is refused; a repeated request gets the same reply.

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
            numbers = round_.oracle.ask(query)[0]
            reply: Answer = [None if np.isnan(one) else float(one) for one in np.atleast_1d(numbers)]
            if np.isnan(numbers).all():
                reply = None
            elif numbers.ndim == 0:
                reply = float(numbers)
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


def _earlier_reply(round_: _Round, query: Query, request: str) -> Answer:
    earlier, reply = round_.replies[request]
    if earlier != query:
        raise BadInput(f"request: {request!r} was used for another query of this round; use a new key")
    return reply


class BodySizeLimit:
    """Middleware that reads request bodies up to a limit, whatever length is declared."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_BODY:
                await _reject_body(send)
                return

        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)


async def _reject_body(send: Send) -> None:
    content = b'{"error": "the body is larger than 4 MB"}'
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": content})


@dataclass(frozen=True, kw_only=True)
class _Opening:
    """The ids that are not in the table of a new round."""

    absent: tuple[Id, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Question(Query):
    """A query, and a key under which its reply can be requested again."""

    request: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.request is not None and not 1 <= len(self.request) <= LONGEST_REQUEST:
            raise BadInput(f"request must have 1 to {LONGEST_REQUEST} characters")

    @property
    def query(self) -> Query:
        return Query(
            kind=self.kind,
            column=self.column,
            bound=self.bound,
            where=self.where,
            ids=self.ids,
            group_by=self.group_by,
            groups=self.groups,
            edges=self.edges,
        )


def build_app(rounds: ServiceRounds, token: str) -> "FastAPI":
    """Build the application; every path but ``/health`` requires the token."""
    from fastapi import Body, Depends, FastAPI, Header, HTTPException
    from fastapi.responses import JSONResponse

    def require_token(authorization: Annotated[str, Header()] = "") -> None:
        if not compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})

    app = FastAPI(title="leakgauge oracle", openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(BodySizeLimit)
    with_token = [Depends(require_token)]

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/rounds", status_code=201, dependencies=with_token)
    def open_round(body: Annotated[dict[str, Any], Body()]) -> dict[str, str]:
        return {"round": rounds.open(read_dataclass(_Opening, body, "round").absent)}

    @app.post("/rounds/{name}/ask", dependencies=with_token)
    def ask(name: str, body: Annotated[dict[str, Any], Body()]) -> JSONResponse:
        question = read_dataclass(_Question, body, "query")
        answer = rounds.ask(name, question.query, question.request)
        if answer is None:
            return JSONResponse({"refused": rounds.refusal}, 403)
        return JSONResponse({"answer": answer})

    @app.delete("/rounds/{name}", status_code=204, dependencies=with_token)
    def close_round(name: str) -> None:
        rounds.close(name)

    _add_error_handlers(app)
    return app


def _add_error_handlers(app: "FastAPI") -> None:
    """Reply to errors with one line."""
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse

    @app.exception_handler(BadInput)
    def bad_input(_: Request, error: BadInput) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    def no_table(_: Request, __: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": "the body must be one JSON object"}, 422)

    @app.exception_handler(UnknownRound)
    def no_round(_: Request, __: UnknownRound) -> JSONResponse:
        return JSONResponse({"error": "no such round is open; open a new one"}, 404)


def require_fastapi() -> None:
    """Refuse to serve where the libraries for it are missing."""
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise BadInput(f"{' and '.join(missing)} not installed; run: pip install 'leakgauge[service]'")


def read_token() -> tuple[str, bool]:
    """Return the token of the environment, or a generated one; and whether it was generated."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token is None:
        return secrets.token_urlsafe(24), True
    if not token.strip() or not token.isascii() or not token.isprintable():
        raise BadInput(f"{TOKEN_VARIABLE}: a token consists of visible ASCII characters; fix or unset it")
    return token, False


def listen(port: int) -> socket.socket:
    """Open the listening socket; 0 is any free port."""
    if not 0 <= port < 2**16:
        raise BadInput(f"port must be in 0..65535, got {port}")
    # With the protocol named, asyncio sets TCP_NODELAY, so that short replies are sent at once.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise BadInput(f"port {port} cannot be used ({error.strerror}); choose another --port") from None
    listener.listen(128)
    return listener


def serve_challenger(
    challenger: Challenger, *, port: int, announce: Callable[[str, str | None], None]
) -> None:
    """Serve the oracle of a challenger; ``announce`` gets the address and a token, if one was generated."""
    token, generated = read_token()
    listener = listen(port)
    host, free_port = listener.getsockname()
    announce(f"http://{host}:{free_port}", token if generated else None)
    serve(service_rounds(challenger), token, listener)


def serve(rounds: ServiceRounds, token: str, listener: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM; nothing is stored."""
    import uvicorn

    config = uvicorn.Config(
        build_app(rounds, token),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        server_header=False,
    )
    with listener, _ended_by_signals():
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ignore the signals that the server raises again after it was stopped by them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, lambda *_: None)
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
