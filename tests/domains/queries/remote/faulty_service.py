"""A service with faults: real connections, rounds by number, and answers that show their origin.

An answer is 1000 x the number of the round + how many answers that round had given: no two are equal, and
each says in which round, and as which, it was given.
"""

import json
import socket
import struct
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from domains.queries.small_table import table
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules
from leakgauge.domains.queries.remote.plan_tables import (
    SERVE_ORACLE_REQUESTS,
    AskRequest,
    QueriesServiceTable,
)
from leakgauge.domains.queries.remote.remote_oracle import HttpOracle, ServiceAdapter
from leakgauge.mechanisms import laplace

WITHOUT_KEY = AskRequest(
    path=SERVE_ORACLE_REQUESTS["ask"].path, json={"ids": "{ids}", "where": "{predicate}"}
)
ADAPTERS = []  # whose connections are closed after a test


class FaultyService:
    """Does as it should, but for what ``fault(kind, number)`` says of the n-th request of a kind."""

    def __init__(self, fault=lambda kind, n: None, budget=None, port=0):
        self.fault, self.budget = fault, budget
        self.rounds, self.replies, self.absent = {}, {}, {}
        self.seen, self.closed, self.times = [], [], []
        self.counts, self.lock, self.n_opened = {}, threading.Lock(), 0
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_any(self):
                length = int(self.headers.get("content-length") or 0)
                service.handle(self, self.rfile.read(length))

            do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # a client that gave up

        self.server = Server(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.stopped = threading.Event()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def stop(self):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def forget(self):
        """Be started again: what was open is open no more."""
        self.rounds.clear()
        self.replies.clear()

    def handle(self, handler, content):
        kind = {"DELETE": "close"}.get(handler.command, "open" if handler.path == "/rounds" else "ask")
        with self.lock:
            n = self.counts[kind] = self.counts.get(kind, 0) + 1
            self.times.append(time.monotonic())
            body = json.loads(content) if content else None
            self.seen.append((kind, handler.path, body, dict(handler.headers)))
            fault = self.fault(kind, n)
        if callable(fault):
            return fault(handler)
        if isinstance(fault, tuple):  # turned away before anything is done
            status, headers = fault
            return reply(handler, status, b"{}", headers)
        with self.lock:
            status, answer = self.do(kind, handler.path, body)
        match fault:
            case None:
                return reply(handler, status, json.dumps(answer).encode())
            case "drop":
                return drop(handler)
            case "delay":
                self.stopped.wait()  # no reply ever comes
                return drop(handler)
            case int():
                return reply(handler, fault, b"{}")
            case bytes():
                return reply(handler, 200, fault)
        return None

    def do(self, kind, path, body):
        if kind == "open":
            self.n_opened += 1
            name = self.n_opened
            self.rounds[name], self.absent[name] = 0, body["absent"]
            return 201, {"round": name}
        name = int(path.split("/")[2])
        if name not in self.rounds:
            return 404, {"error": "no such round"}
        if kind == "close":
            del self.rounds[name]
            self.closed.append(name)
            return 204, None
        key = (name, body.get("request"))
        if key[1] is None or key not in self.replies:
            if self.budget is not None and self.rounds[name] >= self.budget:
                self.replies[key] = 403, {"refused": "spent"}
            else:
                self.replies[key] = 200, {"answer": 1000 * name + self.rounds[name]}
                self.rounds[name] += 1
        return self.replies[key]


def reply(handler, status, content, headers=None):
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    if status != 204:
        handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    if status != 204:
        handler.wfile.write(content)


def drop(handler):
    """Break the connection without a reply."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


@contextmanager
def running(*arguments, **settings):
    service = FaultyService(*arguments, **settings)
    try:
        yield service
    finally:
        service.stop()


def adapter(service, **settings):
    url = service if isinstance(service, str) else service.url
    ADAPTERS.append(
        ServiceAdapter(
            QueriesServiceTable(**{"url": url, "rate": 1e5, "timeout": 60.0, "tries": 3, **settings})
        )
    )
    return ADAPTERS[-1]


def oracle(adapter, members, targets=(3,), cache="none", budget=None, accountant="none"):
    members = np.atleast_2d(np.asarray(members, dtype=bool))
    rules = OracleRules(
        noise=laplace.Mechanism(epsilon=1.0), accountant=accountant, cache=AnswerCache(cache), budget=budget
    )
    return HttpOracle(adapter, table(targets), rules, members, list(range(len(members))))
