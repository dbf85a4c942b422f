"""Transport faults are retried or lost; they never count as an answer, a refusal, or two answers."""

import threading
import time

import httpcore
import httpx
import numpy as np
import pytest

from domains.queries.remote.faulty_service import (
    WITHOUT_KEY,
    FaultyService,
    adapter,
    drop,
    oracle,
    reply,
    running,
)
from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.remote import http_client, remote_oracle
from leakgauge.domains.queries.remote.deadline_transport import Deadline, _DeadlineBackend, _DeadlineStream
from leakgauge.domains.queries.remote.plan_tables import SERVE_ORACLE_REQUESTS, RefusalRule
from leakgauge.domains.queries.remote.request_templates import HttpRequest
from leakgauge.domains.queries.transcript import Outcome

DONE_BUT_UNHEARD = {
    "the connection broke": "drop",
    "the reply came too late": "delay",
    "status 500": 500,
    "status 503 without a time to wait": 503,
    "status 502": 502,
    "status 408": 408,
    "no JSON": b"<html>",
    "half of a reply": b'{"answer": 3',
    "nothing at all": b"",
    "NaN": b'{"answer": NaN}',
    "infinite": b'{"answer": 1e999}',
    "too large for a number": b'{"answer": 1' + 400 * b"0" + b"}",
    "a text": b'{"answer": "3"}',
    "a truth value": b'{"answer": true}',
    "null": b'{"answer": null}',
    "a reply that never ends": b'{"answer": 3, "more": "' + b"x" * 1_100_000 + b'"}',
}
NOT_DONE = {
    "too many requests": (429, {}),
    "too many requests, wait": (429, {"Retry-After": "0"}),
    "busy, wait": (503, {"Retry-After": "0"}),
    "busy until a time gone by": (503, {"Retry-After": "Mon, 01 Jan 2024 00:00:00 GMT"}),
}
OPEN = SERVE_ORACLE_REQUESTS["open"]
BUSY = b'{"error": "busy"}'
TWO = Query(ids=(1, 3)), Query(ids=(2, 3))


def second_ask(fault):
    return lambda kind, n: fault if (kind, n) == ("ask", 2) else None


@pytest.fixture(autouse=True)
def _impatient(request, monkeypatch):
    """Where no reply comes to the second question, the client waits for that one only a moment."""
    if (
        "delay"
        not in dict(request.node.callspec.params if hasattr(request.node, "callspec") else {}).values()
    ):
        return
    stream, n_asked = httpx.Client.stream, [0]

    def count_and_send(client, method, url, **settings):
        n_asked[0] += method == "POST" and not url.endswith("/rounds")
        return stream(client, method, url, **settings, **({"timeout": 0.2} if n_asked[0] == 2 else {}))

    monkeypatch.setattr(httpx.Client, "stream", count_and_send)


@pytest.mark.parametrize("fault", DONE_BUT_UNHEARD.values(), ids=DONE_BUT_UNHEARD)
def test_lost_answer_is_retried_with_its_key_and_charged_once(fault):
    with running(second_ask(fault)) as service:
        asked = oracle(adapter(service), [[True]])
        answers = [asked.ask(query).tolist() for query in TWO]
        assert answers == [[1000], [1001]]
        assert service.rounds == {1: 2}
        assert service.counts["ask"] == 3
        assert asked.obtained.tolist() == [[2.0]]


REPORTED = ("status 500", "infinite", "too large for a number", "a text", "a truth value", "null")


@pytest.mark.parametrize("fault", REPORTED)
def test_fault_that_the_service_reports_belongs_to_the_round(fault):
    """It may depend on who is in the table, so it is kept; with a key it is asked again, and counted."""
    with running(second_ask(DONE_BUT_UNHEARD[fault])) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN), [[True]])
        assert asked.ask(TWO[0]).tolist() == [1000]
        assert np.isnan(asked.ask(TWO[1])).all()
        assert service.counts["ask"] == 2
        assert asked.obtained.tolist() == [[1.0]]
        assert asked.transcript()["outcomes"].tolist() == [[Outcome.ANSWERED, Outcome.ERROR]]
    with running(second_ask(DONE_BUT_UNHEARD[fault])) as service:
        asked = oracle(adapter(service), [[True]])
        assert [asked.ask(query).tolist() for query in TWO] == [[1000], [1001]]
        assert asked.transcript()["faults"].tolist() == [[0, 1]]
        assert (asked.transcript()["outcomes"] == Outcome.ANSWERED).all()


def test_connection_is_not_used_again_after_a_fault_of_the_service():
    """Servers such as uvicorn close it then, perhaps when the next question is under way."""

    def fail_and_hang_up(handler):
        reply(handler, 500, b"{}")
        handler.do_POST = lambda: drop(handler)  # of this connection

    with running(second_ask(fail_and_hang_up)) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN, connections=1), [[True]])
        answers = [asked.ask(query).tolist() for query in (*TWO, Query(ids=(3,)))]
    assert answers == [[1000], pytest.approx([np.nan], nan_ok=True), [1001]]


def test_faults_on_several_connections_lose_no_round():
    """Connections are shared by threads: whoever closes one must not close that of another request."""

    def fail_and_hang_up(handler):
        reply(handler, 500, b"{}")
        handler.do_POST = lambda: drop(handler)

    with running(lambda kind, n: fail_and_hang_up if kind == "ask" and n % 3 == 0 else None) as service:
        there = adapter(service, ask=WITHOUT_KEY, open=OPEN, connections=4)
        asked = oracle(there, [[True]] * 60)
        answers = np.array([asked.ask(query) for query in (*TWO, Query(ids=(3,)))])
    assert np.isnan(answers).sum() == 60
    assert service.counts["ask"] == 180


def test_connection_that_failed_is_not_given_to_a_request_that_began_before(monkeypatch):
    """The order is forced: one request has begun, but has no connection until another has failed on it."""

    def fail_and_hang_up(handler):
        reply(handler, 500, b"{}")
        handler.do_POST = lambda: drop(handler)

    stream, has_begun, has_failed = httpx.Client.stream, threading.Event(), threading.Event()

    def wait_and_send(client, *arguments, **settings):
        if threading.current_thread() is late:
            has_begun.set()
            has_failed.wait()
        return stream(client, *arguments, **settings)

    monkeypatch.setattr(httpx.Client, "stream", wait_and_send)
    call, found = HttpRequest("POST /rounds", "POST", "/rounds", b'{"absent": []}', {}), []

    def send():
        return client.send(service.url, call, lambda one: one.status, repeatable=False, tries=1)

    with running(lambda kind, n: fail_and_hang_up if n == 1 else None) as service:
        client = adapter(service, connections=2)._sender
        late = threading.Thread(target=lambda: found.append(send()))
        late.start()
        has_begun.wait()
        assert send() == 500
        has_failed.set()
        late.join()
    assert found == [201]


def test_service_that_fails_again_and_again_is_asked_twice():
    """Where some questions failed in all tries, the service is not merely busy."""
    n_requests = []
    with running(lambda kind, n: 500 if kind == "ask" and n > 1 else None) as service:
        asked = oracle(adapter(service, tries=4), [[True]])
        asked.ask(TWO[0])
        for other in range(4, 9):
            before = service.counts["ask"]
            assert np.isnan(asked.ask(Query(ids=(other, 3)))).all()
            n_requests.append(service.counts["ask"] - before)
    assert n_requests == [4, 4, 4, 2, 2]


def test_service_that_only_fails_is_lost():
    with (
        running(lambda kind, n: 500 if kind == "ask" else None) as service,
        pytest.raises(ReleaseLost, match="status 500"),
    ):
        oracle(adapter(service), [[True]]).ask(TWO[0])


def test_service_that_fails_for_good_is_lost(monkeypatch):
    monkeypatch.setattr(remote_oracle, "MOST_FAULTS", 4)
    with running(lambda kind, n: 500 if kind == "ask" and n > 2 else None) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN), [[True], [False]])
        asked.ask(TWO[0])
        asked.ask(TWO[1])
        with pytest.raises(ReleaseLost, match="in a row"):
            asked.ask(TWO[1])


LOST = {name: fault for name, fault in DONE_BUT_UNHEARD.items() if name not in REPORTED}


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
def test_lost_answer_without_key_is_not_retried(fault):
    with running(second_ask(fault)) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN), [[True]])
        assert asked.ask(TWO[0]).tolist() == [1000]
        with pytest.raises(ReleaseLost):
            asked.ask(TWO[1])
        assert service.counts["ask"] == 2
        assert asked.obtained.tolist() == [[1.0]]


@pytest.mark.parametrize("fault", NOT_DONE.values(), ids=NOT_DONE)
def test_rejected_request_is_retried(fault):
    for more in ({}, {"ask": WITHOUT_KEY, "open": OPEN}):
        with running(second_ask(fault)) as service:
            asked = oracle(adapter(service, **more), [[True]])
            assert [asked.ask(query).tolist() for query in TWO] == [[1000], [1001]]
            assert service.rounds == {1: 2}


def test_retry_after_is_respected():
    with running(lambda kind, n: (429, {"Retry-After": "1"}) if (kind, n) == ("ask", 1) else None) as service:
        oracle(adapter(service, connections=1), [[True], [False]]).ask(TWO[0])
        assert service.times[3] - service.times[2] > 0.9


def test_long_retry_after_stops_the_run():
    with running(lambda kind, n: (503, {"Retry-After": "3600"}) if kind == "ask" else None) as service:
        with pytest.raises(IncompleteRun, match="wait 3600 seconds"):
            oracle(adapter(service), [[True]]).ask(TWO[0])
        assert service.counts["ask"] == 1


@pytest.mark.parametrize("fault", [*NOT_DONE.values(), "drop", b"<html>"])
def test_persistent_fault_is_lost_after_retries(fault):
    with running(lambda kind, n: fault if kind == "ask" else None) as service:
        with pytest.raises(ReleaseLost, match=r"POST /rounds/\{round\}/ask"):
            oracle(adapter(service), [[True]]).ask(TWO[0])
        assert service.counts["ask"] == 3


def test_starting_service_is_waited_for():
    with running() as before:
        port = before.server.server_port
    late = []
    timer = threading.Timer(0.25, lambda: late.append(FaultyService(port=port)))
    timer.start()
    try:
        there = adapter(f"http://127.0.0.1:{port}", tries=9, ask=WITHOUT_KEY, open=OPEN)
        assert oracle(there, [[True]]).ask(TWO[0]).tolist() == [1000]
    finally:
        timer.join()
        late[0].stop()


def test_unreachable_service_is_lost():
    with running() as service:
        there = adapter(service)
        asked = oracle(there, [[True]])
        asked.ask(TWO[0])
    there._sender.close()  # connections that are kept would still be served
    with pytest.raises(ReleaseLost, match="no connection to"):
        asked.ask(TWO[1])


def test_service_that_never_replied_stops_the_run():
    with running() as before:
        url = before.url
    with pytest.raises(IncompleteRun, match=r"no connection to .*check that the service is running there"):
        oracle(adapter(url), [[True]]).ask(TWO[0])


def test_forgotten_round_is_lost():
    with running() as service:
        asked = oracle(adapter(service), [[True], [False]])
        asked.ask(TWO[0])
        service.forget()
        with pytest.raises(ReleaseLost, match="404"):
            asked.ask(TWO[1])


def test_unconfirmed_round_is_opened_again():
    with running(lambda kind, n: "drop" if (kind, n) == ("open", 1) else None) as service:
        assert oracle(adapter(service), [[True]]).ask(TWO[0]).tolist() == [2000]
        assert service.rounds == {1: 0, 2: 1}


def test_failure_in_one_round_stops_all_quickly():
    with running(lambda kind, n: b"<html>" if (kind, n) == ("ask", 31) else None) as service:
        there = adapter(service, ask=WITHOUT_KEY, open=OPEN, rate=200.0, connections=2)
        asked = oracle(there, np.ones((30, 1)))
        asked.ask(TWO[0])
        with pytest.raises(ReleaseLost, match="cannot be read"):
            asked.ask(TWO[1])
        assert service.counts["ask"] < 30 + 10


# -- refusals -------------------------------------------------------------------------------------------


def test_only_declared_refusal_counts_as_refusal():
    faults = {2: "drop", 4: 500, 6: b"{}", 8: (429, {})}
    with running(lambda kind, n: faults.get(n) if kind == "ask" else None, budget=3) as service:
        asked = oracle(adapter(service), [[True]])
        answers = [float(asked.ask(Query(ids=(i, 3)))[0]) for i in (0, 1, 2, 4, 5)]
        np.testing.assert_array_equal(answers, [1000, 1001, 1002, np.nan, np.nan])
        assert asked.obtained.tolist() == [[3.0]]


@pytest.mark.parametrize("fault", ["drop", "delay", 500, b"<html>"])
def test_lost_refusal_is_retried(fault):
    with running(second_ask(fault), budget=1) as service:
        asked = oracle(adapter(service), [[True]])
        assert asked.ask(TWO[0]).tolist() == [1000]
        assert np.isnan(asked.ask(TWO[1])).all()
        assert service.rounds == {1: 1}


def test_forbidden_path_is_not_a_refusal():
    with running(second_ask(403)) as service:  # without the words of a refusal: something stands between
        asked = oracle(adapter(service), [[True]])
        asked.ask(TWO[0])
        with pytest.raises(BadInput, match="status 403, which is neither an answer nor a refusal"):
            asked.ask(TWO[1])


@pytest.mark.parametrize(
    ("refused", "reply"),
    [
        ({"status": 402}, (402, {})),
        ({"field": "error.code", "equals": "spent"}, b'{"error": {"code": "spent"}}'),
        ({"field": "error"}, b'{"error": "no budget"}'),
    ],
    ids=str,
)
def test_custom_refusal_is_recognised(refused, reply):
    with running(second_ask(reply)) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN, refused=RefusalRule(**refused)), [[True]])
        assert asked.ask(TWO[0]).tolist() == [1000]
        assert np.isnan(asked.ask(TWO[1])).all()


@pytest.mark.parametrize(
    ("refused", "reply", "answer"),
    [
        ({"field": "error"}, b'{"answer": 2.5, "error": null}', 2.5),
        ({"field": "error"}, b'{"answer": 2.5, "error": false}', 2.5),
        ({"field": "error", "equals": "spent"}, b'{"answer": 2.5, "error": "rounded"}', 2.5),
        ({"field": "error"}, (429, {"Retry-After": "0"}), 1001),
        ({"status": 402}, (429, {"Retry-After": "0"}), 1001),
        ({"status": 429, "field": "spent"}, (429, {"Retry-After": "0"}), 1001),
        ({"field": "error"}, lambda handler: reply(handler, 503, BUSY, {"Retry-After": "0"}), 1001),
    ],
    ids=lambda value: "busy" if callable(value) else str(value),
)
def test_other_reply_is_not_a_refusal(refused, reply, answer):
    with running(second_ask(reply)) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN, refused=RefusalRule(**refused)), [[True]])
        assert [float(asked.ask(query)[0]) for query in TWO] == [1000, answer]


def test_partial_refusal_is_not_a_refusal():
    def half(handler):
        reply(handler, 403, b'{"refus')

    with running(lambda kind, n: half if kind == "ask" and n > 1 else None) as service:
        asked = oracle(adapter(service), [[True]])
        asked.ask(TWO[0])
        with pytest.raises(ReleaseLost, match="status 403, and a reply that cannot be read"):
            asked.ask(TWO[1])


def test_slow_reply_times_out(monkeypatch):
    """The clock of the client jumps after the first byte of a reply of which every byte comes in time."""
    jump = [0.0]
    monkeypatch.setattr(http_client, "monotonic", lambda: time.monotonic() + jump[0])

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "40")
        handler.end_headers()
        for _ in range(40):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            jump[0] = 61.0

    with running(second_ask(drip)) as service:
        asked = oracle(adapter(service, ask=WITHOUT_KEY, open=OPEN), [[True]])
        asked.ask(TWO[0])
        with pytest.raises(ReleaseLost, match="no complete reply within 60 seconds"):
            asked.ask(TWO[1])


class DrippingStream(httpcore.NetworkStream):
    """Gives one byte in each read; the clock moves by as long as that takes."""

    def __init__(self, clock, content):
        self.clock, self.content = clock, content

    def read(self, max_bytes, timeout=None):
        if timeout is not None and timeout < 1.9:
            self.clock[0] += timeout
            raise httpcore.ReadTimeout
        self.clock[0] += 1.9
        first, self.content = self.content[:1], self.content[1:]
        return first

    def write(self, buffer, timeout=None):
        pass

    def close(self):
        pass

    def get_extra_info(self, info):
        return None


@pytest.mark.parametrize("connecting", [0.0, 1.5])
@pytest.mark.parametrize("headers", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 99])
def test_request_ends_after_its_timeout_whatever_drips(monkeypatch, connecting, headers):
    """Connecting, headers and body share one deadline, by the clock of the client."""
    clock = [1000.0]
    monkeypatch.setattr(http_client, "monotonic", lambda: clock[0])

    def connect(backend, *arguments, **settings):
        clock[0] += connecting
        return DrippingStream(clock, headers + b"Content-Length: 2\r\n\r\n{}")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    client = adapter("http://127.0.0.1:1", timeout=2.0)._sender
    call = HttpRequest("POST /rounds", "POST", "/rounds", b"{}", {})
    with pytest.raises(ReleaseLost, match="no complete reply within 2 seconds"):
        client.send("http://127.0.0.1:1", call, lambda one: one.status, repeatable=False, tries=1)
    assert clock[0] == pytest.approx(1002.0)


def test_connecting_and_sending_share_the_deadline(monkeypatch):
    deadline = Deadline(lambda: 7.0)
    deadline.at = 7.5
    assert deadline.left(None, httpcore.ReadTimeout) == 0.5
    deadline.at, given = 7.0, []
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", lambda *_: given.append("connected"))
    with pytest.raises(httpcore.ConnectTimeout):
        _DeadlineBackend(deadline).connect_tcp("127.0.0.1", 1)
    with pytest.raises(httpcore.WriteTimeout):
        _DeadlineStream(DrippingStream([0.0], b""), deadline).write(b"question")
    assert not given


# -- what the owner must fix ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((401, {}), "the token is missing or wrong"),
        ((302, {"Location": "http://127.0.0.1:1/"}), "redirects are not followed"),
        ((400, {}), "status 400"),
        ((422, {}), "status 422"),
        ((404, {}), "status 404.*check its path"),
        (b'{"result": 3, "noise": 1}', "the reply has no 'answer' but 'result', 'noise'; check ask.answer"),
    ],
)
def test_permanent_error_is_bad_input(fault, message):
    with running(lambda kind, n: fault if kind == "ask" else None) as service:
        with pytest.raises(BadInput, match=message) as refusal:
            oracle(adapter(service), [[True]]).ask(TWO[0])
        assert "\n" not in str(refusal.value)
        assert service.counts["ask"] == 1


def test_rejects_identical_rounds():
    with (
        running(lambda kind, n: b'{"round": 7}' if kind == "open" else None) as service,
        pytest.raises(BadInput, match="two rounds got the same name"),
    ):
        oracle(adapter(service), [[True], [True]]).ask(TWO[0])


def test_token_is_sent_but_not_shown(monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", "s3cr3t-t0k3n")

    def echo(handler):
        content = handler.headers["Authorization"].encode()
        handler.send_response(400)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    with running(lambda kind, n: echo) as service:
        with pytest.raises(BadInput, match=r"not shown, because it repeats the token") as refusal:
            oracle(adapter(service, token="OUR_TOKEN"), [[True]]).ask(TWO[0])
        assert "s3cr3t" not in str(refusal.value)
        assert service.seen[0][3]["Authorization"] == "Bearer s3cr3t-t0k3n"


@pytest.mark.parametrize("token", ["e", "s3cr3t-t0k3n" * 30])
def test_message_with_a_short_or_long_token_is_neither_garbled_nor_cut_through_it(monkeypatch, token):
    monkeypatch.setenv("OUR_TOKEN", token)

    def echo(handler):
        content = b"x" * 190 + handler.headers["Authorization"].encode()
        handler.send_response(400)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    with running(lambda kind, n: echo) as service:
        with pytest.raises(BadInput) as refusal:
            oracle(adapter(service, token="OUR_TOKEN"), [[True]]).ask(TWO[0])
        said = str(refusal.value)
        assert (
            "status 400, which is neither an answer nor a refusal according to the plan: (not shown" in said
        )
        assert "s3cr3t" not in said


@pytest.mark.parametrize("value", [None, "", "  ", "two\nlines", "schlüssel"])
def test_missing_token_is_reported_before_first_request(monkeypatch, value):
    monkeypatch.delenv("OUR_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("OUR_TOKEN", value)
    with pytest.raises(BadInput, match="'OUR_TOKEN' holds no token; export it"):
        adapter("http://127.0.0.1:1", token="OUR_TOKEN").require_token()
    with pytest.raises(BadInput, match=r"token: the environment variable that it names holds no token"):
        adapter("http://127.0.0.1:1", token="ghp_s3cr3tT0k3n").require_token()


def test_environment_proxies_are_ignored(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with running() as service:
        assert oracle(adapter(service), [[True]]).ask(TWO[0]).tolist() == [1000]


def test_rounds_share_no_cookies():
    def cookie(kind, n):
        return (429, {"Set-Cookie": "session=1", "Retry-After": "0"}) if n == 1 else None

    with running(cookie) as service:
        oracle(adapter(service), [[True]]).ask(TWO[0])
        assert not [headers for *_, headers in service.seen if "Cookie" in headers]
