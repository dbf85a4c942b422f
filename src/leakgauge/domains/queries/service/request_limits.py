"""Limits on a request: how long it may take to arrive, its size, and the size of its predicate."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LARGEST_BODY = 1_000_000  # bytes
LONGEST_PREDICATE = 200_000  # characters
MOST_SYMBOLS = 5_000  # words and operators of a predicate; the values of a list are neither
LONGEST_KEY = 200  # characters of a request key
MOST_GROUPS = 5_000  # of one question
BODY_SECONDS = 30.0  # until the body of a request must have arrived

_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_SYMBOLS = re.compile(r"(?<!\w)[^\W\d]\w*|[^\w\s,.]")


class TooLarge(Exception):
    """A request is larger than the service handles."""


def require_small_predicate(where: str | None) -> None:
    """Refuse a predicate that would take long to parse."""
    if where is None:
        return
    if len(where) > LONGEST_PREDICATE:
        raise TooLarge(
            f"where has {len(where)} characters, more than {LONGEST_PREDICATE}; select by ids instead"
        )
    if (n := count_symbols(where)) > MOST_SYMBOLS:
        raise TooLarge(
            f"where has {n} words and operators, more than {MOST_SYMBOLS}; use IN (...), or select by ids"
        )


def count_symbols(where: str) -> int:
    """Count words, operators and brackets; values, commas and what is quoted are not counted.

    >>> count_symbols("age > 30 AND id IN (3, 17) AND region = 'north or south'")
    10
    """
    return sum(1 for _ in _SYMBOLS.finditer(_QUOTED.sub("", where)))


class BodyLimits:
    """Middleware that reads the body of a request, up to a size and within a time, whatever is declared."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_body(receive)
        except TimeoutError:
            await _send_error(send, 408, f"the body did not arrive within {BODY_SECONDS:g} seconds")
            return
        except TooLarge as error:
            await _send_error(send, 413, str(error))
            return
        if body is None:  # the client is gone
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)


async def _read_body(receive: Receive) -> bytes | None:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise TooLarge(f"the body is larger than {LARGEST_BODY} bytes")
    return bytes(body)


async def _send_error(send: Send, status: int, text: str) -> None:
    """Reply before the whole request was read, and close the connection."""
    content = json.dumps({"error": text}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
