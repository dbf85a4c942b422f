"""Requests that would hold the service: large predicates, idle connections, requests that never end."""

import json
import socket
import time

import httpx
import pytest

from domains.queries.service.running_service import TOKEN, served
from domains.queries.small_table import table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle import OracleRules
from leakgauge.domains.queries.service import connections, request_limits
from leakgauge.domains.queries.service.rounds import ServiceRounds
from leakgauge.domains.queries.sql.parser import parse_predicate
from leakgauge.mechanisms import laplace

HEAD = (
    f"POST /rounds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
)


@pytest.fixture(scope="module")
def url():
    with served(ServiceRounds(table((3,)), OracleRules(noise=laplace.Mechanism(epsilon=0.5)))) as url:
        yield url


@pytest.fixture
def client(url):
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, verify=False, timeout=60
    ) as client:
        yield client


@pytest.fixture
def line(url):
    """A connection without anything sent."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        yield line


def all_received(line):
    received = b""
    while part := line.recv(4096):
        received += part
    return received


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (" OR ".join(f"id = {i}" for i in range(65_000)), "characters, more than 200000; select by ids"),
        (" OR ".join(f"id = {i}" for i in range(2_000)), "5999 words and operators, more than 5000; use IN"),
        ("NOT " * 6_000 + "TRUE", "6001 words and operators"),
        ("(" * 50_000, "50000 words and operators"),
    ],
)
def test_large_predicate_is_413(client, where, said):
    name = client.post("/rounds", json={}).json()["round"]
    reply = client.post(f"/rounds/{name}/ask", json={"where": where})
    assert reply.status_code == 413
    assert said in reply.json()["error"]
    assert client.post(f"/rounds/{name}/ask", json={"ids": [1]}).json()["spent"] == 0.5  # nothing else was


def test_long_list_is_answered(client):
    name = client.post("/rounds", json={}).json()["round"]
    for body in ({"where": f"id IN ({', '.join(map(str, range(20_000)))})"}, {"ids": list(range(100_000))}):
        assert client.post(f"/rounds/{name}/ask", json=body).status_code == 200


def test_values_and_quoted_words_are_no_symbols():
    assert request_limits.count_symbols("region IN ('or', 'and', 'it''s') AND \"or\" = 1") == 6
    assert request_limits.count_symbols("3.5, 1e3, -2") == 1


def test_many_open_brackets_are_refused_before_they_are_parsed():
    """DuckDB takes seconds for 2,500 of them, and all memory for 200,000."""
    started = time.process_time()
    for text in ("(" * 200_000, "[" * 200_000, "a = 1 AND " + "(" * 101 + "TRUE" + ")" * 101):
        with pytest.raises(BadInput, match="nested more than 100 deep"):
            parse_predicate(text, {})
    assert time.process_time() - started < 20  # processor time of this process; it takes 0.1 seconds


@pytest.mark.parametrize("sent", [b"", b"POST /rou", HEAD.encode()], ids=["nothing", "a line", "headers"])
def test_connection_without_a_request_is_closed(line, monkeypatch, sent):
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.2)
    host, port = line.getpeername()
    with socket.create_connection((host, port), timeout=60) as fresh:
        fresh.sendall(sent)
        assert fresh.recv(100) == b""


def test_kept_connection_is_closed_when_the_next_request_stays_half(line, monkeypatch):
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.5)
    host, port = line.getpeername()
    with socket.create_connection((host, port), timeout=60) as fresh:
        fresh.sendall(f"{HEAD}Content-Length: 2\r\n\r\n{{}}{HEAD}".encode())
        received = all_received(fresh)
    assert received.startswith(b"HTTP/1.1 201 ")
    assert received.count(b"HTTP/1.1") == 1


def test_half_open_connection_is_closed(line):
    """The client has sent the end of its data, and no request."""
    line.sendall(b"POST /rounds HT")
    line.shutdown(socket.SHUT_WR)
    assert line.recv(100) == b""


def test_what_is_not_http_gets_the_same_form_of_error(line):
    line.sendall(b"\x16\x03\x01 hello\r\n\r\n")
    head, _, body = all_received(line).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body) == {"error": "this is not a valid HTTP request"}
