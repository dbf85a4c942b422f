import gzip

import duckdb
import numpy as np
import pytest

from domains.queries.log.query_logs import RECORDS, contained, read, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.files import QueryLogFiles
from leakgauge.domains.queries.log.reader import read_query_log

HEADER = "query,records,epsilon\n"
QUERIES = "query,epsilon\n1,0.5\n2,1\n"


def test_id_lists_are_separated_by_semicolons_or_spaces(tmp_path):
    log = read(tmp_path, HEADER + "q1,ann;bob ,0.5\nq2, bob  cem;,0.5\nq3,,0.5\n")
    assert contained(log) == {"ann": ["q1"], "bob": ["q1", "q2"], "cem": ["q2"]}
    assert log.answers.scale.tolist() == [2.0, 2.0, 2.0]


def test_json_lines_and_parquet_use_lists(tmp_path):
    lines = (
        '{"query": 1, "records": ["x y", "z"], "epsilon": 0.5}\n{"query": 2, "records": ["z"], "scale": 4}\n'
    )
    log = read_query_log(QueryLogFiles(written(tmp_path, lines, "log.jsonl")))
    assert contained(log) == {"x y": [1], "z": [1, 2]}
    with duckdb.connect() as database:
        database.execute(f"COPY (FROM '{tmp_path}/log.jsonl') TO '{tmp_path}/log.parquet'")
    again = read_query_log(QueryLogFiles(tmp_path / "log.parquet"))
    assert contained(again) == contained(log)
    assert again.answers.scale.tolist() == log.answers.scale.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
@pytest.mark.parametrize("ids", [[7, 8, 5_000_000_000], ["ann", "bob", "007"], [2**70, 2**70 + 1, 3]])
def test_pair_rows_are_equal_in_all_formats(tmp_path, kind, ids):
    rows = "".join(f"{query},{ids[place]}\n" for query, place in ((2, 0), (1, 0), (1, 1), (2, 2)))
    path = written(tmp_path, "query,record\n" + rows, "pairs.csv")
    if kind == "parquet":
        with duckdb.connect() as database:
            record = {int: "BIGINT", str: "VARCHAR"}[type(ids[0])] if ids[0] != 2**70 else "DECIMAL(38, 0)"
            texts = f"read_csv('{path}', all_varchar = true)"
            source = f"SELECT CAST(query AS BIGINT) AS query, CAST(record AS {record}) AS record FROM {texts}"
            database.execute(f"COPY ({source}) TO '{tmp_path}/pairs.parquet'")
    elif kind == "csv.gz":
        (tmp_path / "pairs.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    log = read(tmp_path, QUERIES, contains=tmp_path / f"pairs.{kind}")
    found = {str(name): queries for name, queries in contained(log).items()}
    assert found == {str(ids[0]): [1, 2], str(ids[1]): [1], str(ids[2]): [2]}


def test_one_file_may_hold_noise_and_pairs(tmp_path):
    log = read(tmp_path, "query,record,epsilon\n1,ann,0.5\n1,bob,0.5\n2,ann,1\n")
    assert contained(log) == {"ann": [1, 2], "bob": [1]}
    assert log.answers.rows.tolist() == [1, 3]


def test_ids_are_compared_as_text(tmp_path):
    log = read(tmp_path, HEADER + "7,1;01,0.5\n007,1,0.5\n")
    assert contained(log) == {"01": ["7"], "1": ["7", "007"]}


def test_rows_with_same_id_are_one_release(tmp_path):
    log = read(tmp_path, HEADER + "1,a;b,0.5\n2,a,1\n1,a;b,0.50\n")
    assert contained(log) == {"a": [1, 2], "b": [1]}
    assert "Rows of the log that repeat an earlier id (the same release, counted once): 1." in log.notes


def test_predicates_match_duckdb(tmp_path):
    rng = np.random.default_rng(1)
    people = "".join(
        f"{i},{age},{region}\n"
        for i, (age, region) in enumerate(zip(rng.integers(18, 90, 300), rng.choice(["north", "it's"], 300)))
    )
    table = written(tmp_path, "number,age,region\n" + people, "people.csv")
    wheres = ["age >= 30", "age < 25 OR region = 'it''s'", "NOT (age BETWEEN 40 AND 60)", "age > 200"]
    rows = "".join(f'{i},"{where}",0.1\n' for i, where in enumerate(wheres))
    log = read(tmp_path, "query,where,epsilon\n" + rows + "9,,0.1\n", data=table, id="number")
    sizes = np.bincount(log.incidence.queries, minlength=5)
    with duckdb.connect() as database:
        counts = [
            database.execute(f"SELECT count(*) FROM '{table}' WHERE {where}").fetchall()[0][0]
            for where in [*wheres, "true"]
        ]
        old = database.execute(f"SELECT number FROM '{table}' WHERE {wheres[2]}").fetchall()
    assert sizes.tolist() == counts
    assert {name for name, queries in contained(log).items() if 2 in queries} == {name for (name,) in old}


def test_unqueried_table_records_are_kept(tmp_path):
    table = written(tmp_path, RECORDS, "people.csv")
    log = read(tmp_path, HEADER + "q,1;3,0.5\n", data=table)
    assert contained(log) == {1: ["q"], 2: [], 3: ["q"], 4: []}


def test_lists_and_predicates_may_be_mixed(tmp_path):
    table = written(tmp_path, RECORDS, "people.csv")
    log = read(tmp_path, "query,where,records,epsilon\n1,age>30,,0.5\n2,,1;4,.5\n", data=table)
    assert contained(log) == {1: [2], 2: [], 3: [1], 4: [1, 2]}


def test_sum_values_come_from_table_and_are_clipped(tmp_path):
    table = written(tmp_path, RECORDS, "people.csv")
    text = "query,where,kind,column,bound,epsilon\n1,,sum,income,100,1\n2,age > 20,,,,0.5\n"
    log = read(tmp_path, text, data=table)
    assert log.incidence.contributions.tolist() == [5, 50, 1, 100, 1, -20, 1]
    assert log.answers.scale.tolist() == [100.0, 2.0]
    assert "Contributions clipped to the bound of their sum: 1." in log.notes


def test_sums_of_one_column_keep_one_value_for_each_record(tmp_path):
    table = written(tmp_path, RECORDS, "people.csv")
    text = "query,where,kind,column,bound,epsilon\n1,,sum,income,{},1\n2,age > 20,sum,income,{},0.5\n"
    log = read(tmp_path, text.format(500, 600), data=table)
    assert log.incidence.contributions.values.tolist() == [5, 50, 500, -20]
    assert log.incidence.contributions[:].tolist() == [5, 50, 50, 500, 500, -20, -20]
    clipped = read(tmp_path, text.format(100, 600), data=table)  # only the first sum clips
    assert clipped.incidence.contributions.tolist() == [5, 50, 50, 100, 500, -20, -20]
    uneven = RECORDS.replace("2,30,50", "2,30,50.5")
    table = written(tmp_path, uneven, "uneven.csv")
    whole = text.replace("epsilon", "epsilon,mechanism").replace(",1\n", ",1,geometric\n", 1)
    with pytest.raises(BadInput, match="row 1, contribution of a record: geometric noise is for whole"):
        read(tmp_path, whole.format(500, 600).replace(",0.5\n", ",0.5,laplace\n"), data=table)


def test_contributions_are_clipped_on_both_sides(tmp_path):
    text = (
        "query,record,kind,bound,epsilon,contribution\n1,a,sum,10,1,-90\n1,b,sum,10,1,-3\n1,c,sum,10,1,90\n"
    )
    log = read(tmp_path, text)
    assert sorted(log.incidence.contributions.tolist()) == [-10, -3, 10]
    assert "Contributions clipped to the bound of their sum: 2." in log.notes


def test_sums_without_values_count_fully(tmp_path):
    log = read(tmp_path, "query,records,kind,bound,epsilon\n1,a,sum,5,1\n")
    assert log.incidence.contributions is None
    assert (log.answers.bound[0], log.answers.scale[0]) == (5.0, 5.0)
    assert any("whole bound" in note for note in log.notes)


def test_contributions_may_be_given(tmp_path):
    pairs = written(tmp_path, "query,record,contribution\n1,a,-3\n1,b,9\n", "pairs.csv")
    log = read(tmp_path, "query,kind,bound,epsilon\n1,sum,5,1\n", contains=pairs)
    assert log.incidence.contributions.tolist() == [-3.0, 5.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (HEADER, "no query in it"),
        ("q,records,epsilon\n1,1,1\n", "no column is called 'query'"),
        ("query,epsilon\n1,1\n", "does not list the records of a query"),
        ("query,query,epsilon\n1,1,1\n", "line 1: every column needs a name, and a different one"),
        (HEADER + "1,1,1\n,1,1\n", "row 2: has no query id"),
        (HEADER + "1,1,1\n2,1,x\n", "row 2: epsilon is not a number"),
        (HEADER + "1,1,1\n2,1\n", "Line: 3: Expected Number of Columns: 3 Found: 2"),
        (HEADER + "1,,1\n", "no query of the log contains a record"),
        (HEADER + "1,a,1\n1,a,2\n", "row 2: has the query id of row 1 but different values"),
        (HEADER + "1,a,1\n1,b,1\n", "row 2: has the query id of row 1 but different values"),
        ("query,where,epsilon\n1,a > 1,1\n", "row 1: selects by a predicate, which needs the table"),
        ("query,where,records,epsilon\n1,,a,1\n2,a > 1,a,1\n", "row 2: has both where and records"),
        ("query,where,records,epsilon\n1,,a,1\n2,,,1\n", "row 2: has neither where nor records"),
    ],
)
def test_log_error_names_row(tmp_path, text, message):
    with pytest.raises(BadInput, match=rf"log\.csv.*{message}|{message}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("query,record\n1,a\n3,a\n", "row 2, column query: no query of the log"),
        ("query,record\n1,a\n2,\n", "row 2: has no record id"),
        ("query,rec\n1,a\n", "has no column 'record'; it has query, rec; needed: query, record"),
        (
            "query,record,contribution\n1,a,1\n2,a,nan\n",
            "row 2, column contribution: must be the finite number .*, and is not finite; write 1",
        ),
        ("query,record,contribution\n1,a,1\n2,a,one\n", "and is not a number; write 1"),
        (
            'query,record,contribution\n1,a,1.0\n2,a,"0,5"\n',
            "and has a decimal comma instead of a point; write",
        ),
        (
            "query,record,contribution\n1,a,1\n2,a,\n",
            "row 2, column contribution: must be the finite number .*, and is empty; write 1 for a count",
        ),
        ("query,record,contribution\n1,a,1\n2,a,-1.5\n", "row 2, contribution of a record: .*at most 1"),
        ("query,record,contribution\n1,a,1\n1,a,0\n", "two different values"),
    ],
)
def test_pairs_error_names_row(tmp_path, pairs, message):
    path = written(tmp_path, pairs, "pairs.csv")
    with pytest.raises(BadInput, match=message):
        read(tmp_path, QUERIES, contains=path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,1,1\n2,9,1\n", "row 2, column record: no record of data"),
        (HEADER + "1,01,1\n", "row 1, column record: no record of data"),
        ("query,where,epsilon\n1,age > 3,1\n2,agee > 3,1\n", "row 2: where = 'agee > 3'.*'age'"),
        ("query,where,epsilon\n1,age > 3; DROP TABLE log,1\n", "row 1: .*besides the predicate"),
        ("query,where,epsilon\n1,id IN (SELECT 1),1\n", "row 1: "),
        ("query,records,kind,bound,epsilon\n1,1,sum,5,1\n", "row 1: a sum needs the column"),
        ("query,records,kind,column,bound,epsilon\n1,1,sum,incom,5,1\n", "row 1: .*'income'"),
    ],
)
def test_rejects_log_not_matching_table_with_row_number(tmp_path, text, message):
    table = written(tmp_path, RECORDS, "people.csv")
    with pytest.raises(BadInput, match=message):
        read(tmp_path, text, data=table)


def test_unreadable_row_is_not_quoted(tmp_path):
    with pytest.raises(BadInput) as caught:
        read(tmp_path, HEADER + "1,ann;bob\n")
    assert "bob" not in str(caught.value)


@pytest.mark.parametrize(
    ("people", "id_column", "message"),
    [
        (
            "name,age\nann,20\n",
            None,
            "id column: people.csv has no column 'id'; it has name, age. Name it .--id",
        ),
        ("name,age\nann,20\n", "nam", 'id column: .* Name it .--id, in Python id_column=.*: "name"'),
        ("id,age\n1,20\n1,30\n", None, "id column: 1 values of 'id' are repeated"),
        ("id,age\n", None, "data: there is no record"),
        ("id,age\n1,20,30\n2,20\n", None, "data: people.csv cannot be read"),
    ],
)
def test_table_error_names_command_option(tmp_path, people, id_column, message):
    table = written(tmp_path, people, "people.csv")
    with pytest.raises(BadInput, match=f"^{message}"):
        read(tmp_path, HEADER + "1,1,1\n", data=table, id=id_column)


def test_rejects_records_given_twice(tmp_path):
    pairs = written(tmp_path, "query,record\n1,a\n", "pairs.csv")
    with pytest.raises(BadInput, match="leave one of them out"):
        read(tmp_path, HEADER + "1,a,1\n", contains=pairs)
    with pytest.raises(BadInput, match="the id column is one of the table"):
        QueryLogFiles(tmp_path / "log.csv", id="id")


def test_missing_or_unknown_files_are_reported(tmp_path):
    with pytest.raises(BadInput, match="query log: there is no file"):
        read_query_log(QueryLogFiles(tmp_path / "log.csv"))
    with pytest.raises(BadInput, match="unknown ending"):
        read_query_log(QueryLogFiles(written(tmp_path, "x", "log.xlsx")))
    with pytest.raises(BadInput, match="data: there is no file"):
        read(tmp_path, HEADER + "1,a,1\n", data=tmp_path / "people.csv")
    (tmp_path / "raw.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match=r"raw\.csv is in UTF-16, not in UTF-8"):
        read_query_log(QueryLogFiles(tmp_path / "raw.csv"))


@pytest.mark.parametrize("name", ["log.csv", "log.txt", "log.tsv"])
def test_separators_and_decimal_commas_are_detected(tmp_path, name):
    text = "query;records;epsilon;sigma\nq1;1 2;0,3;\nq2;2;1;\nq3;2;;1,125\n"
    log = read_query_log(QueryLogFiles(written(tmp_path, text, name)))
    same = read(tmp_path, "query,records,epsilon,sigma\nq1,1 2,0.3,\nq2,2,1,\nq3,2,,1.125\n")
    assert log.answers.scale.tolist() == same.answers.scale.tolist()
    assert contained(log) == contained(same)


def test_contributions_and_the_table_may_have_decimal_commas(tmp_path):
    names = "query;record;contribution;kind;column;bound;epsilon\n"
    commas = read(tmp_path, f"{names}q1;a;1,5;sum;x;2;0,5\nq1;b;-0,5;sum;x;2;0,5\n")
    text = f"{names}q1;a;1.5;sum;x;2;0.5\nq1;b;-0.5;sum;x;2;0.5\n"
    assert (
        list(commas.incidence.contributions)
        == list(read(tmp_path, text).incidence.contributions)
        == [1.5, -0.5]
    )
    rows = "".join(f"{i:03};{i},{i % 7}\n" for i in range(60))
    people = written(tmp_path, f"who;age\n{rows}", "people.csv")
    log = read(tmp_path, "query;where;epsilon\nq1;age >= 57.3;0,5\n", data=people, id="who")
    assert [name for name, queries in contained(log).items() if queries] == ["058", "059"]


@pytest.mark.parametrize("numbers", [("0,3", "0.3"), ("1,234", "2"), ("0,3", "1.234,5")])
def test_numbers_whose_decimal_mark_is_not_clear_are_refused(tmp_path, numbers):
    text = "query;records;scale\n" + "".join(f"q{i};1;{number}\n" for i, number in enumerate(numbers))
    with pytest.raises(BadInput, match=r"row \d: scale is not a number; fix it \(write 0\.5; in a file of"):
        read(tmp_path, text)
