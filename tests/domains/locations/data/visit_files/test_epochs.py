from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest

from domains.locations.tiny_files import loaded, spelled, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.epochs import (
    all_days_clock,
    parse_epoch_length,
    to_wall_seconds,
    utc_offsets,
    wall_time_range,
    wall_time_sql,
    weekly_clock,
    window_clock,
)

ROME = ZoneInfo("Europe/Rome")


def instant(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_rome_changes_clocks_at_one_utc():
    found = utc_offsets(ROME, instant("2013-01-01T12:00"), instant("2013-12-31T12:00"))
    assert found == [
        (instant("2013-01-01T12:00"), 3600.0),
        (instant("2013-03-31T01:00"), 7200.0),
        (instant("2013-10-27T01:00"), 3600.0),
    ]


@pytest.mark.parametrize(
    "name", ["Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
)
def test_sql_conversion_matches_zoneinfo(name):
    zone = ZoneInfo(name)
    first, last = instant("2011-01-01T00:00"), instant("2014-01-01T00:00")
    rng = np.random.default_rng(7)
    changes = [start for start, _ in utc_offsets(zone, first, last)]
    seconds = np.concatenate(
        [rng.integers(int(first), int(last), 500), *(np.array([c - 1, c, c + 1]) for c in changes)]
    )
    seconds = seconds[(seconds >= first) & (seconds <= last)].astype(float)
    sql = wall_time_sql("t", utc_offsets(zone, first, last))
    found = (
        duckdb.connect().execute(f"SELECT {sql} FROM (SELECT unnest(?) AS t)", [seconds.tolist()]).fetchall()
    )
    shown = [datetime.fromtimestamp(t, zone).replace(tzinfo=UTC).timestamp() for t in seconds]
    assert [row[0] for row in found] == shown


def test_span_includes_repeated_hour():
    first, last = instant("2013-10-27T00:30"), instant("2013-10-27T01:10")  # 02:30 and 02:10 on the wall
    low, high = wall_time_range(utc_offsets(ROME, first, last), last)
    assert (low, high) == (instant("2013-10-27T02:00"), instant("2013-10-27T03:00"))


@pytest.mark.parametrize(
    "value",
    [
        "2013-11-01",
        date(2013, 11, 1),
        datetime.fromisoformat("2013-11-01"),
        "2013-11-01T00:00",
        "2013-10-31T23:00+00:00",
    ],
)
def test_accepts_several_time_notations(value):
    assert to_wall_seconds(value, ROME, "data.window") == instant("2013-11-01T00:00")


def test_repeated_hour_is_one_epoch_and_skipped_hour_is_empty(tmp_path):
    autumn = ("a,2013-10-27T00:30:00Z,p", "b,2013-10-27T01:30:00Z,p", "c,2013-10-27T02:30:00Z,p")
    written(tmp_path, "autumn.csv", "user,time,place", *autumn)
    window = {"timezone": "Europe/Rome", "window": ["2013-10-27", "2013-10-28"]}
    found = loaded(tmp_path, source="autumn.csv", **window)
    assert spelled(found) == {"a": [(0, 2)], "b": [(0, 2)], "c": [(0, 3)]}
    assert found.traces.map.n_epochs == 24
    spring = ("a,2013-03-31T00:59:59Z,p", "b,2013-03-31T01:00:00Z,p")
    written(tmp_path, "spring.csv", "user,time,place", *spring)
    found = loaded(tmp_path, source="spring.csv", timezone="Europe/Rome", window=["2013-03-31", "2013-04-01"])
    assert spelled(found) == {"a": [(0, 1)], "b": [(0, 3)]}


def test_folding_uses_local_time_in_summer_and_winter(tmp_path):
    rows = ("a,2013-07-01T06:30:00Z,p", "a,2013-12-02T07:30:00Z,p")  # two Mondays, half past eight in Rome
    written(tmp_path, "v.csv", "user,time,place", *rows)
    assert spelled(loaded(tmp_path, source="v.csv", timezone="Europe/Rome", fold=True)) == {"a": [(0, 8)]}


def test_default_window_uses_local_days(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,2013-11-01T23:30:00Z,p", "a,2013-11-02T00:30:00Z,p")
    found = loaded(tmp_path, source="v.csv", timezone="Europe/Rome")
    assert (found.first, found.traces.map.n_epochs) == ("2013-11-02T00:00", 24)
    assert spelled(found) == {"a": [(0, 0), (0, 1)]}


DAY = 86_400
FRIDAY = 16_010 * DAY  # 2013-11-01


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h", 3600), ("15min", 900), ("1d", DAY), ("7d", 7 * DAY), ("30 s", 30)]
)
def test_parses_epoch_lengths(text, seconds):
    assert parse_epoch_length(text) == seconds


@pytest.mark.parametrize("text", ["5h", "7min", "36h", "1 week", "-1h", "1.5h"])
def test_rejects_lengths_that_do_not_divide_a_day(text):
    with pytest.raises(BadInput, match=r"data.epoch"):
        parse_epoch_length(text)


def test_epochs_start_at_midnight():
    clock = window_clock(6 * 3600, (FRIDAY + 12 * 3600, FRIDAY + 2 * DAY))
    assert clock.n_epochs == 6
    assert clock.days.tolist() == [0, 0, 1, 1, 1, 1]


def test_epochs_of_several_days_belong_to_their_first_day():
    assert window_clock(2 * DAY, (FRIDAY, FRIDAY + 6 * DAY)).days.tolist() == [0, 2, 4]


def test_default_window_is_whole_days():
    clock = all_days_clock(3600, FRIDAY + 5000.0, FRIDAY + DAY)  # the next midnight belongs to the next day
    assert (clock.first, clock.n_epochs) == (FRIDAY, 48)
    assert all_days_clock(7 * DAY, FRIDAY, FRIDAY + 7.0 * DAY).n_epochs == 2


def test_folded_week_begins_on_monday():
    clock = weekly_clock(3600, None)
    assert clock.n_epochs == 168
    assert clock.days.tolist() == [hour // 24 for hour in range(168)]
    walls = [
        FRIDAY,
        FRIDAY + 3 * DAY,
        FRIDAY + 3 * DAY - 1,
        0,
        -1,
    ]  # Friday, Monday, Sunday night, Thursday, Wednesday
    sql = f"SELECT {clock.epoch('t')} FROM (SELECT unnest(?::DOUBLE[]) AS t)"
    found = [row[0] for row in duckdb.connect().execute(sql, [walls]).fetchall()]
    assert found == [4 * 24, 0, 167, 3 * 24, 3 * 24 - 1]


def test_window_can_be_folded(tmp_path):
    written(tmp_path, "v.csv", "user,time,place", "a,2013-11-01 00:00:00,p", "b,2013-11-08 00:00:00,p")
    found = loaded(tmp_path, source="v.csv", fold=True, window=["2013-11-01", "2013-11-08"])
    assert spelled(found) == {"a": [(0, 96)]}
    assert found.tally.outside_window == 1
