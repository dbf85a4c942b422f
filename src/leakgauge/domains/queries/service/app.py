"""The oracle over HTTP: rounds are opened, asked and closed by whoever holds the token."""

from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Annotated, Any

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import read
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.service.bodies import SmallBodies
from leakgauge.domains.queries.service.rounds import NoRound, Rounds

if TYPE_CHECKING:
    from fastapi import FastAPI

LONGEST_REQUEST = 200  # characters of a key


@dataclass(frozen=True, kw_only=True)
class _Opening:
    """Who is not in the table in a round to be opened."""

    absent: tuple[Id, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Question(Query):
    """A query, and a key under which the same reply can be had again."""

    request: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.request is not None and not 1 <= len(self.request) <= LONGEST_REQUEST:
            raise BadInput(f"request must have 1 to {LONGEST_REQUEST} characters")

    @property
    def query(self) -> Query:
        return Query(kind=self.kind, column=self.column, bound=self.bound, where=self.where, ids=self.ids)


def build_app(rounds: Rounds, token: str) -> "FastAPI":
    """Make the service; every path but ``/health`` asks for the token."""
    from fastapi import Body, Depends, FastAPI, Header, HTTPException
    from fastapi.responses import JSONResponse

    def holds_token(authorization: Annotated[str, Header()] = "") -> None:
        if not compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})

    app = FastAPI(title="leakgauge oracle", openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(SmallBodies)
    guarded = [Depends(holds_token)]

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/rounds", status_code=201, dependencies=guarded)
    def open_round(body: Annotated[dict[str, Any], Body()]) -> dict[str, str]:
        return {"round": rounds.open(read(_Opening, body, "round").absent)}

    @app.post("/rounds/{name}/ask", dependencies=guarded)
    def ask(name: str, body: Annotated[dict[str, Any], Body()]) -> JSONResponse:
        said = read(_Question, body, "query")
        answer = rounds.ask(name, said.query, said.request)
        if answer is None:
            return JSONResponse({"refused": "the budget of this round is used up"}, 403)
        return JSONResponse({"answer": answer})

    @app.delete("/rounds/{name}", status_code=204, dependencies=guarded)
    def close_round(name: str) -> None:
        rounds.close(name)

    _say_what_is_wrong(app)
    return app


def _say_what_is_wrong(app: "FastAPI") -> None:
    """Reply to what cannot be done with one line."""
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse

    @app.exception_handler(BadInput)
    def bad_input(_: Request, error: BadInput) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    def no_table(_: Request, __: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": "the body must be one table in JSON"}, 422)

    @app.exception_handler(NoRound)
    def no_round(_: Request, __: NoRound) -> JSONResponse:
        return JSONResponse({"error": "no such round is open; open another"}, 404)
