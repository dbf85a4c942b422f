from pathlib import Path

import duckdb
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.data import load_records
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.sql.conditions import ColumnType
from leakgauge.support.frame_source import hold_frame

CSV = 'id,age,income,region,smoker,day\n7,30,1.5,north,true,2020-01-02\n9,40,,"it\'s",false,2021-03-04\n'


def write(folder, text=CSV, name="records.csv"):
    (folder / name).write_text(text)
    return {"source": name}


def test_reads_csv(tmp_path):
    table = load_records(write(tmp_path), tmp_path, 1)
    assert table.ids == (7, 9)
    assert list(table.types.values()) == [
        ColumnType.WHOLE,
        ColumnType.WHOLE,
        ColumnType.REAL,
        ColumnType.TEXT,
        ColumnType.TRUTH,
        ColumnType.TIME,
    ]
    assert table.rows(table.condition(Query(where="day > '2020-12-31' AND income IS NULL"))).tolist() == [1]
    assert table.rows(table.condition(Query(where="smoker AND region = 'north'"))).tolist() == [0]


def test_reads_parquet(tmp_path):
    write(tmp_path)
    with duckdb.connect(":memory:") as database:
        database.execute(
            f"COPY (SELECT * REPLACE (CAST(age AS TINYINT) AS age, CAST(income AS DECIMAL(5, 2)) AS income) "
            f"FROM read_csv('{tmp_path}/records.csv')) TO '{tmp_path}/records.parquet'"
        )
    one, other = (load_records({"source": f"records.{kind}"}, tmp_path, 1) for kind in ("csv", "parquet"))
    assert one.types == other.types
    for name in one.types:
        assert np.ma.filled(one.columns[name].astype(object), None).tolist() == (
            np.ma.filled(other.columns[name].astype(object), None).tolist()
        )


def test_rows_without_ids_are_numbered(tmp_path):
    table = load_records(write(tmp_path, "age\n30\n40\n"), tmp_path, 1)
    assert (table.id_column, table.ids) == ("id", (0, 1))


def test_id_column_is_configurable(tmp_path):
    table = load_records({**write(tmp_path), "id": "region"}, tmp_path, 1)
    assert table.ids == ("north", "it's")


def test_a_file_with_decimal_commas_holds_the_same_records(tmp_path):
    (tmp_path / "a.csv").write_text("id,pay\n1,10.5\n2,11\n")
    (tmp_path / "b.csv").write_text("id;pay\n1;10,5\n2;11\n")
    plain = load_records({"source": "a.csv"}, tmp_path, 1)
    commas = load_records({"source": "b.csv", "decimal": ","}, tmp_path, 1)
    texts = load_records({"source": "b.csv"}, tmp_path, 1)
    assert plain.columns["pay"].tolist() == commas.columns["pay"].tolist() == [10.5, 11.0]
    assert texts.digest != commas.digest


@pytest.mark.parametrize(
    ("mark", "word", "decimal", "problem"),
    [
        (",", "NA", ".", "'pay' are written with decimal commas; write decimal = \",\""),
        (",", "n/a", ",", "'pay' of a.csv holds numbers in 40 rows and other texts in 1; leave the cells of"),
        (".", "-", ".", "'pay' of a.csv holds numbers in 40 rows and other texts in 1; leave the cells of"),
        (".", "7", ",", "'pay' are written with decimal points, and the plan says decimal = \",\""),
    ],
)
def test_numbers_that_would_be_texts_are_refused(tmp_path, mark, word, decimal, problem):
    rows = [f"{i};{i}{mark}{i % 7}\n" for i in range(40)]
    (tmp_path / "a.csv").write_text("id;pay\n" + "".join(rows) + f"40;{word}\n")
    with pytest.raises(BadInput) as told:
        load_records({"source": "a.csv", "decimal": decimal}, tmp_path, 1)
    assert problem in str(told.value)
    (tmp_path / "a.csv").write_text("id;pay\n" + "".join(rows) + "40;\n")
    pay = load_records({"source": "a.csv", "decimal": mark}, tmp_path, 1).columns["pay"]
    assert pay[39] == 39.4
    assert np.ma.is_masked(pay[40])


def test_ids_with_leading_zeros_are_texts(tmp_path):
    rows = "".join(f"{i:04d},{i % 50 + 20},{i:03d}\n" for i in range(100))
    source = write(tmp_path, f"Kundennr,Alter,Filiale\n{rows}")
    assert load_records({**source, "id": "Kundennr"}, tmp_path, 1).ids[7] == "0007"
    assert load_records(source, tmp_path, 1).columns["Kundennr"].tolist()[7] == "0007"


@pytest.mark.parametrize("key", ["id", "person"])
def test_the_column_that_names_records_or_people_may_hold_numbers_beside_words(tmp_path, key):
    rows = "".join(f"{i},{i % 50 + 20}\n" for i in range(100))
    table = {**write(tmp_path, f"who,age\n{rows}NA,30\n"), key: "who"}
    if key == "person":
        table["rows_per_person"] = 1
    assert len(load_records(table, tmp_path, 1)) == 101


def test_a_frame_with_numbers_as_texts_is_refused():
    frame = {"id": list(range(40)), "pay": [f"{i},5" for i in range(40)]}
    with hold_frame(frame, "frame") as source, pytest.raises(BadInput, match="decimal commas; store them as"):
        load_records({"source": source}, Path(), 1)


def test_numbers_of_four_bytes_in_parquet_are_those_of_a_text_file(tmp_path):
    import duckdb

    path = tmp_path / "a.parquet"
    duckdb.execute(f"COPY (SELECT i AS id, (i / 10)::FLOAT AS w FROM range(5) t(i)) TO '{path}'")
    assert load_records({"source": "a.parquet"}, tmp_path, 1).columns["w"].tolist() == [0, 0.1, 0.2, 0.3, 0.4]


def test_digest_covers_file_but_not_location(tmp_path):
    (tmp_path / "below").mkdir()
    first = load_records(write(tmp_path), tmp_path, 1).digest
    assert load_records(write(tmp_path / "below", name="b.csv"), tmp_path / "below", 2).digest == first
    assert load_records(write(tmp_path, CSV.replace("30", "31")), tmp_path, 1).digest != first


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"source": "absent.csv"}, "there is no file 'absent.csv'"),
        ({"source": "records.xlsx"}, "unknown ending"),
        ({"source": "broken.parquet"}, "cannot be read"),
        ({"source": "empty.csv"}, "no record|cannot be read"),
        ({"source": "twice.csv"}, "repeated"),
        ({"source": "records.csv", "id": "idd"}, 'Map it: id = "id"'),
        ({"source": "records.csv", "records": 5}, "records"),
        ({"source": 3}, "must be a file"),
        ({"records": 0}, "records must be in 1.."),
        ({"records": 10**12}, "records must be in 1.."),
        ({"source": "records.csv", "id": ""}, "records.csv has no column ''"),
        ({"source": "longer.csv"}, "more or fewer values than the first line"),
        ({"source": "shorter.csv"}, "more or fewer values than the first line"),
        ({"source": "latin.csv"}, 'is not in UTF-8; write encoding = "latin-1" in the data table'),
        ({"people": 3}, "people"),
    ],
)
def test_rejects_data_that_cannot_be_used(tmp_path, table, message):
    for name, text in {
        "records.csv": CSV,
        "records.xlsx": "x",
        "broken.parquet": "PAR1 no more",
        "empty.csv": "id,age\n",
        "twice.csv": "id\n1\n1\n",
        "longer.csv": "id,age\n1,30\n2,40,50\n3,60\n",
        "shorter.csv": "id,age\n1,30\n2\n3,60\n",
        "latin.csv": "id,name\n1,ann\n2,J\xf6rg\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=message):
        load_records(table, tmp_path, 1)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiter_is_detected_from_first_line(tmp_path, mark):
    table = load_records(write(tmp_path, f"id{mark}age\n7{mark}30\n9{mark}40\n"), tmp_path, 1)
    assert (list(table.types), table.ids) == (["id", "age"], (7, 9))


def test_column_type_depends_on_all_values(tmp_path):
    rows = "".join(f"{i},1\n" for i in range(30_000))
    assert load_records(write(tmp_path, f"id,age\n{rows}last,1\n"), tmp_path, 1).ids[-1] == "last"


def test_file_name_is_escaped_in_sql(tmp_path):
    name = "a'); DROP TABLE given; --[1]*.csv"
    (tmp_path / name).write_text(CSV)
    (tmp_path / "a'); DROP TABLE given; --1x.csv").write_text("id\n1\n2\n3\n")
    assert len(load_records({"source": name}, tmp_path, 1)) == 2


def test_generated_table_follows_seed():
    one, again, other = (load_records({"records": 50}, None, seed) for seed in (1, 1, 2))
    assert len(one) == 50
    assert one.columns["income"].tolist() == again.columns["income"].tolist()
    assert one.columns["income"].tolist() != other.columns["income"].tolist()
    assert (one.digest == again.digest, one.digest == other.digest) == (True, False)
    assert len(load_records({}, None, 1)) == 1_000
