import pickle

import numpy as np
import pytest

from domains.queries.small_table import TYPES, records, table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.records import OracleRecords


def rows(table, **selection):
    return table.rows(table.condition(Query(**selection))).tolist()


def test_unknown_ids_select_nothing():
    assert rows(records(), ids=(7, 3, 99)) == [3, 7]
    assert rows(records(), ids=()) == []
    assert rows(records()) == list(range(10))


def test_ids_equal_a_condition_on_their_column():
    table = records()
    assert table.condition(Query(ids=(3, 7))) == table.condition(Query(where="id = 7 OR id IN (3)"))


@pytest.mark.parametrize("odd", [("3",), (3.0,), (True,)])
def test_rejects_ids_of_wrong_type(odd):
    with pytest.raises(BadInput, match="ids of this table are whole numbers"):
        records().condition(Query(ids=odd))


def test_text_ids_work():
    names = np.array([f"it's {i}" for i in range(10)], dtype=object)
    table = OracleRecords(
        {"name": TYPES["region"], "age": TYPES["age"]}, {"name": names, "age": np.arange(10)}, "name", "d"
    )
    assert rows(table, ids=("it's 3",)) == rows(table, where="name = 'it''s 3'") == [3]
    with pytest.raises(BadInput, match="are texts"):
        table.condition(Query(ids=(3,)))


def test_values_are_clipped_to_bound():
    query = Query(kind=QueryKind.SUM, column="income", bound=25.0)
    assert records().values(query, np.array([0, 3, 4, 9])).tolist() == [0.5, 25, -25, 25]
    assert records().values(Query(), np.array([0, 3])).tolist() == [1, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rejects_sum_over_missing_values(bad):
    incomes = np.array([1.0] * 9 + [bad])
    with pytest.raises(BadInput, match="no finite number in 1 of 10"):
        records(income=incomes).numbers("income")
    with pytest.raises(BadInput, match="no finite number in 1 of 10"):
        records().numbers("age")  # one is masked


def test_rejects_sum_over_non_numbers():
    with pytest.raises(BadInput, match="only numbers"):
        records().numbers("region")
    with pytest.raises(BadInput, match="did you mean 'income'"):
        records().numbers("incme")


def test_ids_must_be_present_and_unique():
    with pytest.raises(BadInput, match="1 values of 'id' are repeated"):
        records(id=np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 0]))
    with pytest.raises(BadInput, match="1 records have no 'id'"):
        records(id=np.ma.masked_array(np.arange(10), mask=[True] + [False] * 9))
    with pytest.raises(BadInput, match="ids are whole numbers or texts"):
        OracleRecords(TYPES, records().columns, "income", "d")
    with pytest.raises(BadInput, match="no record"):
        OracleRecords({"id": TYPES["id"]}, {"id": np.arange(0)}, "id", "d")


def test_table_can_be_pickled():
    there = pickle.loads(pickle.dumps(records()))
    text = "region = 'north' OR (age > 50 AND smoker) OR since < '2020-01-03' OR income > 900"
    assert rows(there, where=text) == rows(records(), where=text) == [0, 1, 5, 9]


def test_database_has_no_external_access(tmp_path):
    import duckdb

    (tmp_path / "secret.csv").write_text("a\n1\n")
    database = records()._database
    for sql in (
        f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
        f"COPY records TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/other.db'",
        "SET enable_external_access = true",
        "SET threads = 4",
        "INSTALL httpfs",
        "SELECT * FROM given",
    ):
        with pytest.raises(duckdb.Error):
            database.execute(sql)
    assert not (tmp_path / "out.csv").exists()


def test_others_are_summed_and_targets_are_separate():
    asked = table(targets=(9, 4)).ask(
        Query(kind=QueryKind.SUM, column="income", bound=50.0, where="income > 30 OR id = 4")
    )
    assert asked.others.tolist() == [3, 5, 6, 7, 8]
    assert asked.total == 30.5 + 50 + 50 + 50 + 50
    assert asked.shifts.tolist() == [50, -40]
    assert asked.targets.tolist() == [True, True]


def test_unselected_target_contributes_nothing():
    asked = table(targets=(9, 4)).ask(Query(ids=(1, 4)))
    assert asked.targets.tolist() == [False, True]
    assert asked.shifts.tolist() == [0, 1]
    assert asked.total == 1


def test_query_is_evaluated_once():
    there = table()
    assert there.ask(Query(ids=(1,))) is there.ask(Query(ids=(1,)))


def test_pickle_omits_caches():
    there = table()
    there.ask(Query(where="age > 30"))
    back = pickle.loads(pickle.dumps(there))
    assert back.targets.tolist() == [3]
    assert (
        back.ask(Query(where="age > 30")).others.tolist()
        == there.ask(Query(where="age > 30")).others.tolist()
    )


@pytest.mark.parametrize("targets", [(), (3, 3)])
def test_targets_must_be_distinct_records(targets):
    with pytest.raises(BadInput, match="each once"):
        table(targets=np.array(targets, dtype=int))
