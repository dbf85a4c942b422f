import pytest

from domains.locations.tiny_files import HEADER, loaded, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files import csv_reader
from leakgauge.domains.locations.data.visit_files.csv_reader import detect_dialect


@pytest.mark.parametrize("delimiter", csv_reader.DELIMITERS)
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
    monkeypatch.setattr(csv_reader, "CHUNK", 10)
    assert loaded(tmp_path, **table).tally.bad_rows == ("line 27 (time)",)
    monkeypatch.setattr(csv_reader, "MOST_LINES", 20)
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
