"""The HTTP interface of the oracle service: clients with the token open, query and close rounds."""

from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Annotated, Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.service import request_limits
from leakgauge.domains.queries.service.openapi import openapi_document
from leakgauge.domains.queries.service.rounds import ServiceRounds, UnknownRound
from leakgauge.support.table_reader import read_dataclass

if TYPE_CHECKING:
    from fastapi import FastAPI


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
        if len(self.groups or self.edges or ()) > request_limits.MOST_GROUPS:
            raise BadInput(f"at most {request_limits.MOST_GROUPS:,} groups or edges are answered at once")
        if self.request is not None and not 1 <= len(self.request) <= request_limits.LONGEST_KEY:
            raise BadInput(f"request must have 1 to {request_limits.LONGEST_KEY} characters")

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
    """Build the application; every path but ``/health`` and ``/openapi.json`` requires the token."""
    from fastapi import Body, Depends, FastAPI, Header, HTTPException
    from fastapi.responses import JSONResponse

    def require_token(authorization: Annotated[str, Header()] = "") -> None:
        if not compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_middleware(request_limits.BodyLimits)
    with_token = [Depends(require_token)]

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/openapi.json")
    def describe() -> dict[str, Any]:
        return openapi_document()

    @app.post("/rounds", status_code=201, dependencies=with_token)
    def open_round(body: Annotated[dict[str, Any], Body()]) -> dict[str, str]:
        return {"round": rounds.open(read_dataclass(_Opening, body, "round").absent)}

    @app.post("/rounds/{name}/ask", dependencies=with_token)
    def ask(name: str, body: Annotated[dict[str, Any], Body()]) -> JSONResponse:
        question = read_dataclass(_Question, body, "query")
        request_limits.require_small_predicate(question.where)
        reply = rounds.ask(name, question.query, question.request)
        if reply.answer is None:
            refusal = {"error": rounds.refusal, "refused": True, "spent": reply.spent}
            return JSONResponse(refusal, 403)
        return JSONResponse({"answer": reply.answer, "spent": reply.spent})

    @app.delete("/rounds/{name}", status_code=204, dependencies=with_token)
    def close_round(name: str) -> None:
        rounds.close(name)

    _add_error_handlers(app)
    return app


def _add_error_handlers(app: "FastAPI") -> None:
    """Reply to every error with one sentence under ``error``."""
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    @app.exception_handler(BadInput)
    def bad_input(_: Request, error: BadInput) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    def no_object(_: Request, __: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": "the body must be one JSON object, sent as application/json"}, 400)

    @app.exception_handler(request_limits.TooLarge)
    def too_large(_: Request, error: request_limits.TooLarge) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 413)

    @app.exception_handler(UnknownRound)
    def no_round(_: Request, __: UnknownRound) -> JSONResponse:
        return JSONResponse({"error": "no such round is open; open a new one"}, 404)

    @app.exception_handler(HTTPException)
    def other(_: Request, error: HTTPException) -> JSONResponse:
        known = {404: "no such path is served", 405: "this path has no such method"}
        text = known.get(error.status_code, str(error.detail))
        return JSONResponse({"error": text}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    def failure(_: Request, __: Exception) -> JSONResponse:
        return JSONResponse({"error": "the service failed; nothing is known of this request"}, 500)
