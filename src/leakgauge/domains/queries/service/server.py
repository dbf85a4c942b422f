"""A service is kept running on this machine until somebody ends it."""

import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.challenger import Challenger
from leakgauge.domains.queries.oracle_rules import OracleRules
from leakgauge.domains.queries.records import OracleTable

HOST = "127.0.0.1"  # never another: what is served may say who is in the data
TOKEN_VARIABLE = "LEAKGAUGE_TOKEN"
SHUTDOWN_SECONDS = 5  # seconds that questions on their way are given when the service ends


def require_fastapi() -> None:
    """Refuse to serve where the libraries for it are missing."""
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise BadInput(f"{' and '.join(missing)} not installed; run: pip install 'leakgauge[service]'")


def read_token() -> tuple[str, bool]:
    """The token of the environment, or one made up; and whether it was made up."""
    said = os.environ.get(TOKEN_VARIABLE)
    if said is None:
        return secrets.token_urlsafe(24), True
    if not said.strip() or not said.isascii() or not said.isprintable():
        raise BadInput(
            f"{TOKEN_VARIABLE}: a token is some visible ASCII characters; unset it, and one is made up"
        )
    return said, False


def listen(port: int) -> socket.socket:
    """Open the door; 0 is any free port."""
    if not 0 <= port < 2**16:
        raise BadInput(f"port must be in 0..65535, got {port}")
    # Named, TCP gets its short replies sent at once: asyncio looks at this number.
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((HOST, port))
    except OSError as error:
        door.close()
        raise BadInput(f"port {port} cannot be used ({error.strerror}); choose another --port") from None
    door.listen(128)
    return door


def serve_challenger(
    challenger: Challenger, *, port: int, announce: Callable[[str, str | None], None]
) -> None:
    """Serve the oracle of a challenger; ``announce`` gets the address and a token, if one was generated."""
    token, generated = read_token()
    listener = listen(port)
    host, free_port = listener.getsockname()
    announce(f"http://{host}:{free_port}", token if generated else None)
    serve(challenger.table, challenger.rules, token, listener)


def serve(table: OracleTable, rules: OracleRules, token: str, door: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM; nothing is kept."""
    import uvicorn

    from leakgauge.domains.queries.service.app import build_app
    from leakgauge.domains.queries.service.rounds import ServiceRounds

    config = uvicorn.Config(
        build_app(ServiceRounds(table, rules), token),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        server_header=False,
    )
    with door, _ended_by_signals():
        uvicorn.Server(config).run(sockets=[door])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let the server have the signals that end it: it raises them once more when it has ended."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, lambda *_: None)
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
