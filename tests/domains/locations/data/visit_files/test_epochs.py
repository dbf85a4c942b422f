import duckdb
import pytest

from domains.locations.tiny_files import loaded, spelled, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.epochs import (
    all_days_clock,
    parse_epoch_length,
    weekly_clock,
    window_clock,
)

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
