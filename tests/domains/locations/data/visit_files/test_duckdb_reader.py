import stat
from pathlib import Path

import duckdb
import pytest

from domains.locations.tiny_files import HEADER, loaded, parquet, spelled, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import duckdb_reader
from leakgauge.domains.locations.data.visit_files.duckdb_reader import (
    detect_dialect,
    open_parquet,
    open_visit_database,
)


def test_spill_folder_is_private_and_removed():
    with open_visit_database("v.csv") as connection:
        ((folder,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    assert not Path(folder).exists()


def test_extensions_are_not_downloaded():
    with open_visit_database("v.csv") as connection:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert connection.execute(f"SELECT current_setting('{name}')").fetchall() == [(False,)]


def test_unreadable_file_is_bad_input_and_bad_sql_is_not(tmp_path):
    (tmp_path / "v.parquet").write_bytes(b"nothing")
    with (
        pytest.raises(BadInput, match=r"v.parquet cannot be read"),
        open_visit_database("v.parquet") as connection,
    ):
        connection.execute(f"SELECT * FROM read_parquet('{tmp_path / 'v.parquet'}')")
    with pytest.raises(duckdb.CatalogException), open_visit_database("v.csv") as connection:
        connection.execute("SELECT * FROM nothing_of_that_name")


@pytest.mark.parametrize("delimiter", duckdb_reader.DELIMITERS)
def test_delimiter_is_detected_from_column_names(tmp_path, delimiter):
    file = written(tmp_path, "v.csv", delimiter.join(["user", '"ti,me;s"', "x"]))
    dialect = detect_dialect((file,), ["user", "x"], None, "utf-8", "data.source")
    assert (dialect.delimiter, dialect.names[0], dialect.names[-1]) == (delimiter, "user", "x")


def test_column_name_must_be_unique(tmp_path):
    file = written(tmp_path, "v.csv", "user,time,time")
    dialect = detect_dialect((file,), ["user"], None, "utf-8", "data.source")
    assert dialect.column("user", "here") == "c0"
    with pytest.raises(BadInput, match=r"here: 2 columns are called 'time'"):
        dialect.column("time", "here")
    with pytest.raises(BadInput, match=r"here: no column is called 'tim'; did you mean 'time'"):
        dialect.column("tim", "here")


def test_bad_line_search_spans_chunks(tmp_path, monkeypatch):
    good = "ann,0,0.5,0.5"
    lines = [good] * 25 + ["ann,never,0.5,0.5"] + [good] * 4
    written(tmp_path, "v.csv", HEADER, *lines)
    table = {"source": "v.csv", "grid": [1, 1], "box": [0, 0, 1, 1], "bad_share": 0.1}
    monkeypatch.setattr(duckdb_reader, "CHUNK", 10)
    assert loaded(tmp_path, **table).tally.bad_rows == ("line 27 (time)",)
    monkeypatch.setattr(duckdb_reader, "MOST_LINES", 20)
    found = loaded(tmp_path, **table).tally
    assert (found.bad, found.bad_rows) == (1, ())


def test_at_most_five_bad_rows_are_listed(tmp_path):
    written(tmp_path, "v.csv", HEADER, "ann,0,0.5,0.5", *["ann,never,0.5,0.5"] * 9)
    found = loaded(tmp_path, source="v.csv", grid=[1, 1], box=[0, 0, 1, 1], bad_share=1)
    assert found.tally.bad == 9
    assert [row.split()[1] for row in found.tally.bad_rows] == ["3", "4", "5", "6", "7"]


def test_unclosed_quote_counts_as_one_bad_row(tmp_path):
    written(tmp_path, "v.csv", HEADER, "ann,0,0.5,0.5", '"bob,0,0.5,0.5', "cyd,0,0.5,0.5")
    found = loaded(tmp_path, source="v.csv", grid=[1, 1], box=[0, 0, 1, 1], bad_share=1)
    assert found.traces.names.tolist() == ["ann"]
    assert found.tally.bad_rows == ("line 3 (columns)",)


def renamed(file, old, new):
    """Give a column another name of the same length, which the writer of the file would have refused."""
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    return file


def test_nested_and_case_variant_columns_are_kept(tmp_path):
    select = "SELECT {'a': 1, 'b': {'c': [2]}} AS deep, 'x' AS name, 'y' AS nbme, [1] AS l, 5 AS \"a b\"\"c\""
    file = renamed(parquet(tmp_path, "v.parquet", select), "nbme", "NAME")
    found = open_parquet(duckdb.connect(), (file,))
    assert [column.name for column in found.columns] == ["deep", "name", "NAME", "l", 'a b"c']
    values = [found.field(name, "here").sql for name in ("name", "NAME", 'a b"c')]
    row = duckdb.connect().execute(f"SELECT {', '.join(values)} FROM {found.relation}").fetchall()
    assert row == [("x", "y", 5)]


def test_rejects_duplicate_column_name(tmp_path):
    select = "SELECT 'a' AS \"user\", 0 AS time, 0.5 AS lat, 0.6 AS lbt, 0.5 AS lon"
    renamed(parquet(tmp_path, "v.parquet", select), "lbt", "lat")
    with pytest.raises(
        BadInput, match=r"data.source: v.parquet: 2 columns are called 'lat'; names must differ"
    ):
        loaded(tmp_path, source="v.parquet", grid=[1, 1], box=[0, 0, 1, 1])


def test_column_names_do_not_collide_with_internal_ones(tmp_path):
    select = (
        "SELECT 'a' AS user_id, '2013-11-01 08:00:00' AS words, 1 AS kind, 2 AS line, 'p' AS status, 9 AS id"
    )
    parquet(tmp_path, "v.parquet", select)
    columns = {"user": "user_id", "time": "words", "place": "status"}
    found = loaded(tmp_path, source="v.parquet", columns=columns, window=["2013-11-01", "2013-11-02"])
    assert spelled(found) == {"a": [(0, 8)]}


def test_special_characters_in_file_names_are_escaped(tmp_path):
    for name in ("a[1].parquet", "it's.parquet", "a?.parquet"):
        parquet(tmp_path, "plain.parquet", "SELECT 'a' AS \"user\", 0 AS time, 'p' AS place").rename(
            tmp_path / name
        )
        assert spelled(loaded(tmp_path, source=name)) == {"a": [(0, 0)]}
