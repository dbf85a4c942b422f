import json

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.remote.http_client import UnclearReply
from leakgauge.domains.queries.remote.plan_tables import AskRequest, QueriesServiceTable, SumForm
from leakgauge.domains.queries.remote.question_values import grouped_answer, query_values
from leakgauge.domains.queries.remote.request_templates import HttpMethod, RequestTemplate

URL = "http://127.0.0.1:8700"
AGES = Query(kind=QueryKind.HISTOGRAM, group_by="age", edges=(20, 30, 60), where="age < 55")
REGIONS = Query(
    kind=QueryKind.AVERAGE, column="income", bound=25.0, group_by="region", groups=("north", "it's", "south")
)


def test_placeholder_keeps_type_alone_and_becomes_text_in_string():
    template = RequestTemplate(
        path="/r/{round}",
        json={"ids": "{ids}", "deep": [{"n": "{bound}", "not": "{where} "}, 7, True], "none": "{column}"},
    )
    values = {"round": 5, "ids": [1, "a"], "bound": 2.5, "where": "x = 'y'", "column": None}
    call = template.fill(values, None)
    assert json.loads(call.content) == {
        "ids": [1, "a"],
        "deep": [{"n": 2.5, "not": "x = 'y' "}, 7, True],
        "none": None,
    }
    assert (call.method, call.path) == ("POST", "/r/5")


def test_path_values_are_escaped():
    template = RequestTemplate(path="/q/{round}?where={where}", method=HttpMethod.GET)
    call = template.fill({"round": "../a b", "where": "age > 3 & x = 'ü'"}, None)
    assert call.path == "/q/..%2Fa%20b?where=age%20%3E%203%20%26%20x%20%3D%20%27%C3%BC%27"
    assert call.content is None


def test_request_key_reveals_no_content():
    assert RequestTemplate(path="/q/{ids}").fill({"ids": [17]}, None).name == "POST /q/{ids}"


def test_token_is_sent_as_bearer_by_default():
    assert RequestTemplate(path="/").fill({}, "abc").headers == {"Authorization": "Bearer abc"}
    own = RequestTemplate(path="/", headers={"X-Api-Key": "key {token}"}).fill({}, "abc")
    assert own.headers == {"X-Api-Key": "key abc"}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"path": "rounds"}, "path must begin with /"),
        ({"path": "/{ronud}"}, "did you mean 'round'"),
        ({"path": "/", "json": {"a": [{"b": "{nobody}"}]}}, "known: absent, present"),
        ({"path": "/", "json": {"t": "{token}"}}, "no placeholder here is called 'token'"),
        ({"path": "/", "json": {"t": float("nan")}}, "not valid JSON"),
        ({"path": "/", "json": object()}, "not valid JSON"),
        ({"path": "/", "headers": {"X": 3}}, "must be a string"),
        ({"path": "/", "headers": {"Authorization": "Bearer abc"}}, "would be stored in the manifest"),
        ({"path": "/", "headers": {"x-api-key": "abc"}}, "would be stored in the manifest"),
        ({"path": "/", "headers": {"X-Auth-Token": "abc"}}, "would be stored in the manifest"),
        ({"path": "/", "headers": {"X": "{toke}"}}, "did you mean 'token'"),
    ],
)
def test_rejects_template_that_cannot_be_filled(template, message):
    with pytest.raises(BadInput, match=message):
        RequestTemplate(**template)


def service(**json):
    return QueriesServiceTable(url=URL, ask=AskRequest(path="/{world}", json=json), table="t.people")


def test_query_is_written_in_every_notation():
    asked = Query(kind=QueryKind.SUM, column='in"come', bound=10.0, ids=("O'Hara", "b"))
    values = query_values(asked, service(q="{sql}"), "name")
    assert values == {
        "kind": "sum",
        "column": 'in"come',
        "bound": 10.0,
        "where": "\"name\" IN ('O''Hara', 'b')",
        "predicate": None,
        "ids": ["O'Hara", "b"],
        "group_by": None,
        "groups": None,
        "edges": None,
        "sql": 'SELECT SUM(LEAST(GREATEST("in""come", -10.0), 10.0)) FROM t.people '
        "WHERE \"name\" IN ('O''Hara', 'b')",
    }
    by_text = query_values(Query(where="age > 3"), service(q="{sql}"), "name")
    assert (by_text["where"], by_text["predicate"], by_text["ids"]) == ("age > 3", "age > 3", None)
    assert by_text["sql"] == "SELECT COUNT(*) FROM t.people WHERE age > 3"
    assert query_values(Query(ids=()), service(q="{sql}"), "name")["where"] == "FALSE"


@pytest.mark.parametrize(
    ("column", "said"),
    [("income", "SUM(income)"), ("Net income", 'SUM("Net income")'), ("größe", 'SUM("größe")')],
)
def test_plain_sum_leaves_the_bound_to_the_service(column, said):
    query = Query(kind=QueryKind.SUM, column=column, bound=25.0, ids=(3, 4))
    there = QueriesServiceTable(
        url=URL, sums=SumForm.PLAIN, ask=AskRequest(path="/{world}", json={"q": "{sql}"}), table="main.t"
    )
    assert query_values(query, there, "id")["sql"] == f'SELECT {said} FROM main.t WHERE "id" IN (3, 4)'


def test_plain_sums_need_sql():
    with pytest.raises(BadInput, match=r"only \{sql\} contains a sum"):
        QueriesServiceTable(url=URL, sums=SumForm.PLAIN)


def test_query_sql_gives_true_answer():
    import duckdb

    from domains.queries.small_table import table

    asked = table(targets=(3,)).ask(
        query := Query(kind=QueryKind.SUM, column="income", bound=25.0, ids=(0, 3, 4, 9))
    )
    sql = query_values(query, QueriesServiceTable(url=URL), "id")["sql"]
    incomes = {0: 0.5, 3: 30.5, 4: -40.0, 9: 1000.0, 5: 50.0}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE records (id BIGINT, income DOUBLE)")
        connection.executemany("INSERT INTO records VALUES (?, ?)", list(incomes.items()))
        assert connection.execute(sql).fetchone()[0] == 25.5 == asked.total + asked.shifts.sum()


@pytest.mark.parametrize(
    ("template", "query", "message"),
    [
        ({"ids": "{ids}"}, Query(where="age > 3"), "by a predicate, which {ids} does not contain"),
        ({"p": "{predicate}"}, Query(ids=(3,)), "by ids, which {predicate} does not contain"),
        ({"w": "{where}"}, AGES, "does not contain the groups"),
    ],
)
def test_rejects_template_that_omits_the_query(template, query, message):
    with pytest.raises(BadInput, match=message):
        query_values(query, service(**template), "id")


@pytest.mark.parametrize("query", [AGES, REGIONS, Query(kind=QueryKind.AVERAGE, column="income", bound=25.0)])
def test_sql_of_groups_and_averages_gives_the_true_answer(query):
    from domains.queries.small_table import records, table

    asked = table(targets=(3,)).ask(query)
    total, count = asked.total + asked.shifts.sum(axis=0), asked.n_others + asked.n_targets.sum(axis=0)
    expected = total / count if query.kind is QueryKind.AVERAGE else total
    values = query_values(query, QueriesServiceTable(url=URL), "id")
    rows = records()._database.execute(values["sql"]).fetchall()
    found = rows[0][0] if query.group_by is None else grouped_answer([list(row) for row in rows], values)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("query", "reply", "expected"),
    [
        (REGIONS, [1, 2.5, 3], [1, 2.5, 3]),
        (REGIONS, [["south", 3.0], ["elsewhere", 9.0], ["north", 1.0]], [1, np.nan, 3]),
        (REGIONS, {"it's": 2.5, "north": None}, [np.nan, 2.5, np.nan]),
        (AGES, [[1, 4.0], [None, 8.0]], [np.nan, 4]),
        (AGES, {"0": 1.0, "1": 2.0}, [1, 2]),
    ],
)
def test_answers_of_groups_are_read_in_three_forms(query, reply, expected):
    values = query_values(query, QueriesServiceTable(url=URL), "id")
    np.testing.assert_array_equal(grouped_answer(reply, values), expected)


@pytest.mark.parametrize("reply", [3.0, [1.0], "many", [1.0, 2.0, "x"]])
def test_unclear_answers_of_groups_are_no_evidence(reply):
    with pytest.raises(UnclearReply):
        grouped_answer(reply, query_values(REGIONS, QueriesServiceTable(url=URL), "id"))
