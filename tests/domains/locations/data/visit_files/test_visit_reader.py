"""Every bad file is refused in one line that says what to do."""

import json
import re
import subprocess
import sys
from datetime import date
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from domains.locations.tiny_files import HEADER, loaded, parquet, spelled, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.visit_reader import time_zone_of_table
from leakgauge.domains.locations.plan_tables import LocationsDataTable, PublishedFormat


@pytest.mark.parametrize(
    ("keys", "zone"),
    [
        ({}, "UTC"),
        ({"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
        ({"format": PublishedFormat.CABSPOTTING}, "America/Los_Angeles"),
        ({"format": PublishedFormat.MILANO}, "Europe/Rome"),
        ({"format": PublishedFormat.MILANO, "timezone": "UTC"}, "UTC"),
        ({"format": PublishedFormat.FOURSQUARE, "timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
    ],
)
def test_time_zone_comes_from_plan_or_data_set(keys, zone):
    assert time_zone_of_table(LocationsDataTable(source="v.csv", grid=(1, 1), **keys)) == ZoneInfo(zone)


def test_check_ins_use_their_own_time_zones():
    assert time_zone_of_table(LocationsDataTable(source="v.txt", format=PublishedFormat.FOURSQUARE)) is None


@pytest.mark.parametrize(
    ("keys", "epoch"),
    [
        ({"origin": "2013-11-01"}, 8),
        ({"origin": "2013-11-01", "clock": "utc"}, 9),
        ({"origin": "2013-11-01T00:00+00:00"}, 9),
        ({"origin": "2013-11-01T00:00+00:00", "clock": "utc"}, 9),
    ],
)
def test_hours_count_from_origin_in_chosen_zone(tmp_path, keys, epoch):
    written(tmp_path, "v.csv", "user,time,place", "a,8,p")
    window = {"window": ["2013-11-01", "2013-11-02"], "timezone": "Europe/Rome", "time_unit": "h"}
    assert spelled(loaded(tmp_path, source="v.csv", **window, **keys)) == {"a": [(0, epoch)]}


GOOD = ("ann,2013-11-01 00:30:00,0.5,0.5", "bob,2013-11-01 01:00:00,0.5,1.5")
SQUARE = {"grid": [2, 2], "box": [0, 0, 2, 2]}


def refused(folder, **table):
    with pytest.raises(BadInput) as caught:
        loaded(folder, source=table.pop("source", "v.csv"), **{**SQUARE, **table})
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"timezone": "Europe/Roma"}, r"no time zone is called 'Europe/Roma'; did you mean 'Europe/Rome'"),
        ({"timezone": "../etc/passwd"}, r"data.timezone: no time zone is called"),
        ({"timezone": "Europe"}, r"data.timezone: no time zone is called 'Europe'"),
        (
            {"box": [50, 50, 51, 51]},
            r"data.box: no visit .* lies in \[50, 50, 51, 51\].* run over about \[0.5, 0.5, 0.5, 1.5\]",
        ),
        ({"box": [2, 0, 0, 2]}, r"south below north"),
        ({"box": [0, 0, float("nan"), 2]}, r"data.box = .*nan"),
        ({"box": [0, 0, 2]}, r"data.box: expected 4 values, got 3"),
        ({"box": "5%"}, r"data.box: '5%' is neither"),
        ({"box": "p50"}, r"percentage below 50"),
        (
            {"window": ["2014-01-01", "2014-01-02"]},
            r"data.window: no visit .* run from 2013-11-01 to 2013-11-01; move",
        ),
        ({"window": ["2013-11-02", "2013-11-01"]}, r"data.window ends \(2013-11-01T00:00\) before it begins"),
        ({"window": ["2013-11-01T00:30", "2013-11-02"]}, r"is not a whole number of epochs"),
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
        ({"cell": 5}, r"data: grid = \[2, 2\] and cell = 5.0: set only one"),
        ({"cell": float("nan"), "grid": None}, r"cell must be a length"),
        ({"scale": 0}, r"scale must be > 0"),
        ({"bad_share": float("nan")}, r"bad_share must be in \[0, 1\]"),
        ({"min_visits": 0}, r"min_visits must be >= 1"),
        (
            {"columns": {"user": "usr"}},
            r"data.source: v.csv has no column 'usr'; it has .* Map it: columns = \{ user = \"user\",",
        ),
        ({"columns": {"user": "time"}}, r"data.columns: 'time' is named twice"),
        ({"columns": {"lat": "lat"}}, r"name both or neither"),
        ({"columns": {"place": "time2"}}, r"columns.place with a grid"),
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
        ({"source": "v.csv", "format": "cabspotting"}, r"is not a folder"),
        ({"source": "v.xlsx"}, r"'v.xlsx' has an unknown ending"),
        ({"source": 7}, r"data.source: must be a file, or \"synthetic\", got 7"),
        ({"source": "empty.csv"}, r"data.source: empty.csv is empty"),
        ({"source": "header.csv"}, r"data.source: header.csv has no rows"),
        ({"source": "twins.csv"}, r"twins.csv: 2 columns are called 'lat'; names must differ"),
        (
            {"source": "broken.parquet"},
            r"data.source: broken.parquet cannot be read: .*; check that it is complete",
        ),
        ({"source": "cut.geojson"}, r"data.source: cut.geojson: feature 2 is not JSON"),
        ({"source": "cut.csv.gz"}, r"data.source: cut.csv.gz cannot be read"),
        ({"source": "?[v].csv"}, r"data.source: there is no file"),
    ],
)
def test_bad_input_gives_one_line_message(tmp_path, keys, message):
    written(tmp_path, "v.csv", HEADER, *GOOD)
    written(tmp_path, "v.xlsx", "PK")
    written(tmp_path, "header.csv", HEADER)
    written(tmp_path, "twins.csv", "user,time,lat,lat,lon", "a,0,1,1,1")
    written(tmp_path, "broken.parquet", "PAR1 but not really")
    written(tmp_path, "cut.geojson", '{"features": [{"type": "Feature"}, {"type": "Fea')
    whole = written(tmp_path, "cut.csv.gz", HEADER, *GOOD).read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[:20])
    (tmp_path / "empty.csv").touch()
    keys = {key: value for key, value in keys.items() if value is not None}
    table = {**SQUARE, **keys}
    if "cell" in keys and keys["cell"] != 5:
        del table["grid"]
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, **{"source": "v.csv", **table})
    assert re.search(message, str(caught.value)), caught.value
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        ("ann,yesterday,0.5,0.5", "time not a time"),
        ("ann,,0.5,0.5", "time missing"),
        ("ann,2013-11-31 00:00:00,0.5,0.5", "time not a time"),
        ("ann,99999999999999,0.5,0.5", "time outside 1900 to 2200"),
        ("ann,nan,0.5,0.5", "time outside 1900 to 2200"),
        ("ann,inf,0.5,0.5", "time outside 1900 to 2200"),
        ("ann,2013-11-01 00:30:00,nan,0.5", "lat not in -90 to 90 degrees)"),
        ("ann,2013-11-01 00:30:00,,0.5", "lat missing)"),
        ("ann,2013-11-01 00:30:00,90.5,0.5", "lat not in -90 to 90 degrees)"),
        ("ann,2013-11-01 00:30:00,0.5,-181", "lon not in -180 to 180 degrees)"),
        ("ann,2013-11-01 00:30:00,zero,0.5", "lat not a number)"),
        (",2013-11-01 00:30:00,0.5,0.5", "user"),
        ("  ,2013-11-01 00:30:00,0.5,0.5", "user"),
        ("ann,2013-11-01 00:30:00,0.5", "columns"),
        ("ann,2013-11-01 00:30:00,0.5,0.5,0.5", "columns"),
    ],
)
def test_bad_row_is_counted_and_listed(tmp_path, bad, shown):
    written(tmp_path, "v.csv", HEADER, GOOD[0], "", bad, GOOD[1])
    message = refused(tmp_path)
    assert "1 of 3 rows of v.csv are bad" in message
    assert f"first line 4 ({shown}" in message
    assert not re.search(r"ann|2013|yesterday|zero|0\.5|181", message), "values are personal data"
    found = loaded(tmp_path, source="v.csv", bad_share=0.34, **SQUARE)
    assert (found.tally.rows, found.tally.bad, found.traces.n_people) == (3, 1, 2)
    assert len(found.tally.bad_rows) == 1
    assert found.tally.bad_rows[0].startswith("line 4 (")
    assert not re.search(r"0\.5|ann|2013", found.tally.bad_rows[0])  # a report may show it


def test_decimal_commas_are_named_where_coordinates_are_bad_for_them(tmp_path):
    rows = [f"ann;2013-11-01 00:30:00;0,{i};0,{i}" for i in range(1, 6)]
    written(tmp_path, "v.csv", HEADER.replace(",", ";"), *rows)
    message = refused(tmp_path)
    assert message.endswith('; coordinates are written with decimal commas: write decimal = ","')
    assert "bad_share" not in message, "no share of bad rows helps where all are bad"
    assert loaded(tmp_path, source="v.csv", decimal=",", **SQUARE).tally.kept == 5
    written(tmp_path, "v.csv", HEADER, *["ann,2013-11-01 00:30:00,north,west"] * 3, GOOD[0])
    assert refused(tmp_path).endswith("; columns or scale may be wrong, or raise data.bad_share")
    written(tmp_path, "v.csv", HEADER.replace(",", ";"), *[f"ann;never;0,{i};0,{i}" for i in range(3)])
    assert refused(tmp_path).endswith("; columns, time_unit, time_format or clock may be wrong")


def test_coordinates_with_either_mark_are_read_rightly_or_refused(tmp_path):
    points = [f"ann;2013-11-01 00:30:00;0.{i};0.{i}" for i in range(1, 6)]
    commas = [row.replace(".", ",") for row in points]
    for rows, words in (
        ([*points, *commas], 0),
        (points, 0),
        ([*commas, "ann;2013-11-01 00:30:00;NA;n/a"], 1),
    ):
        written(tmp_path, "v.csv", HEADER.replace(",", ";"), *rows)
        found = loaded(tmp_path, source="v.csv", decimal=",", bad_share=0.5, **SQUARE).tally
        assert (found.kept, found.bad) == (len(rows) - words, words)
    message = refused(tmp_path)
    assert message.endswith('; coordinates are written with decimal commas: write decimal = ","')


def test_line_numbers_include_quoted_line_breaks(tmp_path):
    written(
        tmp_path, "v.csv", HEADER + ",note", f'{GOOD[0]},"two\nlines"', "ann,never,0.5,0.5,", f"{GOOD[1]},"
    )
    assert "first line 4 (time not a time)" in refused(tmp_path)


def test_undecodable_bytes_are_a_bad_row_unless_encoding_is_set(tmp_path):
    written(tmp_path, "v.csv", HEADER, "andré,2013-11-01 00:30:00,0.5,0.5", GOOD[1], encoding="latin-1")
    assert "first line 2 (columns)" in refused(tmp_path)
    names = loaded(tmp_path, source="v.csv", encoding="latin-1", **SQUARE).traces.names
    assert names.tolist() == ["andré", "bob"]


def test_utf_16_is_recognised_and_can_be_declared(tmp_path):
    written(tmp_path, "v.csv", HEADER, *GOOD, encoding="utf-16")
    message = refused(tmp_path)
    assert message.startswith(
        "data.source: v.csv is in UTF-16, not in UTF-8; save it as CSV in UTF-8, or write"
    )
    assert 'encoding = "utf-16"' in message
    assert loaded(tmp_path, source="v.csv", encoding="utf-16", **SQUARE).traces.n_people == 2


def test_workbook_is_recognised(tmp_path):
    (tmp_path / "v.csv").write_bytes(b"PK\x03\x04 and so on")
    assert "v.csv is a workbook or another archive, not text; save it as CSV" in refused(tmp_path)


def test_properties_that_no_feature_has_are_reported_together(tmp_path):
    written(tmp_path, "v.geojson", '[{"properties": {"uid": 1, "timestamp": 0}, "geometry": null}]')
    message = refused(tmp_path, source="v.geojson")
    assert "v.geojson has no columns 'user' and 'time'; it has uid, timestamp. Map them: " in message
    assert message.endswith('columns = { user = "...", time = "timestamp" }')


def test_bad_rows_of_parquet_and_features_of_geojson_are_numbered(tmp_path):
    rows = "('a', 0, 0.5, 0.5), ('b', 0, 'nan'::DOUBLE, 0.5)"
    parquet(tmp_path, "v.parquet", f'SELECT * FROM (VALUES {rows}) t("user", time, lat, lon)')
    assert "rows of v.parquet are bad (coordinates: 1), first row 2 (lat not in" in refused(
        tmp_path, source="v.parquet"
    )
    written(tmp_path, "v.geojson", '[{"properties": {"user": 1, "time": 0}, "geometry": null}]')
    assert "first feature 1 (lat missing, lon missing)" in refused(tmp_path, source="v.geojson")


def test_file_name_is_listed_once_per_file(tmp_path):
    written(tmp_path, "v.csv", HEADER, *GOOD, *["ann,never,0.5,0.5"] * 2)
    shown = refused(tmp_path)
    assert shown.count("v.csv") == 1
    assert "first line 4 (time not a time), line 5 (time not a time);" in shown
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


def test_rejects_milliseconds_taken_for_seconds_with_hint(tmp_path):
    written(tmp_path, "v.csv", HEADER, "ann,1383264000000,0.5,0.5")
    assert "time_unit" in refused(tmp_path)
    assert loaded(tmp_path, source="v.csv", time_unit="ms", **SQUARE).first == "2013-11-01T00:00"


def test_rejects_files_that_do_not_belong_together(tmp_path):
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
        (
            ("place,lat", "p,0"),
            r"p.csv has no column 'lon'; it has place, lat. Map it: places = \{ source = \"p.csv\", ",
        ),
    ],
)
def test_rejects_bad_file_of_coordinates(tmp_path, lines, message):
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
            r"no column 'place'.*if visits have coordinates, add grid = \[rows, columns\] or cell",
        ),
        ({"format": "milano"}, r"format = 'milano' has points and no places; add grid"),
        ({"grid": [1, 1], "places": "p.csv"}, r"places with a grid"),
        ({"grid": [1, 1], "top": 3}, r"top with a grid"),
        (
            {"grid": [1, 1], "format": "milano", "columns": {"user": "u"}},
            r"columns and format = 'milano' exclude each other",
        ),
    ],
)
def test_rejects_keys_that_contradict_one_another(tmp_path, table, message):
    written(tmp_path, "v.csv", HEADER, *GOOD)
    with pytest.raises(BadInput, match=message):
        loaded(tmp_path, source="v.csv", **table)


# Places of the square from 0, 0 to 2, 2: 0 south-west, 1 south-east, 2 north-west, 3 north-east.
DAY = {"window": ["2013-11-01", "2013-11-02"]}
VISITS = (
    HEADER,
    "ann,2013-11-01 00:30:00,0.5,0.5",  # place 0, epoch 0
    "ann,2013-11-01 00:59:59,0.6,0.4",  # the same cell again
    "bob,2013-11-01 01:00:00,0.5,1.5",  # place 1, epoch 1
    "ann,2013-11-01 23:10:00,1.5,1.5",  # place 3, epoch 23
    "cyd,2013-11-02 00:00:00,0.5,0.5",  # the end of the window is outside
    "dot,2013-11-01 12:00:00,2.5,0.5",  # north of the box
)
BY_HAND = {"ann": [(0, 0), (3, 23)], "bob": [(1, 1)]}


def test_csv_file_gives_expected_matrix(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    found = loaded(tmp_path, source="visits.csv", **SQUARE, **DAY)
    assert spelled(found) == BY_HAND
    assert (found.traces.map.n_places, found.traces.map.n_epochs) == (4, 24)
    assert found.traces.visits.dtype == np.uint8
    assert found.traces.visits.has_canonical_format
    assert found.tally.summary == "6 rows read: 4 kept, 1 outside the window, 1 outside the map"
    assert found.first == "2013-11-01T00:00"


@pytest.mark.parametrize("name", ["visits.csv.gz", "visits.txt", "visits.tsv"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_compression_and_delimiter_are_detected(tmp_path, name, delimiter):
    written(tmp_path, name, *(line.replace(",", delimiter) for line in VISITS))
    assert spelled(loaded(tmp_path, source=name, **SQUARE, **DAY)) == BY_HAND


def test_crlf_bom_and_quotes_change_nothing(tmp_path):
    lines = [
        '"user","time","lat","lon"',
        *(",".join(f'"{v}"' for v in line.split(",")) for line in VISITS[1:]),
    ]
    (tmp_path / "visits.csv").write_bytes("\ufeff".encode() + "\r\n".join(lines).encode())
    assert spelled(loaded(tmp_path, source="visits.csv", **SQUARE, **DAY)) == BY_HAND


def test_headerless_file_gets_column_names(tmp_path):
    written(tmp_path, "visits.csv", *VISITS[1:])
    table = {"source": "visits.csv", "header": ["who", "when", "y", "x"], **SQUARE, **DAY}
    columns = {"user": "who", "time": "when", "lat": "y", "lon": "x"}
    assert spelled(loaded(tmp_path, columns=columns, **table)) == BY_HAND


@pytest.mark.parametrize(
    "time",
    [
        "TIMESTAMP '2013-11-01 00:00:00' + to_seconds(s)",
        "strftime(TIMESTAMP '2013-11-01 00:00:00' + to_seconds(s), '%Y-%m-%d %H:%M:%S')",
        "CAST(TIMESTAMP '2013-11-01 00:00:00' + to_seconds(s) AS TIMESTAMP_NS)",
        "1383264000 + s",
        "CAST(1383264000 + s AS DOUBLE)",
    ],
)
def test_reads_parquet_time_types(tmp_path, time):
    rows = "('ann', 1800, 0.5, 0.5), ('bob', 3600, 0.5, 1.5), ('ann', 83400, 1.5, 1.5)"
    parquet(
        tmp_path,
        "v.parquet",
        f'SELECT u AS "user", {time} AS time, lat, lon FROM (VALUES {rows}) t(u, s, lat, lon)',
    )
    assert spelled(loaded(tmp_path, source="v.parquet", **SQUARE, **DAY)) == BY_HAND


def test_parquet_instants_are_converted_to_zone(tmp_path):
    time = "TIMESTAMPTZ '2013-11-01 00:30:00+00'"
    parquet(tmp_path, "v.parquet", f'SELECT 7 AS "user", {time} AS time, 0.5 AS lat, 0.5 AS lon')
    found = loaded(tmp_path, source="v.parquet", timezone="Asia/Tokyo", **SQUARE, **DAY)
    assert spelled(found) == {"7": [(0, 9)]}  # nine hours ahead


def test_integer_degrees_are_scaled(tmp_path):
    rows = "(10, 5, 5), (9, 15, 15), (NULL, 1, 1)"
    select = f"SELECT u AS cab, 1383264000 AS ts, a AS y, b AS x FROM (VALUES {rows}) t(u, a, b)"
    parquet(tmp_path, "v.parquet", select)
    columns = {"user": "cab", "time": "ts", "lat": "y", "lon": "x"}
    found = loaded(tmp_path, source="v.parquet", columns=columns, scale=0.1, bad_share=0.5, **SQUARE, **DAY)
    assert spelled(found) == {"9": [(3, 0)], "10": [(0, 0)]}
    assert found.tally.bad_rows == ("row 3 (user)",)


def feature(user, time, lon, lat, **more):
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [lon, lat]},
        "properties": {"user": user, "time": time} | more,
    }


FEATURES = [
    feature("ann", "2013-11-01T00:30:00", 0.5, 0.5),
    feature("bob", "2013-11-01T01:00:00", 1.5, 0.5),
    feature("ann", "2013-11-01T23:10:00", 1.5, 1.5),
]


@pytest.mark.parametrize("form", ["collection", "list", "lines", "indented"])
def test_geojson_forms_give_same_matrix(tmp_path, form):
    collection = {"type": "FeatureCollection", "name": "visits", "features": FEATURES, "more": 1}
    text = {
        "collection": json.dumps(collection),
        "indented": json.dumps(collection, indent=2),
        "list": json.dumps(FEATURES),
        "lines": "\n".join(map(json.dumps, FEATURES)),
    }[form]
    written(tmp_path, "visits.geojson", text)
    assert spelled(loaded(tmp_path, source="visits.geojson", **SQUARE, **DAY)) == BY_HAND


def test_named_places_become_the_map(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,0,10", "b,3600,9", "b,7200,bar", "a,0,9")
    found = loaded(tmp_path, source="v.csv")
    assert found.places.tolist() == ["9", "10", "bar"]
    assert found.traces.map.positions is None
    assert found.traces.map.n_epochs == 24  # the whole first day
    assert spelled(found) == {"a": [(0, 0), (1, 0)], "b": [(0, 1), (2, 2)]}


def test_top_places_option_keeps_most_visited(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,0,x", "b,0,y", "b,1,y", "c,0,z", "c,0,z", "c,0,z")
    found = loaded(tmp_path, source="v.csv", top=2)
    assert found.places.tolist() == ["y", "z"]
    assert spelled(found) == {"b": [(0, 0)], "c": [(1, 0)]}
    assert found.tally.summary == "6 rows read: 5 kept, 1 outside the map"


def test_coordinates_file_defines_places(tmp_path):
    written(tmp_path, "places.csv", "place,lat,lon", "p,0,0", "q,1,0", "r,1,2", "r,1,4")
    written(tmp_path, "v.csv", "user,time,place", "a,0,p", "b,0,r", *["b,0,r"] * 97, "c,0,nowhere")
    found = loaded(tmp_path, source="v.csv", places="places.csv")
    assert found.places.tolist() == ["p", "q", "r"]
    assert spelled(found) == {"a": [(0, 0)], "b": [(2, 0)]}
    assert found.tally.bad_rows == ("line 101 (place)",)
    degree = np.pi * 6_371_008.8 / 180
    shrink = np.cos(np.radians(0.5))  # half-way between the latitudes 0 and 1
    np.testing.assert_allclose(
        found.traces.map.positions, [[0, 0], [0, degree], [3 * degree * shrink, degree]], rtol=1e-12
    )


def test_place_position_is_mean_of_its_visits(tmp_path):
    written(tmp_path, "v.csv", "user,time,place,y,x", "a,0,p,0,0", "b,0,p,0,2", "c,0,q,1,0")
    columns = {"place": "place", "lat": "y", "lon": "x"}
    positions = loaded(tmp_path, source="v.csv", columns=columns).traces.map.positions
    degree = np.pi * 6_371_008.8 / 180
    np.testing.assert_allclose(positions, [[degree * np.cos(np.radians(0.5)), 0], [0, degree]], rtol=1e-12)


def test_reads_original_foursquare_file(tmp_path):
    rows = (
        "470\tv1\tc\tArts & Crafts Store\t40.5\t-74.5\t-240\tTue Apr 03 18:00:09 +0000 2012",
        '979\tv2\tc\tCafé "Bar\t40.5\t-73.5\t-300\tTue Apr 03 18:00:25 +0000 2012',
        "470\tv2\tc\tBridge\t41.5\t-73.5\t-240\tWed Apr 04 03:59:59 +0000 2012",
    )
    written(tmp_path, "dataset_TSMC2014_NYC.txt", *rows, encoding="latin-1")
    table = {
        "source": "dataset_TSMC2014_NYC.txt",
        "format": "foursquare",
        "window": ["2012-04-03", "2012-04-04"],
    }
    gridded = loaded(tmp_path, grid=[2, 2], box=[40, -75, 42, -73], **table)
    assert spelled(gridded) == {"470": [(0, 14), (3, 23)], "979": [(1, 13)]}
    venues = loaded(tmp_path, **table)
    assert venues.places.tolist() == ["v1", "v2"]
    assert spelled(venues) == {"470": [(0, 14), (1, 23)], "979": [(1, 13)]}
    assert venues.traces.map.positions.shape == (2, 2)
    in_zone = loaded(tmp_path, timezone="America/New_York", **table)
    assert spelled(in_zone) == {"470": [(0, 14), (1, 23)], "979": [(1, 14)]}


def test_reads_original_cab_files(tmp_path):
    written(tmp_path, "cabs/_cabs.txt", '<cab id="abboip" updates="2"/>', '<cab id="enyenewl" updates="1"/>')
    written(tmp_path, "cabs/new_abboip.txt", "37.5 -122.5 0 1211180400", "37.5 -121.5 1 1211184000")
    written(tmp_path, "cabs/new_enyenewl.txt", "38.5 -121.5 0 1211180460")
    table = {"source": "cabs", "format": "cabspotting", "grid": [2, 2], "box": [37, -123, 39, -121]}
    found = loaded(tmp_path, window=["2008-05-19", "2008-05-20"], **table)  # seven hours behind UTC
    assert spelled(found) == {"abboip": [(0, 0), (1, 1)], "enyenewl": [(3, 0)]}


def test_reads_original_milan_file(tmp_path):
    def tweet(user, timestamp, geometry):
        return {
            "user": user,
            "timestamp": timestamp,
            "geomPoint.geom": geometry,
            "language": "it",
            "entities": [],
        }

    point = {"type": "Point", "coordinates": [9.5, 45.5]}
    tweets = [tweet("ab", 1383260400, point), tweet("cd", 1383264000, point), tweet("ef", 1383264000, None)]
    written(tmp_path, "social-pulse-milano.geojson", json.dumps({"features": tweets}))
    table = {
        "source": "social-pulse-milano.geojson",
        "format": "milano",
        "grid": [1, 1],
        "box": [45, 9, 46, 10],
    }
    found = loaded(tmp_path, **table, window=["2013-11-01", "2013-11-08"])
    assert spelled(found) == {"ab": [(0, 0)], "cd": [(0, 1)]}  # midnight in Rome is 23:00 UTC
    assert found.traces.map.n_epochs == 168
    assert (found.tally.without_point, found.tally.bad) == (1, 0)


def test_several_files_are_read_as_one(tmp_path):
    written(tmp_path, "day-1.csv", *VISITS[:3])
    written(tmp_path, "day-2.csv", HEADER, *VISITS[3:])
    assert spelled(loaded(tmp_path, source="day-*.csv", **SQUARE, **DAY)) == BY_HAND


def test_digest_is_stable_across_processes(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    table = {"source": "visits.csv", **SQUARE, **DAY}
    here = loaded(tmp_path, **table).digest
    code = (
        "from pathlib import Path; from leakgauge.domains.locations.data.data_loader import load_visits; "
        f"print(load_visits({table!r}, Path({str(tmp_path)!r}), 5).digest)"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert here == there
    written(tmp_path, "elsewhere/other.csv", *VISITS)
    assert loaded(tmp_path, **table | {"source": "elsewhere/other.csv"}).digest == here
    assert loaded(tmp_path, **table | {"epoch": "2h"}).digest != here
    written(tmp_path, "visits.csv", *VISITS, "eve,2013-11-01 00:30:00,0.5,0.5")
    assert loaded(tmp_path, **table).digest != here


def test_min_visits_drops_inactive_people(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    assert list(spelled(loaded(tmp_path, source="visits.csv", min_visits=2, **SQUARE, **DAY))) == ["ann"]
    with pytest.raises(BadInput, match=r"data.min_visits = 3: nobody has that many visits"):
        loaded(tmp_path, source="visits.csv", min_visits=3, **SQUARE, **DAY)


def test_window_accepts_toml_dates(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    found = loaded(tmp_path, source="visits.csv", window=[date(2013, 11, 1), date(2013, 11, 2)], **SQUARE)
    assert spelled(found) == BY_HAND


@pytest.mark.parametrize("form", [{}, {"time_format": "%Y-%m-%d %H:%M"}])
def test_a_date_with_a_time_beside_a_time_of_day_is_a_bad_row(tmp_path, form):
    rows = ["a,2024-05-06 00:00:00,14:05,p", "b,2024-05-06,15:05,p", "c,2024-05-06T00:00,16:05,p"]
    columns = {"user": "user", "date": "day", "time": "clock", "place": "place"}
    written(tmp_path, "v.csv", "user,day,clock,place", *rows)
    assert spelled(loaded(tmp_path, source="v.csv", columns=columns, **form)) == {
        "a": [(0, 14)],
        "b": [(0, 15)],
        "c": [(0, 16)],
    }
    written(
        tmp_path, "v.csv", "user,day,clock,place", *rows, "d,2024-05-06 09:00:00,17:05,p", "e,2024-05-06,,p"
    )
    both = r"line 5 \(its date has a time of day other than midnight; .*line 6 \(time missing"
    with pytest.raises(BadInput, match=both):
        loaded(tmp_path, source="v.csv", columns=columns, **form)
