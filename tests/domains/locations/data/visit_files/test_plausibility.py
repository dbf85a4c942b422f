"""Data that cannot be what a plan says are refused with the line to write, and that line is accepted."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from domains.locations.tiny_files import HEADER, parquet, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data import data_loader
from leakgauge.domains.locations.data.data_loader import load_visits
from leakgauge.domains.locations.data.visit_files import plausibility
from leakgauge.domains.locations.data.visit_files.plausibility import (
    CHECK_NAMES,
    ROW_CHECKS,
    RowFacts,
    likely_reading,
    refuse_implausible,
)

NOW = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
START = datetime(2013, 11, 1, 8, tzinfo=UTC)
ROME = (41.9, 12.5)
N = 120  # rows


@pytest.fixture(autouse=True)
def fixed_now(monkeypatch):
    monkeypatch.setattr(plausibility, "latest_likely", lambda: NOW)
    data_loader._cache.clear()


def times(step=timedelta(hours=7)):
    return [START + i * step for i in range(N)]


def points(centre=ROME):
    return [(centre[0] + i % 7 / 100, centre[1] + i % 5 / 100) for i in range(N)]


def write(folder, moments, where, users=None):
    """A file of N rows: ten users in turn, unless users are given."""
    who = users or [f"u{i % 10}" for i in range(N)]
    rows = [f"{u},{t},{lat},{lon}" for u, t, (lat, lon) in zip(who, moments, where, strict=True)]
    written(folder, "v.csv", HEADER, *rows)


GRID = {"source": "v.csv", "grid": [10, 10]}


def refused(folder, **more):
    with pytest.raises(BadInput) as caught:
        load_visits({**GRID, **more}, folder, seed=1)
    message = str(caught.value)
    assert message.startswith("data")
    assert "\n" not in message
    return message


def suggested_box(message):
    return [float(corner) for corner in re.search(r"write box = \[(.*?)\]", message)[1].split(", ")]


def seconds(moments):
    return [int(moment.timestamp()) for moment in moments]


@pytest.mark.parametrize(
    ("write_time", "line"),
    [
        (lambda t: f"{t:%Y%m%d%H}", {"time_format": "%Y%m%d%H"}),
        (lambda t: f"{t:%Y%m%d}", {"time_format": "%Y%m%d"}),
        (lambda t: f"{t:%Y%m%d%H%M%S}", {"time_format": "%Y%m%d%H%M%S"}),
        (lambda t: f"{int(t.timestamp()) // 3600}", {"time_unit": "h"}),
        (lambda t: f"{int(t.timestamp()) // 60}", {"time_unit": "min"}),
        (lambda t: f"{int(t.timestamp()) // 86400}", {"time_unit": "d"}),
        (lambda t: f"{int(t.timestamp()) * 1000}", {"time_unit": "ms"}),
    ],
    ids=["yyyymmddhh", "yyyymmdd", "yyyymmddhhmmss", "hours", "minutes", "days", "milliseconds"],
)
@pytest.mark.parametrize("window", [{}, {"window": ["2013-11-01", "2013-12-31"]}], ids=["all", "window"])
def test_the_line_to_write_is_named_and_accepted(tmp_path, write_time, line, window):
    write(tmp_path, [write_time(t) for t in times()], points())
    ((key, value),) = line.items()
    assert f'write {key} = "{value}"' in refused(tmp_path, **window)
    data = load_visits({**GRID, **line, **window, "epoch": "1d"}, tmp_path, seed=1)
    assert data.first == "2013-11-01T00:00"
    assert data.tally.kept == N


def test_numbers_of_a_parquet_file_are_read_by_their_format(tmp_path):
    select = (
        "SELECT 'u' || (i % 10) AS user, 2013110108 + i % 10 AS time, 41.9 + i % 7 / 100 AS lat, "
        f"12.5 + i % 5 / 100 AS lon FROM range({N}) AS r(i)"
    )
    parquet(tmp_path, "v.parquet", select)
    table = {"source": "v.parquet"}
    assert 'write time_format = "%Y%m%d%H"' in refused(tmp_path, **table)
    data = load_visits({**GRID, **table, "time_format": "%Y%m%d%H"}, tmp_path, seed=1)
    assert (data.first, data.traces.map.n_epochs) == ("2013-11-01T00:00", 24)


def test_hours_from_an_unknown_origin_need_one(tmp_path):
    write(tmp_path, [5 * i for i in range(N)], points())
    message = refused(tmp_path)
    assert f"{N} of {N} rows lie before 1990" in message
    line = re.search(r'count hours, write time_unit = "(\S+)" and origin = "(\S+)",', message)
    table = {**GRID, "time_unit": line[1], "origin": line[2]}
    loaded = load_visits(table, tmp_path, seed=1)
    assert (loaded.tally.kept, loaded.warnings, loaded.first) == (N, (), "2024-01-01T00:00")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_dates_in_the_future_get_no_advice_about_numbers(tmp_path, kind):
    moments = [f"{moment.replace(year=2064):%Y-%m-%d %H:%M:%S}" for moment in times()]
    write(tmp_path, moments, points())
    more = {}
    if kind == "parquet":
        rows = 'SELECT "user", CAST(time AS TIMESTAMP) AS time, lat, lon'
        parquet(tmp_path, "v.parquet", f"{rows} FROM '{tmp_path / 'v.csv'}'")
        more = {"source": "v.parquet"}
    message = refused(tmp_path, **more)
    assert "they are dates, which no time_unit or origin changes: correct them in the file" in message
    assert "write time_unit" not in message
    assert 'accept = ["future_times"]' in message


@pytest.mark.parametrize(("wrong", "name"), [(0, "old_times"), (int(NOW) + 86400, "future_times")])
def test_single_wrong_times_are_left_out_by_the_suggested_window(tmp_path, wrong, name):
    write(tmp_path, [wrong, *seconds(times())[1:]], points())
    message = refused(tmp_path)
    assert f"1 of {N} rows lie" in message
    assert f'accept = ["{name}"]' in message
    first, last = re.search(r'write window = \["(\S+)", "(\S+)"\]', message).groups()
    data = load_visits({**GRID, "window": [first, last]}, tmp_path, seed=1)
    assert (data.tally.kept, data.tally.outside_window) == (N - 1, 1)
    assert load_visits({**GRID, "accept": [name], "epoch": "1d"}, tmp_path, seed=1).tally.kept == N


def test_future_depends_on_now_alone(tmp_path, monkeypatch):
    write(tmp_path, seconds(times()), points())
    load_visits(GRID, tmp_path, seed=1)
    data_loader._cache.clear()
    monkeypatch.setattr(plausibility, "latest_likely", lambda: START.timestamp() - 1)
    assert f"{N} of {N} rows lie in the future" in refused(tmp_path)


def test_all_visits_in_one_hour_are_refused_unless_the_plan_says_so(tmp_path):
    write(tmp_path, seconds(times(timedelta(seconds=20))), points())
    message = refused(tmp_path)
    assert "within one hour, from 2013-11-01T08:00" in message
    assert (
        'if numbers over a range of 2380 count minutes, write time_unit = "min"; if they count hours '
        '(99 days in all), time_unit = "h"; if they count days (2,380 days in all), time_unit = "d"; else '
        "write" in message
    )
    write(tmp_path, times(timedelta(seconds=20)), points())
    assert "from 2013-11-01T08:00; write the right column of times" in refused(tmp_path)
    write(tmp_path, seconds(times(timedelta(seconds=20))), points())
    assert load_visits({**GRID, "accept": ["one_hour"]}, tmp_path, seed=1).tally.kept == N
    hour = {"window": ["2013-11-01T08:00", "2013-11-01T09:00"]}
    assert load_visits({**GRID, **hour}, tmp_path, seed=1).tally.kept == N


def test_hours_read_as_seconds_from_an_origin_are_a_warning(tmp_path):
    write(tmp_path, [60 * i for i in range(N)], points())
    table = {**GRID, "origin": "2013-11-01", "epoch": "1d"}
    (warning,) = load_visits(table, tmp_path, seed=1).warnings
    assert f"all {N} rows lie within 2.0 hours, from 2013-11-01T00:00" in warning
    assert load_visits({**table, "time_unit": "h"}, tmp_path, seed=1).warnings == ()


@pytest.mark.parametrize(
    "write_time",
    [
        lambda day: f"{day:%Y-%m-%d}",
        lambda day: f"{day:%Y-%m-%d}T00:00:00Z",
        lambda day: f"{day.replace(tzinfo=ZoneInfo('Europe/Rome')).isoformat()}",
        lambda day: f"{day.timestamp():.0f}",
    ],
    ids=["dates", "UTC", "Rome", "seconds"],
)
@pytest.mark.parametrize("window", [{}, {"window": ["2013-10-01", "2014-06-01"]}], ids=["all", "window"])
def test_dates_alone_are_counted_by_day_only(tmp_path, write_time, window):
    days = [datetime(2013, 10, 2, tzinfo=UTC) + timedelta(days=i) for i in range(N)]  # the clock changes
    write(tmp_path, [write_time(day) for day in days], points())
    plan = {"timezone": "Europe/Rome", **window}
    assert "all 120 rows lie at 00:00" in (message := refused(tmp_path, **plan))
    assert 'write epoch = "1d"' in message
    assert load_visits({**GRID, **plan, "epoch": "1d"}, tmp_path, seed=1).tally.kept == N
    assert load_visits({**GRID, **plan, "accept": ["midnight"]}, tmp_path, seed=1).tally.kept == N
    write(tmp_path, [*(write_time(day) for day in days[1:]), "2013-10-05 10:00"], points())
    assert load_visits({**GRID, **plan}, tmp_path, seed=1).tally.kept == N


@pytest.mark.parametrize(
    ("centre", "zone"),
    [
        ((12.5, 41.9), "Europe/Rome"),
        ((-74.0, 40.7), None),
        ((101.7, 3.1), None),
        ((37.6, 55.7), "Europe/Moscow"),
    ],
    ids=["Rome, by its zone", "New York, at the pole", "Kuala Lumpur, off the earth", "Moscow, by its zone"],
)
def test_swapped_coordinates_are_refused_and_the_swap_is_accepted(tmp_path, centre, zone):
    write(tmp_path, seconds(times()), points(centre))
    more = {"timezone": zone} if zone else {}
    for named in ({"columns": {"lat": "lat", "lon": "lon"}}, {}):  # these names are the default
        assert 'write columns = { lat = "lon", lon = "lat"' in refused(tmp_path, **more, **named)
    swapped = {"columns": {"lat": "lon", "lon": "lat"}}
    assert load_visits({**GRID, **more, **swapped}, tmp_path, seed=1).tally.kept == N


@pytest.mark.parametrize(
    ("centre", "zone"),
    [
        (ROME, "Europe/Rome"),
        ((69.6, 18.9), "Europe/Oslo"),
        ((-53.2, -70.9), None),
        ((1.3, 103.8), "Asia/Kuala_Lumpur"),
        ((39.5, 76.0), "Asia/Shanghai"),
    ],
    ids=[
        "Rome",
        "Tromso",
        "Punta Arenas",
        "Singapore with a neighbour's zone",
        "Kashgar with that of Shanghai",
    ],
)
def test_right_coordinates_are_not_refused(tmp_path, centre, zone):
    write(tmp_path, seconds(times()), points(centre))
    data = load_visits({**GRID, **({"timezone": zone} if zone else {})}, tmp_path, seed=1)
    assert (data.tally.kept, data.warnings) == (N, ())


@pytest.mark.parametrize(
    ("centre", "zone"), [((40.7, -74.0), "Europe/Rome"), ((34.1, 118.2), "America/Los_Angeles")]
)
def test_a_place_far_from_its_time_zone_is_a_warning(tmp_path, centre, zone):
    """New York on the clock of Rome, and Los Angeles without its minus sign."""
    write(tmp_path, seconds(times()), points(centre))
    (warning,) = load_visits({**GRID, "timezone": zone}, tmp_path, seed=1).warnings
    assert "km from the main city of the plan's time zone; write the right timezone" in warning
    assert load_visits({**GRID, "timezone": zone, "accept": ["other_zone"]}, tmp_path, seed=1).warnings == ()


@pytest.mark.parametrize("n_far", [4, 9])
def test_a_map_that_far_points_make_too_large_is_a_warning(tmp_path, n_far):
    """More points far in the north than outliers may be: all others lie in one of ten rows."""
    write(tmp_path, seconds(times()), [*[(60.0, 12.5)] * n_far, *points()[n_far:]])
    (warning,) = load_visits(GRID, tmp_path, seed=1).warnings
    assert f"one of the 10 rows of the grid has {(N - n_far) / N:.0%} of all visits" in warning
    assert load_visits({**GRID, "accept": ["main_band"]}, tmp_path, seed=1).warnings == ()
    assert load_visits({**GRID, "box": [41.8, 12.4, 42.1, 12.7]}, tmp_path, seed=1).warnings == ()


def test_devices_without_a_fix_are_refused_and_the_box_leaves_them_out(tmp_path):
    write(tmp_path, seconds(times()), [(0, 0), *points()[1:]])
    message = refused(tmp_path)
    assert "1 rows lie at latitude 0, longitude 0" in message
    data = load_visits({**GRID, "box": suggested_box(message)}, tmp_path, seed=1)
    assert (data.tally.kept, data.tally.outside_map) == (N - 1, 1)
    assert data.traces.map.positions.max() < 20_000  # metres
    accepted = {"accept": ["zero_coordinates", "distant_points"]}
    assert load_visits({**GRID, **accepted}, tmp_path, seed=1).tally.kept == N


def test_many_devices_without_a_fix_get_no_box_that_keeps_them(tmp_path):
    """They are more than the outliers that a suggested box leaves out, so it would reach to latitude 0."""
    write(tmp_path, seconds(times()), [(0, 0)] * 6 + points()[6:])
    message = refused(tmp_path)
    assert "6 rows lie at latitude 0, longitude 0" in message
    assert "write box = [south, west, north, east] of your area" in message


def test_points_far_outside_are_refused_and_the_box_leaves_them_out(tmp_path):
    write(tmp_path, seconds(times()), [(50.0, 12.5), *points()[1:]])
    message = refused(tmp_path)
    assert "latitude runs over 8.1 degrees" in message
    data = load_visits({**GRID, "box": suggested_box(message)}, tmp_path, seed=1)
    assert (data.tally.kept, data.tally.outside_map) == (N - 1, 1)


def test_a_user_in_every_row_is_refused(tmp_path):
    write(tmp_path, seconds(times()), points(), users=[f"row{i}" for i in range(N)])
    assert f"{N} users in {N} rows" in refused(tmp_path)
    assert load_visits({**GRID, "accept": ["user_per_row"]}, tmp_path, seed=1).traces.n_people == N


def test_one_place_with_most_visits_is_a_warning(tmp_path):
    write(tmp_path, seconds(times()), [*points()[:40], *[(41.9, 12.5)] * 80])
    (warning,) = load_visits(GRID, tmp_path, seed=1).warnings
    assert warning.startswith("Warning: v.csv: one of 100 places has ")
    assert load_visits({**GRID, "accept": ["main_place"]}, tmp_path, seed=1).warnings == ()


@pytest.mark.parametrize(("n_most", "warns"), [(100, True), (70, False)])
def test_one_of_three_places_with_most_visits_is_a_warning(tmp_path, n_most, warns):
    rows = [f"u{i % 10},{t},{'a' if i < n_most else 'bc'[i % 2]}" for i, t in enumerate(seconds(times()))]
    written(tmp_path, "v.csv", "user,time,place", *rows)
    assert bool(load_visits({"source": "v.csv"}, tmp_path, seed=1).warnings) is warns


def test_dates_as_two_digits_of_the_year_and_an_hour_get_their_format(tmp_path):
    write(tmp_path, [f"{t:%y%m%d%H}" for t in times()], points())
    message = refused(tmp_path)
    assert 'write time_format = "%y%m%d%H"' in message
    read = load_visits({**GRID, "time_format": "%y%m%d%H"}, tmp_path, seed=1)
    assert (read.tally.kept, read.first) == (N, "2013-11-01T00:00")


def test_dates_outside_the_window_get_no_unit(tmp_path):
    write(tmp_path, [f"{t:1970-%m-%dT%H:%M:%S}" for t in times()], points())
    message = refused(tmp_path, window=["2013-11-01", "2013-11-08"])
    assert message.endswith("move the window")
    assert "time_unit" not in message


def test_likely_times_outside_the_window_get_no_format(tmp_path):
    """Seconds of November 2023 that could also be read as dates of January 2017."""
    write(tmp_path, [str(1_701_010_000 + 20 * i) for i in range(N - 5)] + ["1701012300"] * 5, points())
    message = refused(tmp_path, window=["2024-05-06", "2024-05-07"], accept=["one_day", "one_hour"])
    assert message.endswith("move the window")


def test_warning_reaches_the_notes_of_a_run(tmp_path):
    from leakgauge.domains.locations.challenger import build

    write(tmp_path, seconds(times()), [*points()[:40], *[(41.9, 12.5)] * 80])
    challenger = build(
        data=GRID,
        challenger={"group_size": "everyone", "targets": 1},
        mechanism={"name": "raw"},
        folder=tmp_path,
        seed=1,
    )
    assert any(note.startswith("Warning: v.csv: one of 100 places") for note in challenger.notes)


def test_checks_that_a_plan_turns_off_are_named_beside_the_data(tmp_path):
    from leakgauge.domains.locations.challenger import build

    write(tmp_path, seconds(times()), points())
    tables = {"challenger": {"group_size": "everyone", "targets": 1}, "mechanism": {"name": "raw"}}
    for accept, said in ((["one_hour", "one_day"], "turns off: one_hour, one_day."), ([], "")):
        data = {**GRID, "accept": accept}
        notes = build(data=data, **tables, folder=tmp_path, seed=1).notes
        assert [note.endswith(said) for note in notes if "turns off" in note] == [True] * bool(accept)


def test_unknown_checks_are_refused_with_the_list(tmp_path):
    write(tmp_path, seconds(times()), points())
    message = refused(tmp_path, accept=["times"])
    assert message == f"data: accept: no check is called 'times'; the checks are {', '.join(CHECK_NAMES)}"


def test_accepted_checks_do_not_change_the_digest(tmp_path):
    write(tmp_path, seconds(times()), points())
    plain, accepted = (
        load_visits({**GRID, **more}, tmp_path, seed=1).digest for more in ({}, {"accept": ["one_hour"]})
    )
    assert plain == accepted


def test_files_of_a_few_rows_are_not_judged_by_their_spread(tmp_path):
    written(tmp_path, "v.csv", HEADER, "a,1383292800,41.9,12.5", "b,1383292810,42.9,13.5")
    assert load_visits(GRID, tmp_path, seed=1).tally.kept == 2


def test_every_check_is_documented_and_named_once():
    from pathlib import Path

    page = (Path(__file__).parents[5] / "docs" / "locations-data.md").read_text()
    assert len(set(CHECK_NAMES)) == len(CHECK_NAMES)
    assert all(f"| `{name}` |" in page for name in CHECK_NAMES)


def test_likely_times_pass_every_check():
    start = START.timestamp()
    facts = RowFacts(
        n_rows=N, first=start, last=start + 1e6, n_early=0, n_future=0, likely=(start, start + 1e6), now=NOW
    )
    assert refuse_implausible(ROW_CHECKS, facts, (), "v.csv") == ()


@pytest.mark.parametrize("numbers", [(0, 167), (2013130108, 2013130109), (1e15, 2e15)])
def test_numbers_without_a_likely_reading_get_none(numbers):
    assert likely_reading(*numbers, NOW) in (None, 'time_unit = "us"')
