import re

import pytest

from domains.queries.small_table import game
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.remote.plan_tables import SERVE_ORACLE_REQUESTS

URL = "http://127.0.0.1:8700"
COPIES = {"path": "/{world}", "json": {"where": "{where}"}}
OPEN = {"path": "/open", "json": {"out": "{absent}"}}
IN_ROUND = {"path": "/{round}", "json": {"where": "{where}"}}


def played(service, **challenger):
    return game(own_service=True, service=service, **challenger)


def test_own_service_needs_only_a_url():
    service = played({"url": URL}).adapter.service
    assert {name: getattr(service, name) for name in SERVE_ORACLE_REQUESTS} == SERVE_ORACLE_REQUESTS
    assert (service.rate, service.total, service.connections, service.tries) == (100.0, 100_000, 4, 5)


def test_other_services_declare_their_requests():
    service = played({"url": URL, "open": OPEN, "ask": IN_ROUND}).adapter.service
    assert service.close is None
    assert (service.refused.status, service.refused.field) == (403, None)


@pytest.mark.parametrize("url", ["https://audit.example.org/api", "http://localhost:1", "http://[::1]:8700"])
def test_remote_urls_need_https_and_localhost_does_not(url):
    assert played({"url": url}).adapter.service.url == url


def test_remote_service_uses_one_worker_and_notes_irreproducibility():
    there, here = played({"url": URL}), game()
    assert (there.most_workers, here.most_workers) == (1, None)
    assert any("the same seed does not give the same answers" in note for note in there.notes)
    assert not any("seed" in note for note in here.notes)
    assert there.digest != here.digest


@pytest.mark.parametrize(
    ("service", "challenger", "message"),
    [
        ({"url": URL}, {"own_service": False}, "only your own service may be queried"),
        ({"url": "http://audit.example.org"}, {}, "over https only"),
        ({"url": "http://10.0.0.1:80"}, {}, "over https only"),
        ({"url": "http://0.0.0.0:80"}, {}, "over https only"),
        ({"url": "http://127.0.0.1.example.org"}, {}, "over https only"),
        ({"url": "http://user:pw@127.0.0.1"}, {}, "contains a name or password"),
        ({"url": "ftp://127.0.0.1"}, {}, "is not an address"),
        ({"url": "127.0.0.1:8700"}, {}, "is not an address"),
        ({"url": "http://127.0.0.1:99999"}, {}, "is not an address"),
        ({"url": "http://127.0.0.1?x=1"}, {}, "is not an address"),
        ({"url": "http://127.0.0.1/{round}"}, {}, "only {world} is"),
        ({"url": "{world}", "worlds": [URL, "http://example.org"], "ask": COPIES}, {}, "over https only"),
        ({}, {}, "'url' is missing"),
        ({"url": URL, "rat": 3.0}, {}, "did you mean 'rate'"),
        ({"url": URL, "rate": 0}, {}, "rate must be > 0"),
        ({"url": URL, "rate": float("nan")}, {}, "rate must be > 0"),
        ({"url": URL, "timeout": -1}, {}, "timeout must be > 0"),
        ({"url": URL, "total": 0}, {}, "total must be in 1.."),
        ({"url": URL, "connections": 1000}, {}, "connections must be in 1..64"),
        ({"url": URL, "tries": 0}, {}, "tries must be in 1.."),
        ({"url": URL, "worlds": ["a", "a"]}, {}, "worlds must differ"),
        ({"url": URL, "worlds": ["a"]}, {}, "expected 2 values"),
        ({"url": URL, "open": OPEN}, {}, "open without ask"),
        ({"url": URL, "ask": {"path": "/{wrold}"}}, {}, "did you mean 'world'"),
        ({"url": URL, "ask": {**COPIES, "method": "post"}}, {}, "did you mean 'POST'|known: GET"),
        ({"url": URL, "ask": {**COPIES, "anwser": "x"}}, {}, "did you mean 'answer'"),
        ({"url": URL, "ask": {"path": "/", "json": {"q": "{where}"}}}, {}, "all rounds would be alike"),
        ({"url": URL, "open": {"path": "/"}, "ask": IN_ROUND}, {}, "all rounds would be alike"),
        ({"url": URL, "open": OPEN, "ask": COPIES}, {}, "does not state the round"),
        ({"url": URL, "open": {**OPEN, "path": "/{where}"}, "ask": IN_ROUND}, {}, "no placeholder here"),
        ({"url": URL, "ask": {"path": "/{world}/{round}/{where}"}}, {}, "needs an open round"),
        ({"url": URL, "ask": COPIES, "close": {"path": "/"}}, {"cache": "none"}, "no round is ever opened"),
        ({"url": URL, "ask": {"path": "/{world}"}}, {"cache": "none"}, "does not contain the query"),
        ({"url": URL, "ask": {**COPIES, "headers": {"X": "{token}"}}}, {}, "a header uses {token}, but"),
        ({"url": URL, "ask": COPIES}, {"cache": "canonical"}, "without open, all rounds share"),
        ({"url": URL, "ask": COPIES}, {"cache": "none", "budget": 3.0}, "without open, all rounds share"),
        ({"url": URL, "ask": COPIES}, {"cache": "none", "targets": 2}, "{world} describes one target"),
        ({"url": URL, "open": OPEN, "ask": IN_ROUND, "refused": {}}, {}, "by status, by field, or by both"),
        ({"url": URL, "open": OPEN, "ask": IN_ROUND, "refused": {"status": 500}}, {}, "reports a fault"),
        ({"url": URL, "open": OPEN, "ask": IN_ROUND, "refused": {"status": 404}}, {}, "reports a fault"),
        (
            {"url": URL, "open": OPEN, "ask": IN_ROUND, "refused": {"status": 429}},
            {},
            "asks to slow down",
        ),
    ],
)
def test_rejects_invalid_service(service, challenger, message):
    with pytest.raises(BadInput) as refusal:
        game(**{"own_service": True, "service": service, **challenger})
    assert re.search(message, str(refusal.value)), str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith("challenger")


def test_missing_library_says_how_to_install(monkeypatch):
    monkeypatch.setattr("leakgauge.domains.queries.remote.http_client.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'leakgauge\[service\]'"):
        played({"url": URL})


@pytest.mark.parametrize("token", ["s3cr3t-t0k3n", "7sevens", "$OUR_TOKEN", "", "eyJhbGci.eyJzdWIi"])
def test_a_token_in_place_of_the_name_of_its_variable_is_refused_and_not_repeated(token):
    with pytest.raises(BadInput, match="token: must be the name of an environment variable") as refusal:
        game(own_service=True, service={"url": URL, "token": token})
    assert not token or token not in str(refusal.value)
