"""The oracle as an HTTP application: clients with the token open, query and close rounds."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.service.rounds import ServiceRounds, UnknownRound
from leakgauge.support.table_reader import read_dataclass

if TYPE_CHECKING:
    from fastapi import FastAPI

LARGEST_BODY = 4_000_000  # bytes
LONGEST_REQUEST = 200  # characters of a key

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


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
        return Query(kind=self.kind, column=self.column, bound=self.bound, where=self.where, ids=self.ids)


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
            return JSONResponse({"refused": "the budget of this round is used up"}, 403)
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
