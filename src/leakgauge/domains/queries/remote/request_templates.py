"""Request templates of a plan, with placeholders for what differs between requests."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias
from urllib.parse import quote

from leakgauge.core.errors import BadInput
from leakgauge.support.table_reader import require_known

PlaceholderValues: TypeAlias = Mapping[str, Any]  # values of the placeholders of a request

TABLES = {
    "absent": "ids of the targets that are not in the table of this round",
    "present": "ids of the targets that are in it",
    "world": "one of `worlds`: the first without the target, the second with it; one target only",
    "seed": "a whole number for the round, the same whenever its block is run",
}
ROUND = {"round": "the name that the service gave to the round"}
QUESTION = {
    "kind": '"count", "sum", "average" or "histogram"',
    "column": "the column that is summed or averaged, or null",
    "bound": "the bound to which every value is clipped, or null",
    "where": "what follows WHERE in SQL; ids are written as a predicate",
    "predicate": "the same, but null where records are named by ids",
    "ids": "a list of ids, or null where there is a predicate",
    "group_by": "the column of the groups, or null",
    "groups": "a list of values, one for each group, or null",
    "edges": "a list of the edges of intervals, or null",
    "sql": "the whole query in SQL, on `table`",
}
REQUEST = {"request": "a key of this request; the same if it is sent again"}
TOKEN = {"token": "the token, in headers only"}
SECRET = (
    "api-key",
    "apikey",
    "auth",
    "cookie",
    "password",
    "secret",
    "token",
)  # parts of the names of secret headers

_PLACE = re.compile(r"\{(\w+)\}")


class HttpMethod(StrEnum):
    """An HTTP method."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


@dataclass(frozen=True)
class HttpRequest:
    """A request ready to be sent; ``name`` contains no personal values."""

    name: str
    method: str
    path: str
    content: bytes | None
    headers: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class RequestTemplate:
    """A request with placeholders.

    A string in ``json`` that is a single placeholder becomes its value, for example a number or a list; in
    longer strings, paths and headers a placeholder becomes its text.
    """

    path: str
    method: HttpMethod = HttpMethod.POST
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    known: ClassVar[Mapping[str, str]] = TABLES | ROUND | QUESTION | REQUEST

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise BadInput(f"path must begin with /, got {self.path!r}")
        try:
            json.dumps(self.json, allow_nan=False)
        except (TypeError, ValueError):
            raise BadInput("json: not valid JSON; use only tables, lists, texts, numbers") from None
        for name, text in self.headers.items():
            if not isinstance(text, str):
                raise BadInput(f"headers.{name}: must be a string, got {text!r}")
            if "token" not in placeholders(text) and any(word in name.lower() for word in SECRET):
                raise BadInput(
                    f"headers.{name}: would be stored in the manifest; set service.token to the name of an "
                    "environment variable, and write {token} here"
                )
        for place in sorted(placeholders([self.path, self.json])):
            require_known(place, list(self.known), "no placeholder here")
        for place in sorted(placeholders(self.headers)):
            require_known(place, [*self.known, *TOKEN], "headers: no placeholder")

    @property
    def places(self) -> set[str]:
        return placeholders([self.path, self.json, self.headers])

    def fill(self, values: PlaceholderValues, token: str | None) -> HttpRequest:
        """Fill in the placeholders of one request."""
        headers = {
            name: str(_filled(text, {**values, "token": token})) for name, text in self.headers.items()
        }
        if token is not None and "token" not in self.places:
            headers["Authorization"] = f"Bearer {token}"
        content = None
        if self.json is not None:
            content = json.dumps(_filled(self.json, values), allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        path = _PLACE.sub(lambda place: quote(_text(values[place[1]]), safe=""), self.path)
        return HttpRequest(f"{self.method} {self.path}", self.method.value, path, content, headers)


def placeholders(template: Any) -> set[str]:
    """Return the names of the placeholders in a template.

    >>> sorted(placeholders({"a": ["{ids}", 3], "b": "round {round}"}))
    ['ids', 'round']
    """
    return {name for text in _texts(template) for name in _PLACE.findall(text)}


def _texts(template: Any) -> Iterator[str]:
    match template:
        case str():
            yield template
        case Mapping():
            for value in template.values():
                yield from _texts(value)
        case list() | tuple():
            for value in template:
                yield from _texts(value)


def _filled(template: Any, values: PlaceholderValues) -> Any:
    match template:
        case str() if whole := _PLACE.fullmatch(template):
            return values[whole[1]]
        case str():
            return _PLACE.sub(lambda place: _text(values[place[1]]), template)
        case Mapping():
            return {key: _filled(value, values) for key, value in template.items()}
        case list() | tuple():
            return [_filled(value, values) for value in template]
        case _:
            return template


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
