"""Connections of the oracle service: closed when they are idle, or when a request does not arrive."""

import asyncio
import json

from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 60.0  # until the next request must have arrived, up to the end of its headers


class ClosingProtocol(H11Protocol):
    """Closes a connection on which no request is in progress for some time, even if bytes drip in."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for_request()

    def send_400_response(self, msg: str) -> None:
        """Reply to what is not HTTP in the same form as to other errors."""
        content = json.dumps({"error": "this is not a valid HTTP request"}).encode()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
        self.transport.write(head.encode() + b"\r\nconnection: close\r\n\r\n" + content)
        self.transport.close()

    @property
    def _in_progress(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_request(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(IDLE_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if not self._in_progress:
            self.transport.close()
