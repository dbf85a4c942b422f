import numpy as np
import pytest

from domains.drafted import drafted, drafted_plan, drafted_table, recognised
from leakgauge.core.errors import BadInput


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(3)
    rows = [f"{i + 100},{rng.integers(18, 90)},{'ns'[rng.integers(2)]},{rng.normal():.2f}" for i in range(80)]
    path = tmp_path / "people.csv"
    path.write_text("patient_id,age,region,weight\n" + "\n".join(rows) + "\n")
    return path


def test_a_table_of_people_becomes_a_plan_that_can_be_run(people, tmp_path):
    assert recognised(people) == "records"
    (audit,) = drafted_plan(people, "records", tmp_path / "audit").audits
    assert audit.data["id"] == "patient_id"
    assert audit.challenger["budget"] == 1.0
    columns = audit.contenders[0].knowledge_parameters["columns"]
    assert "patient_id" not in columns
    assert columns == ["age", "region", "weight"]


def test_ids_and_a_smallest_count_change_the_attackers(people, tmp_path):
    audit = drafted_table(people, "records", tmp_path, select="ids", smallest="10", epsilon="0.5", budget="3")
    assert [attack["name"] for attack in audit["attacks"]] == ["split_likelihood", "repeat", "refusal"]
    assert "knowledge" not in audit["attacks"][0]
    assert audit["attacks"][0]["queries"] == 12  # twice as many as the budget pays for
    assert (audit["challenger"]["at_least"], audit["challenger"]["suppress_by"]) == (10, "answer")
    assert audit["mechanism"] == {"name": "laplace", "epsilon": 0.5}


def test_a_smallest_count_can_be_run_as_well(people, tmp_path):
    drafted_plan(people, "records", tmp_path / "audit", smallest="5")


def test_a_query_log_is_exposed_without_a_plan(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("query,records,epsilon\nq1,ann;bob,0.5\nq2,ann,0.5\n")
    assert recognised(path) == "query-log"
    assert drafted(path, "query-log", tmp_path).command == ("expose", "--query-log", str(path))


def test_a_log_of_predicates_needs_the_table(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("query,where,epsilon\nq1,age > 30,0.5\nq2,age > 40,0.5\n")
    with pytest.raises(BadInput, match="answer with --data"):
        drafted(path, "query-log", tmp_path)
    (tmp_path / "t.csv").write_text("id,age\n1,20\n")
    command = drafted(path, "query-log", tmp_path, data=str(tmp_path / "t.csv")).command
    assert command[-2] == "--data"
    with pytest.raises(BadInput, match="--data: there is no file"):
        drafted(path, "query-log", tmp_path, data=str(tmp_path / "u.csv"))


def test_the_column_of_ids_of_the_table_is_passed_on(tmp_path):
    path, table = tmp_path / "log.csv", tmp_path / "t.csv"
    path.write_text("query,where,epsilon\nq1,age > 30,0.5\n")
    table.write_text("Kundennr,code,age\nK1,C1,20\nK2,C2,20\n")
    assert drafted(path, "query-log", tmp_path, data=str(table)).command[-2:] == ("--id", "Kundennr")
    assert drafted(path, "query-log", tmp_path, data=str(table), id="code").command[-2:] == ("--id", "code")
    table.write_text("one,two,age\nK1,C1,20\nK2,C2,20\n")
    with pytest.raises(BadInput, match=r"names a record.*answer with --id"):
        drafted(path, "query-log", tmp_path, data=str(table))


def test_a_log_of_json_lines_is_recognised_and_nothing_else_is(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"query": "q1", "records": ["ann", "bob"], "epsilon": 0.5}\n')
    assert recognised(path) == "query-log"
    assert drafted(path, "query-log", tmp_path).command == ("expose", "--query-log", str(path))
    with pytest.raises(BadInput, match="--kind records does not read JSON lines; save the table as CSV"):
        drafted(path, "records", tmp_path)
    path.write_text('{"id": 1, "age": 30, "label": "a"}\n{"id": 2, "age": 40, "label": "b"}\n')
    with pytest.raises(BadInput, match="cannot be recognised"):
        recognised(path)
    path.write_text('{"id": 1\n')
    with pytest.raises(BadInput, match="write one object on each line"):
        recognised(path)


def test_a_running_service_gets_a_plan_and_no_preview(people, tmp_path):
    found = drafted(people, "query-service", tmp_path / "audit", url="http://127.0.0.1:9000")
    assert "start the service first" in found.obstacle
    audit = drafted_table(None, "query-service", tmp_path)
    assert audit["challenger"]["own_service"] is True
    assert audit["challenger"]["service"]["url"] == "http://127.0.0.1:8700"
