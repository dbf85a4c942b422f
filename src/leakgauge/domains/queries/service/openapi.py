"""The OpenAPI document of the oracle service."""

from typing import Any

from leakgauge.domains.queries.query import QueryKind
from leakgauge.domains.queries.service import request_limits
from leakgauge.version import VERSION

_ID = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_NULLABLE_TEXT = {"type": ["string", "null"]}
_BY_GROUP = {
    "type": "array",
    "items": {"type": ["number", "null"]},
    "description": "an answer for each group, in the order of groups or edges; null where it is withheld",
}
_SPENT = {"type": "number", "minimum": 0, "description": "what the accountant has recorded in this round"}
_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "one sentence", "pattern": "^[^\\n]+$"}},
        "additionalProperties": False,
    },
    "Health": {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"const": "ok"}},
        "additionalProperties": False,
    },
    "Opening": {
        "type": "object",
        "properties": {"absent": {"type": "array", "items": _ID, "description": "ids of targets"}},
        "additionalProperties": False,
    },
    "Round": {
        "type": "object",
        "required": ["round"],
        "properties": {"round": {"type": "string"}},
        "additionalProperties": False,
    },
    "Question": {
        "type": "object",
        "description": "selects by where or by ids, or all records; a sum or an average has a column and a "
        "bound; a histogram or a group-by has group_by, with groups or edges",
        "properties": {
            "kind": {"enum": [kind.value for kind in QueryKind]},
            "column": _NULLABLE_TEXT,
            "bound": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "where": {**_NULLABLE_TEXT, "maxLength": request_limits.LONGEST_PREDICATE},
            "ids": {"type": ["array", "null"], "items": _ID, "uniqueItems": True},
            "group_by": _NULLABLE_TEXT,
            "groups": {"type": ["array", "null"], "items": _ID, "uniqueItems": True},
            "edges": {"type": ["array", "null"], "items": {"type": "number"}},
            "request": {
                **_NULLABLE_TEXT,
                "minLength": 1,
                "maxLength": request_limits.LONGEST_KEY,
                "description": "a key; the same key in the same round gets the same reply, charged once",
            },
        },
        "additionalProperties": False,
    },
    "Answer": {
        "type": "object",
        "required": ["answer", "spent"],
        "properties": {"answer": {"anyOf": [{"type": "number"}, _BY_GROUP]}, "spent": _SPENT},
        "additionalProperties": False,
    },
    "Refusal": {
        "type": "object",
        "required": ["error", "refused", "spent"],
        "properties": {"error": {"type": "string"}, "refused": {"const": True}, "spent": _SPENT},
        "additionalProperties": False,
    },
}
_ERRORS = {
    400: "the body is not one JSON object",
    401: "the token is missing or wrong",
    404: "the round was closed, or the service was started again",
    408: f"the body did not arrive within {request_limits.BODY_SECONDS:g} seconds",
    413: f"the body has more than {request_limits.LARGEST_BODY} bytes, or the predicate more than "
    f"{request_limits.LONGEST_PREDICATE} characters or {request_limits.MOST_SYMBOLS} words and operators",
    422: "the body says what the service cannot do",
}


def openapi_document() -> dict[str, Any]:
    """Return the description of every path, request and reply."""
    name = {"name": "round", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "leakgauge oracle",
            "version": VERSION,
            "description": "Noisy counts, sums, averages and histograms about a table, in rounds with a "
            "budget and a cache each.",
        },
        "paths": {
            "/health": {"get": _operation("whether the service runs", {200: "Health"}, (), public=True)},
            "/openapi.json": {"get": _operation("this document", {200: None}, (), public=True)},
            "/rounds": {
                "post": _operation(
                    "open a round without some of the targets",
                    {201: "Round"},
                    (400, 401, 408, 413, 422),
                    "Opening",
                )
            },
            "/rounds/{round}/ask": {
                "parameters": [name],
                "post": _operation(
                    "ask a question; it is answered, or refused when the budget is used up",
                    {200: "Answer", 403: "Refusal"},
                    (400, 401, 404, 408, 413, 422),
                    "Question",
                ),
            },
            "/rounds/{round}": {
                "parameters": [name],
                "delete": _operation("close a round", {204: None}, (401, 404)),
            },
        },
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(
    summary: str,
    replies: dict[int, str | None],
    errors: tuple[int, ...],
    body: str | None = None,
    *,
    public: bool = False,
) -> dict[str, Any]:
    """Describe a request: its body, its replies by status, and its errors."""
    documented = {status: _reply("", schema) for status, schema in replies.items()}
    documented |= {status: _reply(_ERRORS[status], "Error") for status in errors}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {str(status): documented[status] for status in sorted(documented)},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _content(body)}
    return operation | ({"security": []} if public else {})


def _reply(description: str, schema: str | None) -> dict[str, Any]:
    reply: dict[str, Any] = {"description": description or "done"}
    return reply if schema is None else reply | {"content": _content(schema)}


def _content(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
