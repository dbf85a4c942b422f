"""Requests whose bodies are too large are turned away unread."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

LARGEST = 4_000_000  # bytes

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class SmallBodies:
    """Stands before a service and reads bodies for it, up to a limit; whatever lengths are declared."""

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
            if len(body) > LARGEST:
                await _turn_away(send)
                return

        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, again, send)


async def _turn_away(send: Send) -> None:
    words = b'{"error": "the body is larger than 4 MB"}'
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(words)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": words})
