import numpy as np
import pytest

from domains.drafted import drafted_plan, drafted_table, recognised
from leakgauge.core.errors import BadInput


@pytest.fixture
def trips(tmp_path):
    """Trips of 60 people near Rome in a week."""
    rng = np.random.default_rng(1)
    minutes = rng.integers(0, 7 * 24 * 60, 600)
    times = np.datetime64("2024-05-06T00:00") + minutes.astype("timedelta64[m]")
    points = [41.9, 12.5] + 0.05 * rng.standard_normal((600, 2))
    rows = [
        f"p{rng.integers(60)},{time},{lat:.5f},{lon:.5f}"
        for time, (lat, lon) in zip(times.astype(str), points.tolist(), strict=True)
    ]
    path = tmp_path / "trips.csv"
    path.write_text("person_id,started_at,latitude,longitude\n" + "\n".join(rows) + "\n")
    return path


def test_a_file_of_trips_becomes_a_plan_that_can_be_run(trips, tmp_path):
    assert recognised(trips) == "visits"
    plan = drafted_plan(trips, "visits", tmp_path / "audit")
    (audit,) = plan.audits
    assert audit.data["columns"] == {
        "user": "person_id",
        "time": "started_at",
        "lat": "latitude",
        "lon": "longitude",
    }
    assert audit.data["timezone"] == "Europe/Rome"
    assert audit.data["source"] == "../trips.csv"
    assert {contender.knowledge for contender in audit.contenders} == {"informed", "auxiliary", "zero"}
    assert plan.limits.metrics == {"accuracy": 0.6}


def test_answers_are_in_the_plan(trips, tmp_path):
    audit = drafted_table(
        trips,
        "visits",
        tmp_path,
        epsilon="0.5",
        unit="user",
        cap="20",
        grid="5x8",
        epoch="1d",
        timezone="Europe/Paris",
        limit="0.7",
    )
    assert audit["mechanism"]["epsilon"] == 0.5
    assert audit["mechanism"]["unit"] == "user"
    assert audit["challenger"]["per_user"] == 20
    assert (audit["data"]["grid"], audit["data"]["epoch"]) == ([5, 8], "1d")
    assert audit["data"]["timezone"] == "Europe/Paris"
    assert audit["limits"] == {"accuracy": 0.7}


def test_true_counts_have_no_noise_and_withhold_small_ones(trips, tmp_path):
    audit = drafted_table(trips, "visits", tmp_path, epsilon="none", suppress="5", limit="none")
    assert audit["mechanism"] == {"name": "raw", "suppress": 5}
    assert audit["limits"] == {"none": True}


def test_a_wrong_grid_or_zone_is_refused_by_its_flag(trips, tmp_path):
    with pytest.raises(BadInput, match='--grid: must be rows x columns, such as "10x10"'):
        drafted_table(trips, "visits", tmp_path, grid="ten")
    with pytest.raises(BadInput, match=r"--timezone: .*did you mean 'Europe/Rome'"):
        drafted_table(trips, "visits", tmp_path, timezone="Rome")


def test_milliseconds_parts_of_degrees_and_long_files_are_seen(tmp_path):
    days = np.arange(0, 90, 0.25)
    rows = [
        f"{i % 7},{1_715_000_000_000 + int(day * 86_400_000)},4190000,1250000" for i, day in enumerate(days)
    ]
    rows[0] = rows[0].replace("4190000,1250000", "5900000,-3000000")  # an outlier moves no time zone
    path = tmp_path / "cabs.csv"
    path.write_text("cab,ts,lat_e5,lon_e5\n" + "\n".join(rows) + "\n")
    assert recognised(path) == "visits"
    data = drafted_table(path, "visits", tmp_path)["data"]
    assert data["time_unit"] == "ms"
    assert data["scale"] == 1e-5
    assert data["window"] == ["2024-05-13", "2024-06-10"]  # four weeks from the first whole Monday
    assert data["timezone"] == "Europe/Rome"


def test_named_places_need_no_grid_and_the_zone_is_asked(tmp_path):
    rows = [f"u{i % 9},2024-05-06 {i % 24:02}:00,stop {i % 5}" for i in range(90)]
    path = tmp_path / "taps.csv"
    path.write_text("card,time,station\n" + "\n".join(rows) + "\n")
    data = drafted_table(path, "visits", tmp_path)["data"]
    assert data["columns"]["place"] == "station"
    assert "grid" not in data
    assert data["timezone"] == "UTC"


def test_people_and_cells_without_times_become_a_plan_that_can_be_run(tmp_path):
    rng = np.random.default_rng(2)
    pairs = {(int(rng.integers(50)), int(rng.integers(12))) for _ in range(300)}
    path = tmp_path / "bought.csv"
    path.write_text("customer,product\n" + "\n".join(f"c{a},item{b}" for a, b in sorted(pairs)) + "\n")
    assert recognised(path) == "cells"
    (audit,) = drafted_plan(path, "cells", tmp_path / "audit").audits
    assert audit.data["columns"] == {"user": "customer", "cell": "product"}
