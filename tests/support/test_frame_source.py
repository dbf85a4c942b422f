"""Data frames in memory: the same columns from every library, and nothing held longer than needed."""

import datetime as dt
from types import SimpleNamespace

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support import frame_source as frames


def wall(text):
    """A time without a zone."""
    return dt.datetime.fromisoformat(text)


ROWS = {
    "user": ["ann", None, "bob"],
    "time": [wall("2024-05-01 08:00"), None, wall("2024-05-02 09:30")],
    "visits": [3, 1, 2],
    "share": [0.5, None, 1.0],
    "smoker": [True, False, True],
}
TYPES = {
    "user": "VARCHAR",
    "time": "TIMESTAMP",
    "visits": "BIGINT",
    "share": "DOUBLE",
    "smoker": "BOOLEAN",
}


def arrow_like(rows):
    """A table with the parts of pyarrow's that are used; pyarrow is not among the tools."""
    columns = {name: SimpleNamespace(type=None, to_numpy=lambda v=v: np.array(v)) for name, v in rows.items()}
    return SimpleNamespace(column_names=list(rows), column=lambda place: list(columns.values())[place])


@pytest.mark.parametrize("library", ["pandas", "polars", "dict"])
def test_the_same_content_is_the_same_source_in_every_library(library):
    frame = ROWS if library == "dict" else pytest.importorskip(library).DataFrame(ROWS)
    source = frames.frame_source(frame, "frame")
    assert source.sql_types == TYPES
    assert source.digest == frames.frame_source(ROWS, "frame").digest
    with frames.open_frame(source) as (connection, types):
        assert types == TYPES
        rows = connection.execute("SELECT * FROM given").fetchall()
    assert [list(column) for column in zip(*rows, strict=True)] == list(ROWS.values())


def test_structured_arrays_and_arrow_tables_are_frames():
    array = np.array([(1, "a"), (2, "b")], dtype=[("n", np.uint8), ("name", "U5")])
    for frame in (array, arrow_like({"n": [1, 2], "name": ["a", "b"]})):
        source = frames.frame_source(frame, "frame")
        assert source.sql_types == {"n": "BIGINT", "name": "VARCHAR"}
        assert source.columns["name"].tolist() == ["a", "b"]


def test_times_with_a_zone_are_instants_in_every_library():
    moment = dt.datetime(2024, 5, 1, 8, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in ({"t": [moment]}, pandas.DataFrame({"t": [moment]}), polars.DataFrame({"t": [moment]})):
        source = frames.frame_source(frame, "frame")
        assert source.instants == {"t"}
        assert source.columns["t"].tolist() == [wall("2024-05-01 06:00")]


def test_columns_of_mostly_missing_texts_stay_texts():
    source = frames.frame_source({"user": [None] * 3000 + ["ann"]}, "frame")
    with frames.open_frame(source) as (connection, _):
        assert connection.execute("SELECT max(user) FROM given").fetchall() == [("ann",)]


@pytest.mark.parametrize("library", ["pandas"])
def test_marks_of_missing_values_are_missing(library):
    pandas = pytest.importorskip(library)
    columns = {
        "n": pandas.array([1, None], dtype="Int64"),
        "name": pandas.Series(["x", None], dtype="category"),
        "t": pandas.to_datetime(["2024-05-01", None]),
    }
    source = frames.frame_source(pandas.DataFrame(columns), "frame")
    with frames.open_frame(source) as (connection, _):
        assert connection.execute("SELECT n, name, t FROM given").fetchall()[1] == (None, None, None)


def test_a_changed_value_is_another_source():
    digests = {
        frames.frame_source({"a": values}, "frame").digest for values in (["1"], ["2"], [1], [1.0], [None])
    }
    assert len(digests) == 5
    assert (
        frames.frame_source({"a": ["xy", "z"]}, "").digest
        != frames.frame_source({"a": ["x", "yz"]}, "").digest
    )


def test_a_frame_is_held_only_within_the_context():
    with frames.hold_frame(ROWS, "frame") as name:
        with frames.hold_frame(ROWS, "frame") as again:
            assert again == name
        assert frames.find_frame(name).n_rows == 3
    with pytest.raises(BadInput, match="in the memory of another Python process; call the function with the"):
        frames.find_frame(name)
    assert frames.find_frame("visits.csv") is None


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (None, "must be a data frame of pandas, polars or pyarrow"),
        ([1, 2], "must be a data frame"),
        ({}, "there are no rows"),
        ({"a": []}, "there are no rows"),
        ({"a": [1], "b": [1, 2]}, "'a' has 1 rows and 'b' has 2; give as many of each"),
    ],
)
def test_what_is_no_frame_is_refused(frame, message):
    with pytest.raises(BadInput, match=message):
        frames.frame_source(frame, "frame")


def test_repeated_names_and_lazy_frames_are_refused():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with pytest.raises(BadInput, match="2 columns are called 'a'; names must differ"):
        frames.frame_source(pandas.DataFrame([[1, 2]], columns=["a", "a"]), "frame")
    with pytest.raises(BadInput, match=r"this frame is lazy; give frame.collect\(\)"):
        frames.frame_source(polars.LazyFrame({"a": [1]}), "frame")


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_short_numbers_are_those_that_a_text_file_would_hold(kind):
    """WHERE w = 0.3 must select the same rows of a frame and of the file it would be saved as."""
    values = np.array([0.3, 0.1, 1e-7, np.nan, -2.5, 65504], dtype=kind)
    (column,) = frames.frame_source({"w": values}, "frame").columns.values()
    texts = [str(value) for value in values]  # what a CSV file holds
    np.testing.assert_array_equal(column, np.array(texts, dtype=np.float64))
