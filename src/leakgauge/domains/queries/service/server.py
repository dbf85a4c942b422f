"""The oracle as an HTTP service on this machine, until it is stopped."""

import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.challenger import Challenger
from leakgauge.domains.queries.service.rounds import ServiceRounds, service_rounds

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"  # this machine only: the answers depend on who is in the data
TOKEN_VARIABLE = "LEAKGAUGE_TOKEN"
SHUTDOWN_SECONDS = 5  # for requests in progress when the service is stopped


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


def http_server(rounds: ServiceRounds, token: str) -> "uvicorn.Server":
    """Return the server that answers from some rounds; it is not started yet."""
    import uvicorn

    from leakgauge.domains.queries.service.app import build_app
    from leakgauge.domains.queries.service.connections import IDLE_SECONDS, ClosingProtocol

    return uvicorn.Server(
        uvicorn.Config(
            build_app(rounds, token),
            http=ClosingProtocol,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=int(IDLE_SECONDS),
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            server_header=False,
        )
    )


def serve(rounds: ServiceRounds, token: str, listener: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM; nothing is stored."""
    with listener, _ended_by_signals():
        http_server(rounds, token).run(sockets=[listener])


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
