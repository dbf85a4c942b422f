from zoneinfo import ZoneInfo

import pytest

from domains.locations.tiny_files import loaded, spelled, written
from leakgauge.domains.locations.reading.setup import zone_for
from leakgauge.domains.locations.reading.table import FileTable, Published


@pytest.mark.parametrize(
    ("said", "zone"),
    [
        ({}, "UTC"),
        ({"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
        ({"format": Published.CABSPOTTING}, "America/Los_Angeles"),
        ({"format": Published.MILANO}, "Europe/Rome"),
        ({"format": Published.MILANO, "timezone": "UTC"}, "UTC"),
        ({"format": Published.FOURSQUARE, "timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
    ],
)
def test_the_zone_is_the_one_said_or_that_of_the_data_set(said, zone):
    assert zone_for(FileTable(source="v.csv", grid=(1, 1), **said)) == ZoneInfo(zone)


def test_check_ins_bring_their_own_clocks():
    assert zone_for(FileTable(source="v.txt", format=Published.FOURSQUARE)) is None


@pytest.mark.parametrize(
    ("said", "epoch"),
    [
        ({"origin": "2013-11-01"}, 8),
        ({"origin": "2013-11-01", "clock": "utc"}, 9),
        ({"origin": "2013-11-01T00:00+00:00"}, 9),
        ({"origin": "2013-11-01T00:00+00:00", "clock": "utc"}, 9),
    ],
)
def test_hours_count_from_an_origin_on_the_clock_that_is_meant(tmp_path, said, epoch):
    written(tmp_path, "v.csv", "user,time,place", "a,8,p")
    window = {"window": ["2013-11-01", "2013-11-02"], "timezone": "Europe/Rome", "time_unit": "h"}
    assert spelled(loaded(tmp_path, source="v.csv", **window, **said)) == {"a": [(0, epoch)]}
