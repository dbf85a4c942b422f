"""A relay between an audit and a service over HTTP, which may change or lose what passes through it."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Relay:
    """Passes requests on to a service (``host:port``) and its replies back.

    ``before(handler, content)`` returns the content to pass on, or None if it answered or dropped the request
    itself; ``after(handler, status, content)`` sends a reply of the service back, or drops it.
    """

    def __init__(self, service: str, before: Any, after: Any) -> None:
        self.n_requests, self.lock = 0, threading.Lock()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def pass_on(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length") or 0))
                with relay.lock:
                    relay.n_requests += 1
                passed_on = before(self, content)
                if passed_on is None:
                    return
                headers = {
                    name: value for name, value in self.headers.items() if name.lower() != "content-length"
                }
                connection = http.client.HTTPConnection(service, timeout=60)
                connection.request(self.command, self.path, passed_on or None, headers)
                answer = connection.getresponse()
                status, answered = answer.status, answer.read()
                connection.close()
                after(self, status, answered)

            do_POST = do_DELETE = pass_on  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port


@contextmanager
def running_relay(service: str, before: Any, after: Any) -> Iterator[Relay]:
    """A relay that listens until the end of the context."""
    relay = Relay(service, before, after)
    threading.Thread(target=relay.server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield relay
    finally:
        relay.server.shutdown()
        relay.server.server_close()
