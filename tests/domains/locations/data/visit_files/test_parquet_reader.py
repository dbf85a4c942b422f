import duckdb
import pytest

from domains.locations.tiny_files import loaded, parquet, spelled
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.parquet_reader import open_parquet


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
