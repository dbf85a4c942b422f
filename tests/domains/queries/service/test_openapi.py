"""The OpenAPI document of the service: valid, and true of every reply."""

import json
import socket

import httpx
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domains.queries.service.running_service import TOKEN, served
from domains.queries.small_table import table
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules
from leakgauge.domains.queries.service import request_limits
from leakgauge.domains.queries.service.openapi import openapi_document
from leakgauge.domains.queries.service.rounds import ServiceRounds
from leakgauge.mechanisms import laplace

DOCUMENT = openapi_document()
OPERATIONS = {
    (method, path): operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if method != "parameters"
}


@pytest.fixture(scope="module")
def client():
    rules = OracleRules(
        noise=laplace.Mechanism(epsilon=0.5), accountant="sequential", cache=AnswerCache.TEXT, budget=1.0
    )
    with served(ServiceRounds(table((3, 9)), rules)) as url:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        with httpx.Client(base_url=url, headers=headers, verify=False, timeout=60) as client:
            yield client


def resolved(schema):
    """A schema with the definitions that it refers to."""
    text = json.dumps({**schema, "$defs": DOCUMENT["components"]["schemas"]})
    return json.loads(text.replace("#/components/schemas/", "#/$defs/"))


def require_documented(method, path, reply):
    """The status is in the document, and the body as its schema says."""
    responses = OPERATIONS[method, path]["responses"]
    assert str(reply.status_code) in responses, (reply.status_code, reply.text)
    content = responses[str(reply.status_code)].get("content")
    if content is None:
        assert reply.status_code in (200, 204)
    else:
        jsonschema.validate(reply.json(), resolved(content["application/json"]["schema"]))


def test_document_is_served_without_token(client):
    reply = httpx.get(f"{client.base_url}/openapi.json", verify=False)
    assert reply.json() == DOCUMENT
    assert reply.headers["content-type"] == "application/json"


def test_schemas_are_valid_and_every_reference_exists():
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(DOCUMENT)
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named == set(DOCUMENT["components"]["schemas"])


def test_document_has_the_parts_that_openapi_requires():
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert {"title", "version"} <= set(DOCUMENT["info"])
    for (_, path), operation in OPERATIONS.items():
        assert operation["responses"]
        assert all(reply["description"] for reply in operation["responses"].values())
        named = {parameter["name"] for parameter in DOCUMENT["paths"][path].get("parameters", ())}
        assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_every_documented_reply_occurs(client, monkeypatch):
    ask, one = "/rounds/{round}/ask", "/rounds/{round}"
    seen = set()

    def send(method, path, name="", status=None, headers=None, **body):
        reply = client.request(method, path.replace("{round}", name), headers=headers, **body)
        assert reply.status_code == status, reply.text
        require_documented(method, path, reply)
        seen.add((method, path, str(status)))
        return reply

    wrong, large = {"Authorization": "Bearer x"}, b" " * (request_limits.LARGEST_BODY + 1)
    send("get", "/health", status=200)
    send("get", "/openapi.json", status=200)
    name = send("post", "/rounds", status=201, json={"absent": [3]}).json()["round"]
    send("post", ask, name, 200, json={"ids": [1]})
    send("post", ask, name, 200, json={"kind": "sum", "column": "income", "bound": 5, "where": "age > 20"})
    send("post", ask, name, 403, json={"ids": [2]})
    send("post", ask, name, 413, json={"where": "id = 1" + " OR id = 1" * 2000})
    for path in ("/rounds", ask):
        send("post", path, name, 400, content=b"[]")
        send("post", path, name, 401, headers=wrong, json={})
        send("post", path, name, 413, content=large)
        send("post", path, name, 422, json={"colour": 1})
    send("post", ask, "other", 404, json={})
    send("delete", one, name, 401, headers=wrong)
    send("delete", one, name, 204)
    send("delete", one, name, 404)
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.05)
    for path in ("/rounds", ask):
        reply = half_body(client, path)
        assert reply.startswith(b"HTTP/1.1 408 ")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"].startswith("the body did not arrive")
        seen.add(("post", path, "408"))
    documented = {
        (method, path, status)
        for (method, path), operation in OPERATIONS.items()
        for status in operation["responses"]
    }
    assert seen == documented


def half_body(client, path):
    """What comes back when half of a body is sent, until the connection is closed."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 20\r\n\r\n{{"
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=60) as line:
        line.sendall(head.encode())
        received = b""
        while part := line.recv(4096):
            received += part
    return received


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", "/rounds", 405), ("PUT", "/health", 405), ("GET", "/rounds/x", 405)],
)
def test_other_paths_and_methods_get_the_same_form_of_error(client, method, path, status):
    reply = client.request(method, path)
    assert reply.status_code == status
    jsonschema.validate(reply.json(), DOCUMENT["components"]["schemas"]["Error"])
    assert (status == 405) == ("allow" in reply.headers)


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
IDS = st.integers(-3, 12) | st.text("ab'\"\0\n\ud800", max_size=3)
PREDICATES = st.lists(
    st.sampled_from(
        ["age", "id", ">", "=", "3", "'x'", "(", ")", "AND", "NOT", "IN", "NULL", ";", "--", "\0"]
    ),
    max_size=9,
).map(" ".join)
QUESTIONS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["count", "sum"]) | ANY_JSON,
        "column": st.sampled_from(["income", "age", "region", None]) | ANY_JSON,
        "bound": st.floats(0, 1e300, allow_nan=False) | ANY_JSON,
        "where": PREDICATES | ANY_JSON,
        "ids": st.lists(IDS, max_size=4) | ANY_JSON,
        "request": st.text(max_size=5) | ANY_JSON,
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    opening=st.fixed_dictionaries({}, optional={"absent": st.lists(IDS) | ANY_JSON}) | ANY_JSON,
    body=QUESTIONS | ANY_JSON,
)
def test_whatever_is_sent_the_reply_is_documented(client, opening, body):
    reply = client.post("/rounds", content=json.dumps(opening).encode())
    require_documented("post", "/rounds", reply)
    name = client.post("/rounds", json={}).json()["round"]
    reply = client.post(f"/rounds/{name}/ask", content=json.dumps(body).encode())
    require_documented("post", "/rounds/{round}/ask", reply)
    if reply.status_code in (200, 403):  # what is answered is a question by the schema
        jsonschema.validate(body, resolved(DOCUMENT["components"]["schemas"]["Question"]))
    client.delete(f"/rounds/{name}")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=30))
def test_bytes_that_are_no_json_are_400(client, body):
    reply = client.post("/rounds", content=body)
    require_documented("post", "/rounds", reply)
    assert reply.status_code in (400, 422) or json.loads(body).keys() <= {"absent"}
