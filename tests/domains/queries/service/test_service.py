"""The oracle over HTTP, by a real server over real connections."""

import json
import threading

import httpx
import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import laplace as laplace_law

from domains.queries.remote.faulty_service import ADAPTERS, adapter
from domains.queries.service.running_service import TOKEN, served
from domains.queries.small_table import table
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.remote.remote_oracle import HttpOracle
from leakgauge.domains.queries.service.rounds import ServiceRounds
from leakgauge.mechanisms import laplace

TARGETS = (3, 9)
ONE = {"kind": "count", "ids": [1, 3]}


def rules(**changed):
    given = {"noise": laplace.Mechanism(epsilon=0.5), "accountant": "per_row", "budget": 1.0}
    return OracleRules(**{**given, "cache": AnswerCache.CANONICAL, **changed})


@pytest.fixture(scope="module")
def url():
    with served(ServiceRounds(table(TARGETS), rules())) as url:
        yield url


@pytest.fixture
def client(url):
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, verify=False) as client:
        yield client


@pytest.fixture
def opened(client):
    def open_round(*absent):
        return client.post("/rounds", json={"absent": list(absent)}).json()["round"]

    return open_round


def test_health_is_public_and_reveals_nothing_else(url):
    assert httpx.get(f"{url}/health", verify=False).json() == {"status": "ok"}
    for path in ("/docs", "/redoc", "/"):
        assert httpx.get(f"{url}{path}", verify=False).status_code == 404


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer wrong", TOKEN, f"bearer {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xe9"],
)
def test_rejects_requests_without_token(url, header):
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    for method, path in (("POST", "/rounds"), ("POST", "/rounds/x/ask"), ("DELETE", "/rounds/x")):
        reply = httpx.request(method, url + path, json={}, headers=headers, verify=False)
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in reply.text


def test_round_is_opened_queried_refused_and_closed(client, opened):
    name = opened()
    first, second = (client.post(f"/rounds/{name}/ask", json={"ids": [i, 3]}) for i in (1, 2))
    assert isinstance(first.json()["answer"], float)
    third = client.post(f"/rounds/{name}/ask", json={"ids": [4, 3]})
    assert (second.status_code, third.status_code) == (200, 403)
    assert third.json() == {"error": "the budget of this round is used up", "refused": True, "spent": 1.0}
    assert [first.json()["spent"], second.json()["spent"]] == [0.5, 1.0]
    assert client.delete(f"/rounds/{name}").status_code == 204
    assert client.delete(f"/rounds/{name}").status_code == 404
    assert client.post(f"/rounds/{name}/ask", json=ONE).status_code == 404


def test_repeated_request_gets_same_reply_and_one_charge(client, opened):
    name = opened()
    ask = [{"ids": [i, 3], "request": f"key {i}"} for i in (1, 2, 4)]
    replies = [[client.post(f"/rounds/{name}/ask", json=body) for _ in range(4)] for body in ask]
    assert [{reply.status_code for reply in row} for row in replies] == [{200}, {200}, {403}]
    assert [len({reply.text for reply in row}) for row in replies] == [1, 1, 1]
    conflict = client.post(f"/rounds/{name}/ask", json={"ids": [5, 3], "request": "key 1"})
    assert (conflict.status_code, "another query" in conflict.text) == (422, True)


@pytest.mark.parametrize("name", ["groups", "edges"])
def test_question_with_very_many_groups_is_refused(client, opened, name):
    body = {"kind": "histogram", "group_by": "age", name: list(range(5_001))}
    reply = client.post(f"/rounds/{opened()}/ask", json=body)
    assert (reply.status_code, "at most 5,000 groups" in reply.text) == (422, True)


def test_same_key_in_two_rounds_is_two_requests(client, opened):
    body = {**ONE, "request": "one"}
    answers = {client.post(f"/rounds/{opened()}/ask", json=body).json()["answer"] for _ in range(5)}
    assert len(answers) == 5


def test_concurrent_requests_are_charged_separately(url):
    with served(ServiceRounds(table(TARGETS), rules(accountant="sequential", budget=10.0))) as busy:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=busy, headers=headers, verify=False) as client:
            name = client.post("/rounds", json={}).json()["round"]
            codes = []

            def ask(i):
                body = {"where": f"age > {i}"}
                codes.extend(
                    client.post(f"/rounds/{name}/ask", json={**body, "request": f"{i}"}).status_code
                    for _ in range(2)
                )

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(30)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert (codes.count(200), codes.count(403)) == (40, 20)  # 20 answers at 0.5 each, each sent twice


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"where": "1=1; DROP TABLE records"}, "a statement besides"),
        ({"where": "id IN (SELECT 1)"}, "where"),
        ({"where": "wage > 3"}, "no column is called 'wage'"),
        ({"where": "TRUE", "ids": [1]}, "not by both"),
        ({"kind": "mean"}, "'mean'"),
        ({"kind": "sum", "column": "income"}, "needs a bound"),
        ({"kind": "sum", "column": "region", "bound": 1}, "only numbers"),
        ({"kind": "sum", "column": "income", "bound": -1}, "bound must be > 0"),
        ({"ids": ["3"]}, "is not an id"),
        ({"ids": [True]}, "query.ids"),
        ({"ids": [1, 1]}, "ids must differ"),
        ({"id": [1]}, "did you mean 'ids'"),
        ({"request": ""}, "request must have 1 to 200"),
        ({"request": "x" * 201}, "request must have 1 to 200"),
    ],
)
def test_invalid_query_costs_nothing(client, opened, body, message):
    name = opened()
    reply = client.post(f"/rounds/{name}/ask", json=body)
    assert reply.status_code == 422
    assert message in reply.json()["error"]
    assert "\n" not in reply.json()["error"]
    assert client.post(f"/rounds/{name}/ask", json={"ids": [1, 3]}).status_code == 200
    assert client.post(f"/rounds/{name}/ask", json={"ids": [2, 3]}).status_code == 200


def test_rejects_invalid_or_large_body(client, opened):
    name = opened()
    for body in (b"{", b"[1]", b'"text"', b"", b"\xff"):
        reply = client.post(f"/rounds/{name}/ask", content=body)
        assert (reply.status_code, reply.json()) == (
            400,
            {"error": "the body must be one JSON object, sent as application/json"},
        )
    as_json = {"Content-Type": "application/json"}
    assert client.post(f"/rounds/{name}/ask", content=b'{"bound": NaN}', headers=as_json).status_code == 422
    assert client.post("/rounds", content=b"[" + b"1," * 2_100_000).status_code == 413
    parts = (b"x" * 100_000 for _ in range(50))  # no length is declared
    assert client.post("/rounds", content=parts).status_code == 413


def test_only_targets_can_be_absent(client):
    for absent in ([4], ["3"], [99]):
        reply = client.post("/rounds", json={"absent": absent})
        assert (reply.status_code, f"{absent[0]!r} is not a target" in reply.json()["error"]) == (422, True)
    assert client.post("/rounds", json={"abscent": [3]}).status_code == 422


def test_longest_idle_round_is_evicted():
    rounds = ServiceRounds(table(TARGETS), rules(), most_open=2)
    one, two = rounds.open(()), rounds.open(())
    rounds.ask(one, Query(ids=(1,)), None)
    three = rounds.open(())
    assert len(rounds) == 2
    with pytest.raises(Exception, match=two):
        rounds.ask(two, Query(ids=(1,)), None)
    assert rounds.ask(one, Query(ids=(1,)), None).answer is not None
    assert rounds.ask(three, Query(ids=(1,)), None).answer is not None


# -- with the adapter -----------------------------------------------------------------------------------


@pytest.fixture
def ask(url, monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", TOKEN)

    def make(members, address=url, **changed):
        there = adapter(address, token="OUR_TOKEN", timeout=60.0)
        return HttpOracle(there, table(TARGETS), rules(**changed), np.atleast_2d(members), [0] * len(members))

    yield make
    while ADAPTERS:
        ADAPTERS.pop().end()


def test_adapter_refusals_and_accounts_match_local_oracle(ask):
    from leakgauge.domains.queries.oracle import LocalOracle

    members = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    there, here = ask(members), LocalOracle(table(TARGETS), rules(), members, 1)
    queries = [Query(ids=(i, 3)) for i in (0, 1, 2)] + [Query(where="id IN (3, 0)"), Query(where="age > 20")]
    refused = [np.isnan([oracle.ask(query) for query in queries]) for oracle in (there, here)]
    np.testing.assert_array_equal(*refused)
    assert refused[0].any()
    np.testing.assert_array_equal(there.obtained, here.obtained)
    for name, spent in here.believed.items():
        np.testing.assert_array_equal(there.believed[name], spent, err_msg=name)


def test_adapter_answers_have_true_value_and_noise(ask):
    members = np.array([[i % 2, 1] for i in range(150)], dtype=bool)
    asked = ask(members)
    query = Query(kind=QueryKind.SUM, column="income", bound=25.0, ids=(0, 3, 4))  # 0.5 + 25 if there - 25
    noise = asked.ask(query) - (0.5 - 25 + 25 * members[:, 0])
    assert kstest(noise, laplace_law(scale=50).cdf).pvalue > 0.001
    assert np.unique(noise).size == 150


def test_numbers_keep_full_precision_in_json(client, opened):
    text = client.post(f"/rounds/{opened()}/ask", json=ONE).text
    assert json.loads(text)["answer"] == float(text.partition(":")[2].partition(",")[0])
