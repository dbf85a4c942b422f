"""Connections whose requests end by one deadline: connecting, sending, headers and body together.

The timeouts of an HTTP library count from byte to byte, so that a service may drip for ever.
"""

from collections.abc import Callable, Iterable
from socket import SOCK_STREAM, getaddrinfo
from ssl import SSLContext
from typing import Any

import httpcore
import httpx

_PIECE = 4096  # bytes that are sent under one look at the clock
_KEPT = 3.0  # seconds that an idle connection is kept; servers close theirs after five or more


class Deadline:
    """Until when a request may take, by a clock such as ``monotonic``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self.at = clock, float("inf")

    def left(self, timeout: float | None, passed: type[Exception]) -> float:
        """The seconds that one step may take; raise ``passed`` if there are none."""
        left = self.at - self._clock()
        if left <= 0:
            raise passed("the deadline has passed")
        return left if timeout is None else min(left, timeout)


class OneConnection(httpx.Client):
    """A client with one connection, for one request at a time, which ends at ``deadline.at``."""

    def __init__(self, context: SSLContext, clock: Callable[[], float], **settings: Any) -> None:
        self.deadline = Deadline(clock)
        transport = httpx.HTTPTransport(verify=context, trust_env=False)
        transport._pool = httpcore.ConnectionPool(  # noqa: SLF001
            ssl_context=context,
            max_connections=1,
            keepalive_expiry=_KEPT,
            network_backend=_DeadlineBackend(self.deadline),
        )
        super().__init__(transport=transport, trust_env=False, **settings)


class _DeadlineBackend(httpcore.SyncBackend):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            found = getaddrinfo(host, port, type=SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from None
        addresses = [str(address[0]) for *_, address in found]
        for address in addresses:  # one at a time: all of them share the deadline
            left = self._deadline.left(timeout, httpcore.ConnectTimeout)
            try:
                made = super().connect_tcp(address, port, left, local_address, socket_options)
            except httpcore.ConnectError:
                if address == addresses[-1]:
                    raise
            else:
                return _DeadlineStream(made, self._deadline)
        raise httpcore.ConnectError(f"no address of {host}")


class _DeadlineStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline
        self.close, self.get_extra_info = stream.close, stream.get_extra_info  # type: ignore[method-assign]

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            left = self._deadline.left(timeout, httpcore.WriteTimeout)
            self._stream.write(buffer[start : start + _PIECE], left)

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)
