import gzip
from importlib.resources import files
from pathlib import Path

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support import tabular
from leakgauge.support.tabular import (
    TextFormat,
    decimal_comma_way_out,
    open_database,
    open_table_file,
    refuse_numbers_as_texts,
    refuse_other_decimal_marks,
)


def rows(path):
    with open_table_file(path) as (connection, types):
        return connection.execute("SELECT * FROM given").fetchall(), types


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_delimiter_is_detected_from_first_line(tmp_path, delimiter, packed):
    text = f'id{delimiter}said\n1{delimiter}"a{delimiter}b"\n2{delimiter}\n'
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found, types = rows(path)
    assert found == [(1, f"a{delimiter}b"), (2, None)]
    assert types["id"] == "BIGINT"


@pytest.mark.parametrize("text", ["a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n", 'a,b\n1,"2\n'])
def test_incomplete_row_is_rejected(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"data.source: a.csv cannot be read: .*") as told:
        rows(path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.xls", b"", "unknown ending; known: .csv"),
        ("a.csv", b"\xff\xfe\x00", "is in UTF-16, not in UTF-8; save it as CSV in UTF-8"),
        ("a.csv", b"a,b\n\xff,1\n", "is not in UTF-8; write encoding"),
        ("a.csv.gz", b"not packed", "cannot be read: Not a gzipped file"),
        ("a.parquet", b"PAR1", "cannot be read"),
    ],
)
def test_invalid_table_is_reported_in_one_line(tmp_path, name, content, word):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=word):
        rows(tmp_path / name)


@pytest.mark.parametrize("text", ["", "\n", "  \n1,2\n"])
def test_file_without_header_is_called_empty(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"data.source: a.csv is empty"):
        rows(path)


def test_every_database_is_opened_in_one_place():
    source = Path(str(files("leakgauge")))
    opened = [path.name for path in source.rglob("*.py") if "duckdb.connect(" in path.read_text("utf-8")]
    assert opened == ["tabular.py"]


def test_duckdb_shows_no_progress_bar_of_its_own():
    with open_database() as connection:
        connection.execute("SET enable_progress_bar = true")
        tabular._turn_progress_bar_off(connection)
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_the_setting_is_left_alone_where_it_is_off():
    """In a notebook without ipywidgets every change of it fails, also that to off."""

    class Notebook:
        def execute(self, sql):
            if sql.startswith("SET"):
                raise AssertionError("required package 'ipywidgets' is missing")
            return self

        def fetchall(self):
            return [(False,)]

    tabular._turn_progress_bar_off(Notebook())


def test_decimal_commas_and_other_encodings_are_read_as_the_plan_says(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("id;Gr\u00f6\u00dfe;Ort\n1;1,5;K\u00f6ln\n2;-0,25;Ulm\n".encode("latin-1"))
    with open_table_file(path, text=TextFormat(encoding="latin-1", decimal=",")) as (connection, types):
        assert types["Gr\u00f6\u00dfe"] == "DOUBLE"
        found = connection.execute("SELECT * FROM given").fetchall()
    assert found == [(1, 1.5, "K\u00f6ln"), (2, -0.25, "Ulm")]


def test_the_text_format_of_a_file_that_is_no_text_is_refused(tmp_path):
    with (
        pytest.raises(BadInput, match="encoding and decimal are for text files"),
        open_table_file(tmp_path / "a.parquet", text=TextFormat(decimal=",")),
    ):
        pass


def test_a_letter_that_is_not_utf8_far_below_the_first_line_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 20_000 + b"2,\xe9\n")
    with pytest.raises(BadInput, match='is not in UTF-8; write encoding = "latin-1"'):
        rows(path)


@pytest.mark.parametrize(
    ("values", "way_out"),
    [
        (["0,5", "-1,25", "", "3"], 'write decimal = ","'),
        (["1,234", "0,5"], 'write decimal = ","'),
        (["1,234", "12,000"], None),  # may be thousands
        (["1,2", "1,2,3"], None),  # lists of codes
        (["3", "4"], None),
        (["0,5", "none"], None),
    ],
)
def test_columns_of_decimal_commas_are_recognised(tmp_path, values, way_out):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{value};1\n" for value in values))
    with open_table_file(path, only_text=True) as (connection, _):
        assert decimal_comma_way_out(connection, "a", path) == way_out
        parquet = decimal_comma_way_out(connection, "a", path.with_suffix(".parquet"))
        assert parquet == (way_out and "store them as numbers")


@pytest.mark.parametrize(
    ("values", "missing", "recognised"),
    [
        (["0,5", "1,5", "NA"], (), True),
        (["0,5", "NA", "?"], (), False),
        (["0,5", "NA", "?"], ("NA",), True),
        (["1,2", "3,4", "1,2,3"], (), False),
        (["1,234", "12,000", "NA"], (), False),
    ],
)
def test_decimal_commas_are_recognised_beside_some_words(tmp_path, values, missing, recognised):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{value};1\n" for value in values))
    with open_table_file(path, only_text=True) as (connection, _):
        found = decimal_comma_way_out(connection, "a", path, missing, share=0.5)
    assert (found is not None) == recognised


def test_few_different_texts_may_be_codes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "0,5;1\n1,5;0\n" * 50)
    with open_table_file(path) as (connection, types):
        refuse_other_decimal_marks(connection, types, path, TextFormat())
        refuse_numbers_as_texts(connection, types, path, TextFormat())


POINTS = [f"{i}.{i % 7}" for i in range(40)]
COMMAS = [f"{i},{i % 7}" for i in range(40)]


@pytest.mark.parametrize(
    ("values", "decimal", "problem"),
    [
        (POINTS, ",", 'with decimal points, and the plan says decimal = ","; leave decimal out'),
        ([*POINTS[:30], *["NA"] * 10], ",", "with decimal points"),
        ([*(f"{i}.5e-3" for i in range(30)), "7"], ",", "with decimal points"),
        (COMMAS, ".", 'with decimal commas; write decimal = ","'),
        ([*COMMAS[:30], *["n/a", "-", "?"] * 3], ".", "with decimal commas"),
        ([f"1.{i:03d},50" for i in range(40)], ",", "have marks between thousands; delete these marks"),
        ([f"1,{i:03d}.50" for i in range(40)], ".", "have marks between thousands; delete these marks"),
        ([f"1 {i:03d},50" for i in range(40)], ",", "have marks between thousands; delete these marks"),
        ([f"{i % 24}.{i + 10}" for i in range(40)], ",", None),  # times of day
        ([f"{i % 28 + 1}.{i % 12 + 1}" for i in range(40)], ",", None),  # days
        ([f"{i}.{i:03d}" for i in range(1, 40)], ",", None),  # may be thousands
        ([f"1.{i}.0" for i in range(40)], ",", None),  # versions
        ([f"name {i}" for i in range(40)], ",", None),
        ([*POINTS[:10], *(f"name {i}" for i in range(30))], ",", None),
    ],
)
def test_numbers_with_other_marks_than_the_plan_says_are_refused(tmp_path, values, decimal, problem):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{value};1\n" for value in values))
    text = TextFormat(decimal=decimal)
    with open_table_file(path, text=text) as (connection, types):
        if problem is None:
            refuse_other_decimal_marks(connection, types, path, text)
            return
        with pytest.raises(BadInput) as told:
            refuse_other_decimal_marks(connection, types, path, text, codes_key="categories")
    assert str(told.value).startswith("data.source: the numbers of column 'a' ")
    assert problem in str(told.value)
    assert str(told.value).endswith('; if they are codes, write categories = ["a"]')


@pytest.mark.parametrize(
    ("values", "decimal", "numbers"),
    [
        ([*COMMAS, "NA", "n/a"], ",", 40),
        ([*POINTS, "NA", "n/a"], ".", 40),
        ([*POINTS, "<0.1"], ".", 40),
        ([*range(40), "-", "?"], ".", 40),
        ([*range(40), "12a"], ".", None),  # house numbers
        ([*range(40), "NA", "12a"], ".", None),
        ([f"{i:04d}" for i in range(60)], ".", None),  # codes
        ([*(f"{i:04d}" for i in range(60)), "NA"], ",", None),
        ([*range(40), "NA"], ",", 40),
        ([*POINTS, "00", "NA"], ".", 41),  # decimals say that it holds numbers
        ([*POINTS[:10], *(f"name {i}" for i in range(30))], ".", None),
    ],
)
def test_numbers_beside_words_are_refused_where_they_would_be_texts(tmp_path, values, decimal, numbers):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{value};1\n" for value in values))
    text = TextFormat(decimal=decimal)
    with open_table_file(path, text=text) as (connection, types):
        if numbers is None:
            refuse_numbers_as_texts(connection, types, path, text)
            return
        others = f"holds numbers in {numbers} rows and other texts in {len(values) - numbers}; leave"
        with pytest.raises(BadInput, match=f"data.source: 'a' of t.csv {others}"):
            refuse_numbers_as_texts(connection, types, path, text)


@pytest.mark.parametrize("values", [[*range(60), "NA"], COMMAS, [f"1.{i:03d},50" for i in range(40)]])
def test_a_column_that_names_rows_may_hold_anything(tmp_path, values):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{value};1\n" for value in values))
    with open_table_file(path) as (connection, types):
        refuse_numbers_as_texts(connection, types, path, TextFormat(), ids=("a",))
        with pytest.raises(BadInput, match="'a'"):
            refuse_numbers_as_texts(connection, types, path, TextFormat(), ids=("b",))


def test_texts_of_stored_tables_are_refused_only_where_they_have_decimals(tmp_path):
    path = tmp_path / "t.parquet"
    with open_database() as connection:
        connection.execute("CREATE TABLE given AS SELECT CAST(i AS VARCHAR) AS code FROM range(40) t(i)")
        refuse_numbers_as_texts(connection, {"code": "VARCHAR"}, path)
        connection.execute("CREATE OR REPLACE TABLE given AS SELECT i || '.5' AS pay FROM range(40) t(i)")
        with pytest.raises(BadInput, match="'pay' are stored as texts; store them as numbers"):
            refuse_numbers_as_texts(connection, {"pay": "VARCHAR"}, path)
