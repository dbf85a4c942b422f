"""Tiny files in every format, with the traces that follow from them by hand."""

import json
import subprocess
import sys
from datetime import date

import numpy as np
import pytest

from domains.locations.tiny_files import HEADER, loaded, parquet, spelled, written
from leakgauge.core.errors import BadInput

# Places of the square from 0, 0 to 2, 2: 0 south-west, 1 south-east, 2 north-west, 3 north-east.
SQUARE = {"grid": [2, 2], "box": [0, 0, 2, 2]}
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


def test_a_csv_file_becomes_the_matrix_written_by_hand(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    found = loaded(tmp_path, source="visits.csv", **SQUARE, **DAY)
    assert spelled(found) == BY_HAND
    assert (found.traces.map.n_places, found.traces.map.n_epochs) == (4, 24)
    assert found.traces.visits.dtype == np.uint8
    assert found.traces.visits.has_canonical_format
    assert found.tally.words == "6 rows read: 4 kept, 1 outside the window, 1 outside the map"
    assert found.first == "2013-11-01T00:00"


@pytest.mark.parametrize("name", ["visits.csv.gz", "visits.txt", "visits.tsv"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_compression_and_delimiters_are_told_by_the_name_and_the_first_line(tmp_path, name, delimiter):
    written(tmp_path, name, *(line.replace(",", delimiter) for line in VISITS))
    assert spelled(loaded(tmp_path, source=name, **SQUARE, **DAY)) == BY_HAND


def test_windows_line_ends_a_byte_order_mark_and_quotes_change_nothing(tmp_path):
    lines = [
        '"user","time","lat","lon"',
        *(",".join(f'"{v}"' for v in line.split(",")) for line in VISITS[1:]),
    ]
    (tmp_path / "visits.csv").write_bytes("\ufeff".encode() + "\r\n".join(lines).encode())
    assert spelled(loaded(tmp_path, source="visits.csv", **SQUARE, **DAY)) == BY_HAND


def test_a_file_without_names_of_columns_is_given_them(tmp_path):
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
def test_parquet_holds_times_in_many_ways(tmp_path, time):
    rows = "('ann', 1800, 0.5, 0.5), ('bob', 3600, 0.5, 1.5), ('ann', 83400, 1.5, 1.5)"
    parquet(
        tmp_path,
        "v.parquet",
        f'SELECT u AS "user", {time} AS time, lat, lon FROM (VALUES {rows}) t(u, s, lat, lon)',
    )
    assert spelled(loaded(tmp_path, source="v.parquet", **SQUARE, **DAY)) == BY_HAND


def test_an_instant_in_parquet_is_read_on_the_clock_of_the_zone(tmp_path):
    time = "TIMESTAMPTZ '2013-11-01 00:30:00+00'"
    parquet(tmp_path, "v.parquet", f'SELECT 7 AS "user", {time} AS time, 0.5 AS lat, 0.5 AS lon')
    found = loaded(tmp_path, source="v.parquet", timezone="Asia/Tokyo", **SQUARE, **DAY)
    assert spelled(found) == {"7": [(0, 9)]}  # nine hours ahead


def test_integer_degrees_are_scaled_and_people_go_by_numbers_in_order(tmp_path):
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
def test_geojson_becomes_the_same_matrix_in_every_form(tmp_path, form):
    collection = {"type": "FeatureCollection", "name": "visits", "features": FEATURES, "more": 1}
    text = {
        "collection": json.dumps(collection),
        "indented": json.dumps(collection, indent=2),
        "list": json.dumps(FEATURES),
        "lines": "\n".join(map(json.dumps, FEATURES)),
    }[form]
    written(tmp_path, "visits.geojson", text)
    assert spelled(loaded(tmp_path, source="visits.geojson", **SQUARE, **DAY)) == BY_HAND


def test_named_places_that_occur_are_the_map(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,0,10", "b,3600,9", "b,7200,bar", "a,0,9")
    found = loaded(tmp_path, source="v.csv")
    assert found.places.tolist() == ["9", "10", "bar"]
    assert found.traces.map.positions is None
    assert found.traces.map.n_epochs == 24  # the whole first day
    assert spelled(found) == {"a": [(0, 0), (1, 0)], "b": [(0, 1), (2, 2)]}


def test_only_the_most_visited_places_are_kept_if_asked(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,0,x", "b,0,y", "b,1,y", "c,0,z", "c,0,z", "c,0,z")
    found = loaded(tmp_path, source="v.csv", top=2)
    assert found.places.tolist() == ["y", "z"]
    assert spelled(found) == {"b": [(0, 0)], "c": [(1, 0)]}
    assert found.tally.words == "6 rows read: 5 kept, 1 outside the map"


def test_a_file_of_coordinates_says_which_places_there_are_and_where(tmp_path):
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


def test_places_with_coordinates_of_their_own_lie_at_the_mean_of_their_visits(tmp_path):
    written(tmp_path, "v.csv", "user,time,place,y,x", "a,0,p,0,0", "b,0,p,0,2", "c,0,q,1,0")
    columns = {"place": "place", "lat": "y", "lon": "x"}
    positions = loaded(tmp_path, source="v.csv", columns=columns).traces.map.positions
    degree = np.pi * 6_371_008.8 / 180
    np.testing.assert_allclose(positions, [[degree * np.cos(np.radians(0.5)), 0], [0, degree]], rtol=1e-12)


def test_the_original_foursquare_file_is_read_on_the_clock_of_each_row(tmp_path):
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


def test_the_original_cab_files_are_read_from_their_folder(tmp_path):
    written(tmp_path, "cabs/_cabs.txt", '<cab id="abboip" updates="2"/>', '<cab id="enyenewl" updates="1"/>')
    written(tmp_path, "cabs/new_abboip.txt", "37.5 -122.5 0 1211180400", "37.5 -121.5 1 1211184000")
    written(tmp_path, "cabs/new_enyenewl.txt", "38.5 -121.5 0 1211180460")
    table = {"source": "cabs", "format": "cabspotting", "grid": [2, 2], "box": [37, -123, 39, -121]}
    found = loaded(tmp_path, window=["2008-05-19", "2008-05-20"], **table)  # seven hours behind UTC
    assert spelled(found) == {"abboip": [(0, 0), (1, 1)], "enyenewl": [(3, 0)]}


def test_the_original_milan_file_is_read_by_its_own_keys(tmp_path):
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
    assert (found.tally.pointless, found.tally.bad) == (1, 0)


def test_several_files_are_read_as_one(tmp_path):
    written(tmp_path, "day-1.csv", *VISITS[:3])
    written(tmp_path, "day-2.csv", HEADER, *VISITS[3:])
    assert spelled(loaded(tmp_path, source="day-*.csv", **SQUARE, **DAY)) == BY_HAND


def test_one_digest_for_the_same_file_and_settings_in_every_process(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    table = {"source": "visits.csv", **SQUARE, **DAY}
    here = loaded(tmp_path, **table).digest
    code = (
        "from pathlib import Path; from leakgauge.domains.locations.data import load; "
        f"print(load({table!r}, Path({str(tmp_path)!r}), 5).digest)"
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


def test_people_with_few_visits_can_be_left_out(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    assert list(spelled(loaded(tmp_path, source="visits.csv", min_visits=2, **SQUARE, **DAY))) == ["ann"]
    with pytest.raises(BadInput, match=r"data.min_visits = 3: nobody has that many visits"):
        loaded(tmp_path, source="visits.csv", min_visits=3, **SQUARE, **DAY)


def test_dates_of_toml_make_a_window_too(tmp_path):
    written(tmp_path, "visits.csv", *VISITS)
    found = loaded(tmp_path, source="visits.csv", window=[date(2013, 11, 1), date(2013, 11, 2)], **SQUARE)
    assert spelled(found) == BY_HAND
