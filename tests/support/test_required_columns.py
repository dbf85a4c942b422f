import tomllib

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support.required_columns import require_columns

VISIT = {"user": "user", "time": "time", "lat": "lat", "lon": "lon"}


def message(wanted, known, line="columns = { {} }"):
    with pytest.raises(BadInput) as caught:
        require_columns(wanted, known, "trips.csv", "data.source", line)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def suggested(wanted, known, line="columns = { {} }"):
    """The line to write, as a plan would be read."""
    return tomllib.loads(message(wanted, known, line).rpartition("Map ")[2].partition(": ")[2])


def test_all_missing_columns_are_reported_together():
    assert message(VISIT, ["person_id", "time", "y", "x"]) == (
        "data.source: trips.csv has no columns 'user', 'lat' and 'lon'; it has person_id, time, y, x. "
        'Map them: columns = { user = "...", time = "time", lat = "...", lon = "..." }'
    )


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (["usr", "time", "lat", "lon"], {"user": "usr"}),
        (["User", "Time", "Lat", "Lon"], {"user": "User", "time": "Time", "lat": "Lat", "lon": "Lon"}),
        (
            ["user_id", "timestamp", "latitude", "longitude"],
            {"user": "user_id", "lat": "latitude", "lon": "longitude"},
        ),
        (['a "quoted" user', "time", "lat", "lon"], {"user": 'a "quoted" user'}),
        (["id", "time", "lat", "lon"], {"user": "..."}),
    ],
)
def test_similar_names_are_filled_in(known, expected):
    columns = suggested(VISIT, known)["columns"]
    assert set(columns) == set(VISIT)
    assert {key: columns[key] for key in expected} == expected


def test_a_column_that_is_named_is_not_suggested_for_another_key():
    assert suggested({"user": "user", "time": "user_time"}, ["user_time"])["columns"]["user"] == "..."


def test_keys_outside_a_table_are_shown_where_they_are_wrong():
    wanted = {"label": "incom", "group": ["region", "twon"], "categories": ["job"]}
    text = message(wanted, ["income", "region", "town", "job"], "{}")
    assert text.endswith("""Map them: label = "income", group = ["region", "town"]""")


def test_long_lists_are_shortened():
    text = message({"features": [f"f{i}" for i in range(3000)]}, [f"column {i}" for i in range(3000)], "{}")
    assert "'f19' and 2980 more; it has column 0, " in text
    assert len(text) < 1500


def test_complete_files_pass():
    require_columns(VISIT, ["lon", "lat", "more", "time", "user"], "trips.csv", "data.source")
    require_columns({}, [], "trips.csv", "data.source")
