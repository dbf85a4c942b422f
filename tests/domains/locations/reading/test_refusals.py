"""Every bad file is refused in one line that says what to do."""

import re

import pytest

from domains.locations.tiny_files import HEADER, loaded, parquet, written
from leakgauge.core.errors import BadInput

GOOD = ("ann,2013-11-01 00:30:00,0.5,0.5", "bob,2013-11-01 01:00:00,0.5,1.5")
SQUARE = {"grid": [2, 2], "box": [0, 0, 2, 2]}


def refused(folder, **table):
    with pytest.raises(BadInput) as caught:
        loaded(folder, source=table.pop("source", "v.csv"), **{**SQUARE, **table})
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"timezone": "Europe/Roma"}, r"no time zone is called 'Europe/Roma'; did you mean 'Europe/Rome'"),
        ({"timezone": "../etc/passwd"}, r"data.timezone: no time zone is called"),
        ({"timezone": "Europe"}, r"data.timezone: no time zone is called 'Europe'"),
        (
            {"box": [50, 50, 51, 51]},
            r"data.box: no visit .* lies in \[50, 50, 51, 51\].* run over \[0.5, 0.5, 0.5, 1.5\]",
        ),
        ({"box": [2, 0, 0, 2]}, r"south below north"),
        ({"box": [0, 0, float("nan"), 2]}, r"data.box = .*nan"),
        ({"box": [0, 0, 2]}, r"data.box: expected 4 values, got 3"),
        ({"box": "5%"}, r"data.box: '5%' is neither"),
        ({"box": "p50"}, r"percentage below 50"),
        (
            {"window": ["2014-01-01", "2014-01-02"]},
            r"data.window: no visit .* run from 2013-11-01T00:30 to 2013-11-01T01:00",
        ),
        ({"window": ["2013-11-02", "2013-11-01"]}, r"data.window ends \(2013-11-01T00:00\) before it begins"),
        ({"window": ["2013-11-01T00:30", "2013-11-02"]}, r"no whole number of epochs"),
        ({"window": ["first", "2013-11-02"]}, r"data.window: not a date or time: 'first'"),
        ({"window": [1, 2]}, r"data.window: not a date or time: 1"),
        ({"window": ["2013-11-01"]}, r"data.window: expected 2 values"),
        ({"epoch": "5h"}, r"data.epoch = '5h' does not fit into a day"),
        ({"epoch": "hour"}, r"data.epoch: not a length of time: 'hour'"),
        ({"epoch": "0h"}, r"data.epoch: not a length of time"),
        ({"epoch": "2d", "fold": True}, r"does not fit into a week"),
        ({"epoch": "1s", "window": ["2013-11-01", "2013-12-01"]}, r"2592000 epochs .* at most 100000"),
        ({"grid": [0, 2]}, r"data: grid must be \[rows, columns\]"),
        ({"grid": [2000, 2000]}, r"a grid of 2000 x 2000 places, at most 1000000"),
        ({"cell": 5}, r"data: grid = \[2, 2\] and cell = 5.0: say one"),
        ({"cell": float("nan"), "grid": None}, r"cell must be a length"),
        ({"scale": 0}, r"scale must be > 0"),
        ({"bad_share": float("nan")}, r"bad_share must be in \[0, 1\]"),
        ({"min_visits": 0}, r"min_visits must be >= 1"),
        ({"columns": {"user": "usr"}}, r"data.source: v.csv: no column is called 'usr'; did you mean 'user'"),
        ({"columns": {"user": "time"}}, r"data.columns: 'time' is named twice"),
        ({"columns": {"lat": "lat"}}, r"name both or neither"),
        ({"columns": {"place": "time2"}}, r"columns.place beside a grid"),
        ({"columns": {"who": "user"}}, r"data.columns: no key is called 'who'"),
        ({"gird": [1, 1]}, r"data: no key is called 'gird'; did you mean 'grid'"),
        ({"format": "gowalla"}, r"data.format: no choice is called 'gowalla'"),
        ({"clock": "rome"}, r"data.clock: no choice"),
        ({"header": ["a", "b"]}, r"data.header names 2 columns, but v.csv has 4"),
        ({"source": "w.csv"}, r"data.source: there is no file 'w.csv'"),
        ({"source": "w*.csv"}, r"data.source: no file matches 'w\*.csv'"),
        ({"source": "https://example.org/v.csv"}, r"data.source: there is no file"),
        ({"source": "."}, r"data.source: '.' is a folder"),
        ({"source": ".", "format": "cabspotting"}, r"no file new_\*.txt"),
        ({"source": "v.csv", "format": "cabspotting"}, r"is no folder"),
        ({"source": "v.xlsx"}, r"'v.xlsx' has an unknown ending"),
        ({"source": 7}, r"data.source: must be a file, or \"synthetic\", got 7"),
        ({"source": "empty.csv"}, r"data.source: empty.csv is empty"),
        ({"source": "header.csv"}, r"data.source: header.csv has no rows"),
        ({"source": "twins.csv"}, r"twins.csv: 2 columns are called 'lat'; names must differ"),
        ({"source": "broken.parquet"}, r"data.source: broken.parquet cannot be read: .*; is the file whole"),
        ({"source": "cut.geojson"}, r"data.source: cut.geojson: feature 2 is no JSON"),
        ({"source": "cut.csv.gz"}, r"data.source: cut.csv.gz cannot be read"),
        ({"source": "?[v].csv"}, r"data.source: there is no file"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path, said, message):
    written(tmp_path, "v.csv", HEADER, *GOOD)
    written(tmp_path, "v.xlsx", "PK")
    written(tmp_path, "header.csv", HEADER)
    written(tmp_path, "twins.csv", "user,time,lat,lat,lon", "a,0,1,1,1")
    written(tmp_path, "broken.parquet", "PAR1 but not really")
    written(tmp_path, "cut.geojson", '{"features": [{"type": "Feature"}, {"type": "Fea')
    whole = written(tmp_path, "cut.csv.gz", HEADER, *GOOD).read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[:20])
    (tmp_path / "empty.csv").touch()
    said = {key: value for key, value in said.items() if value is not None}
    table = {**SQUARE, **said}
    if "cell" in said and said["cell"] != 5:
        del table["grid"]
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, **{"source": "v.csv", **table})
    assert re.search(message, str(caught.value)), caught.value
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("ann,yesterday,0.5,0.5", "time 'yesterday'"),
        ("ann,,0.5,0.5", "time missing"),
        ("ann,2013-11-31 00:00:00,0.5,0.5", "time '2013-11-31 00:00:00'"),
        ("ann,99999999999999,0.5,0.5", "time '99999999999999'"),
        ("ann,nan,0.5,0.5", "time 'nan'"),
        ("ann,inf,0.5,0.5", "time 'inf'"),
        ("ann,2013-11-01 00:30:00,nan,0.5", "lat 'nan', lon '0.5'"),
        ("ann,2013-11-01 00:30:00,,0.5", "lat missing, lon '0.5'"),
        ("ann,2013-11-01 00:30:00,90.5,0.5", "lat '90.5'"),
        ("ann,2013-11-01 00:30:00,0.5,-181", "lat '0.5', lon '-181'"),
        ("ann,2013-11-01 00:30:00,zero,0.5", "lat 'zero'"),
        (",2013-11-01 00:30:00,0.5,0.5", "user"),
        ("  ,2013-11-01 00:30:00,0.5,0.5", "user"),
        ("ann,2013-11-01 00:30:00,0.5", "columns"),
        ("ann,2013-11-01 00:30:00,0.5,0.5,0.5", "columns"),
    ],
)
def test_a_bad_row_is_counted_and_found(tmp_path, bad, told):
    written(tmp_path, "v.csv", HEADER, GOOD[0], "", bad, GOOD[1])
    message = refused(tmp_path)
    assert "1 of 3 rows of v.csv are bad" in message
    assert f"first line 4 ({told}" in message
    found = loaded(tmp_path, source="v.csv", bad_share=0.34, **SQUARE)
    assert (found.tally.rows, found.tally.bad, found.traces.n_people) == (3, 1, 2)
    assert len(found.tally.bad_rows) == 1
    assert found.tally.bad_rows[0].startswith("line 4 (")
    assert not re.search(r"0\.5|ann|2013", found.tally.bad_rows[0])  # a report may show it


def test_line_numbers_count_lines_inside_quotes(tmp_path):
    written(
        tmp_path, "v.csv", HEADER + ",note", f'{GOOD[0]},"two\nlines"', "ann,never,0.5,0.5,", f"{GOOD[1]},"
    )
    assert "first line 4 (time 'never')" in refused(tmp_path)


def test_bytes_that_are_no_text_make_a_bad_row_and_the_right_encoding_mends_it(tmp_path):
    written(tmp_path, "v.csv", HEADER, "andré,2013-11-01 00:30:00,0.5,0.5", GOOD[1], encoding="latin-1")
    assert "first line 2 (columns)" in refused(tmp_path)
    names = loaded(tmp_path, source="v.csv", encoding="latin-1", **SQUARE).traces.names
    assert names.tolist() == ["andré", "bob"]


def test_bad_rows_of_parquet_and_features_of_geojson_are_numbered(tmp_path):
    rows = "('a', 0, 0.5, 0.5), ('b', 0, 'nan'::DOUBLE, 0.5)"
    parquet(tmp_path, "v.parquet", f'SELECT * FROM (VALUES {rows}) t("user", time, lat, lon)')
    assert "rows of v.parquet are bad (coordinates: 1), first row 2 (lat 'nan'" in refused(
        tmp_path, source="v.parquet"
    )
    written(tmp_path, "v.geojson", '[{"properties": {"user": 1, "time": 0}, "geometry": null}]')
    assert "first feature 1 (lat missing, lon missing)" in refused(tmp_path, source="v.geojson")


def test_a_file_is_named_once_and_another_one_before_its_own_bad_rows(tmp_path):
    written(tmp_path, "v.csv", HEADER, *GOOD, *["ann,never,0.5,0.5"] * 2)
    told = refused(tmp_path)
    assert told.count("v.csv") == 1
    assert "first line 4 (time 'never'), line 5 (time 'never');" in told
    written(tmp_path, "v-1.csv", HEADER, *["ann,never,0.5,0.5"] * 2)
    written(tmp_path, "v-2.csv", HEADER, "ann,never,0.5,0.5")
    rows = loaded(tmp_path, source="v*.csv", bad_share=0.9, **SQUARE).tally.bad_rows
    assert rows == (
        "v-1.csv: line 2 (time)",
        "line 3 (time)",
        "v-2.csv: line 2 (time)",
        "v.csv: line 4 (time)",
        "line 5 (time)",
    )


def test_milliseconds_taken_for_seconds_are_refused_with_a_hint(tmp_path):
    written(tmp_path, "v.csv", HEADER, "ann,1383264000000,0.5,0.5")
    assert "time_unit" in refused(tmp_path)
    assert loaded(tmp_path, source="v.csv", time_unit="ms", **SQUARE).first == "2013-11-01T00:00"


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    written(tmp_path, "v-1.csv", HEADER, *GOOD)
    written(tmp_path, "v-2.csv", "time,user,lat,lon", "0,ann,0,0")
    assert "first lines of v-1.csv and v-2.csv differ" in refused(tmp_path, source="v-*.csv")
    written(tmp_path, "v-3.geojson", "[]")
    assert "files of different kinds (csv, geojson)" in refused(tmp_path, source="v-*")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("place,lat,lon", "p,0,"), r"data.places: 1 of 1 rows of p.csv lack a place or coordinates"),
        (("place,lat,lon", "p,0"), r"data.places: 1 of 1 rows of p.csv lack"),
        (("place,lat,lon",), r"data.places: p.csv has no rows"),
        (("place,lat", "p,0"), r"data.places: p.csv: no column is called 'lon'"),
    ],
)
def test_a_bad_file_of_coordinates_is_refused(tmp_path, lines, message):
    written(tmp_path, "v.csv", "user,time,place", "a,0,p")
    written(tmp_path, "p.csv", *lines)
    with pytest.raises(BadInput, match=message):
        loaded(tmp_path, source="v.csv", places="p.csv")
    with pytest.raises(BadInput, match=r"data.places: no key is called 'latitude'"):
        loaded(tmp_path, source="v.csv", places={"source": "p.csv", "latitude": "lat"})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"box": [0, 0, 1, 1]}, r"box without a grid"),
        ({"columns": {"lat": "lat", "lon": "lon"}}, r"coordinates without a grid"),
        (
            {},
            r"no column is called 'place'.*if visits have coordinates, add grid = \[rows, columns\] or cell",
        ),
        ({"format": "milano"}, r"format = 'milano' has points and no places; add grid"),
        ({"grid": [1, 1], "places": "p.csv"}, r"places beside a grid"),
        ({"grid": [1, 1], "top": 3}, r"top beside a grid"),
        ({"grid": [1, 1], "format": "milano", "columns": {"user": "u"}}, r"columns beside format = 'milano'"),
    ],
)
def test_keys_that_contradict_one_another_are_refused(tmp_path, table, message):
    written(tmp_path, "v.csv", HEADER, *GOOD)
    with pytest.raises(BadInput, match=message):
        loaded(tmp_path, source="v.csv", **table)
