import csv
import io
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from domains.drafted import drafted, drafted_plan, drafted_table, recognised
from domains.locations.tiny_files import parquet
from leakgauge import draft
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.data_loader import load_visits


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
    assert plan.heading.title == "Counts of people per place and period: trips"
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


def test_a_wrong_grid_epoch_or_zone_is_refused_by_its_flag(trips, tmp_path):
    with pytest.raises(BadInput, match='--grid: must be rows x columns, such as "10x10"'):
        drafted_table(trips, "visits", tmp_path, grid="ten")
    with pytest.raises(BadInput, match="--epoch: not a length of time: '1hour'; write \"1h\""):
        drafted_table(trips, "visits", tmp_path, epoch="1hour")
    with pytest.raises(BadInput, match="--epoch: '7h' does not fit into a day"):
        drafted_table(trips, "visits", tmp_path, epoch="7h")
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
    assert drafted_table(path, "visits", tmp_path, epoch="3d")["data"]["window"] == [
        "2024-05-13",
        "2024-06-09",
    ]


@pytest.mark.parametrize(("year", "asked"), [(2019, True), (2024, False)])
def test_the_zone_is_asked_where_another_clock_was_near_at_the_times_of_the_file(tmp_path, year, asked):
    rows = [f"p{i % 9},{year}-01-{i % 28 + 1:02} 10:00,36.9,{40.5 + i / 1e4:.4f}" for i in range(90)]
    path = tmp_path / "trips.csv"  # between Turkey and Syria, whose clocks have been the same since 2022
    path.write_text("person_id,started_at,latitude,longitude\n" + "\n".join(rows) + "\n")
    questions = draft.draft_kinds()["visits"].questions(draft.open_file(path, "visits"))
    keys = []
    draft.answer_questions(questions, {}, lambda question: keys.append(question.key) or "")
    assert ("timezone" in keys) == asked


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


N_VISITS = 400


@pytest.fixture(scope="module")
def visits():
    """Visits of 40 people near Munich in ten days, on a wall clock there."""
    rng = np.random.default_rng(3)
    people = rng.integers(40, size=N_VISITS)
    minutes = rng.integers(10 * 24 * 60, size=N_VISITS)
    times = [datetime(2024, 5, 6, tzinfo=UTC) + timedelta(minutes=int(minute)) for minute in minutes]
    points = [48.15, 11.55] + 0.05 * rng.standard_normal((N_VISITS, 2))
    return people, times, points.round(5)


def written(form, people, times, points):
    """The names, columns and file format of the same visits, as they are exported in five languages."""
    dots = [[f"{value:.5f}" for value in values] for values in points.T.tolist()]
    commas = [[text.replace(".", ",") for text in texts] for texts in dots]
    iso = [f"{time:%Y-%m-%d %H:%M:%S}" for time in times]
    german = [f"{time:%d.%m.%Y %H:%M}" for time in times]
    slashes = [f"{time:%d/%m/%Y %H:%M}" for time in times]
    zeros = [f"{person:06d}" for person in people]
    english = ["user", "time", "lat", "lon"]
    match form:
        case "english":
            return english, [people, iso, *dots], {}
        case "german, semicolons, decimal commas":
            return ["Benutzer", "Zeit", "Breite", "Laenge"], [people, german, *commas], {"delimiter": ";"}
        case "german, Latin-1, leading zeros":
            names = ["Nutzer-ID", "Zeitpunkt", "Breitengrad", "L\u00e4ngengrad"]
            return names, [zeros, german, *commas], {"delimiter": ";", "encoding": "latin-1"}
        case "french, quoted, with the mark of UTF-8":
            how = {"delimiter": ";", "encoding": "utf-8-sig", "quoting": csv.QUOTE_ALL}
            return ["utilisateur", "horodatage", "latitude", "longitude"], [people, slashes, *commas], how
        case "spanish, a date and a time of day":
            days, clocks = ([f"{time:{part}}" for time in times] for part in ("%d/%m/%Y", "%H:%M"))
            return ["usuario", "fecha", "hora", "latitud", "longitud"], [people, days, clocks, *dots], {}
        case "a date at midnight and a time of day":
            days, clocks = ([f"{time:{part}}" for time in times] for part in ("%Y-%m-%d 00:00:00", "%H:%M"))
            return ["user", "date", "clock", "lat", "lon"], [people, days, clocks, *dots], {}
        case "german, a date at midnight and a time of day":
            days, clocks = ([f"{time:{part}}" for time in times] for part in ("%d.%m.%Y 00:00", "%H:%M:%S"))
            return ["Nutzer", "Datum", "Uhrzeit", "lat", "lon"], [people, days, clocks, *dots], {}
        case "american, a date at midnight and a time of day":
            days, clocks = ([f"{time:{part}}" for time in times] for part in ("%m/%d/%Y 12:00 AM", "%H:%M"))
            return ["user", "date", "time", "lat", "lon"], [people, days, clocks, *dots], {}
        case "spanish, tabs":
            return ["usuario", "fecha_hora", "latitud", "longitud"], [people, iso, *dots], {"delimiter": "\t"}
        case "italian, UTF-16":
            how = {"delimiter": ";", "encoding": "utf-16"}
            return ["utente", "data_ora", "lat", "lng"], [people, iso, *commas], how
        case "american":
            return english, [people, [f"{time:%m/%d/%Y %I:%M %p}" for time in times], *dots], {}
        case "digits":
            return english, [people, [f"{time:%Y%m%d%H%M}" for time in times], *dots], {}
    raise AssertionError(form)


def write_table(path, names, columns, how):
    """Write a text file of these columns."""
    text = io.StringIO()
    how = {"delimiter": ",", "encoding": "utf-8", "quoting": csv.QUOTE_MINIMAL, **how}
    writer = csv.writer(text, delimiter=how["delimiter"], quoting=how["quoting"])
    writer.writerows([names, *zip(*columns, strict=True)])
    path.write_bytes(text.getvalue().encode(how["encoding"]))


def drafted_visits(path, folder):
    """The visits that a drafted plan counts."""
    assert recognised(path) == "visits"
    return load_visits(drafted_table(path, "visits", folder, grid="4x4")["data"], folder, 0)


@pytest.mark.parametrize(
    "form",
    [
        "german, semicolons, decimal commas",
        "german, Latin-1, leading zeros",
        "french, quoted, with the mark of UTF-8",
        "spanish, a date and a time of day",
        "a date at midnight and a time of day",
        "german, a date at midnight and a time of day",
        "american, a date at midnight and a time of day",
        "spanish, tabs",
        "italian, UTF-16",
        "american",
        "digits",
    ],
)
def test_the_same_visits_are_counted_in_whatever_form_they_are_written(form, visits, tmp_path):
    path = tmp_path / "visits.csv"
    write_table(path, *written("english", *visits))
    plain = drafted_visits(path, tmp_path)
    write_table(path, *written(form, *visits))
    other = drafted_visits(path, tmp_path)
    assert other.tally == plain.tally
    assert plain.tally.kept > 0.9 * N_VISITS  # the box leaves out the outermost points
    assert other.first == plain.first
    ours, theirs = (
        {int(name): row for name, row in zip(data.traces.names, data.traces.visits.toarray())}
        for data in (plain, other)
    )
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_an_hour_is_that_of_the_time_of_day(tmp_path):
    """Two visits at 7 and 19 o'clock of a day are in different hours."""
    rows = [f"u{i % 5},07/05/2024,{7 if i % 2 else 19}:30,a" for i in range(40)]
    (tmp_path / "t.csv").write_text("user,date,time,place\n" + "\n".join(rows) + "\n")
    data = drafted_table(tmp_path / "t.csv", "visits", tmp_path, dates="day-first")["data"]
    assert data["columns"] == {"user": "user", "time": "time", "date": "date", "place": "place"}
    visits = load_visits(data, tmp_path, 0).traces.visits
    assert np.unique(visits.nonzero()[1]).size == 2


def test_a_timestamp_of_parquet_at_midnight_is_a_date(tmp_path):
    moment = "TIMESTAMP '2024-05-06' + to_hours(i::INT * 5)"
    select = (
        f"SELECT 'u' || i % 10 AS user, {{}}, 'p' || i % 3 AS place FROM (SELECT i, {moment} AS t FROM {{}})"
    )
    rows = "(SELECT unnest(range(120)) AS i)"
    parquet(tmp_path, "one.parquet", select.format("t AS time", rows))
    parquet(
        tmp_path, "two.parquet", select.format("date_trunc('day', t)::TIMESTAMP AS date, t::TIME AS c", rows)
    )
    one, two = (
        load_visits(drafted_table(tmp_path / name, "visits", tmp_path, timezone="UTC")["data"], tmp_path, 0)
        for name in ("one.parquet", "two.parquet")
    )
    assert np.array_equal(one.traces.visits.toarray(), two.traces.visits.toarray())
    hours = two.traces.visits.nonzero()[1] % two.traces.map.n_epochs % 24
    assert np.unique(hours).size == 24


@pytest.mark.parametrize(
    ("name", "form"),
    [("clock", "%I:%M %p"), ("time", "%H.%M"), ("Uhrzeit", "%H%M"), ("hour", "%-H"), ("hora", "%H:%M")],
)
@pytest.mark.parametrize("day", ["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d"])
def test_times_of_day_are_read_as_they_are_written(tmp_path, name, form, day):
    times = [datetime(2024, 5, 6, tzinfo=UTC) + timedelta(minutes=127 * i) for i in range(150)]
    rows = [f"u{i % 10},{time:{day}},{time.strftime(form)},p{i % 3}" for i, time in enumerate(times)]
    (tmp_path / "t.csv").write_text(f"user,date,{name},place\n" + "\n".join(rows) + "\n")
    visits = load_visits(
        drafted_table(tmp_path / "t.csv", "visits", tmp_path, timezone="UTC")["data"], tmp_path, 0
    )
    found = visits.traces.visits.nonzero()[1] % visits.traces.map.n_epochs
    hours = [int((time - times[0]).total_seconds()) // 3600 for time in times]
    assert visits.tally.bad == 0
    assert sorted(found.tolist()) == sorted(hours)


def test_a_column_that_may_hold_times_of_day_is_not_left_out_silently(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"u{i % 10},2024-05-{1 + i % 28:02d},{14 + i % 8}h{i % 60:02d},p{i % 3}" for i in range(150)]
    path.write_text("user,date,hour,place\n" + "\n".join(rows) + "\n")
    with pytest.raises(BadInput, match=r"may hold times of day.*answer with --clock"):
        drafted_table(path, "visits", tmp_path, timezone="UTC")
    with pytest.raises(BadInput, match=r"--clock: column 'hour' holds no times of day as 14:05"):
        drafted_table(path, "visits", tmp_path, timezone="UTC", clock="hour")
    data = drafted_table(path, "visits", tmp_path, timezone="UTC", clock="none")["data"]
    assert data["epoch"] == "1d"
    assert load_visits(data, tmp_path, 0).tally.kept == 150
    path.write_text(path.read_text().replace("hour", "rank"))
    assert drafted_table(path, "visits", tmp_path, timezone="UTC")["data"]["epoch"] == "1d"


@pytest.mark.parametrize(
    "who",
    [
        "customer",
        "customer_id",
        "kunde",
        "karte",
        "client",
        "id_cliente",
        "paziente",
        "tessera",
        "Fahrgast-Nr",
    ],
)
def test_a_column_that_names_people_is_taken_before_a_bare_id(tmp_path, who):
    rows = [f"t{i // 4},{i // 4 % 30},2024-05-{1 + i % 28:02d} {i % 24:02d}:10,p{i % 3}" for i in range(480)]
    path = tmp_path / "t.csv"
    path.write_text(f"id,{who},time,place\n" + "\n".join(rows) + "\n")
    data = drafted_table(path, "visits", tmp_path, timezone="UTC")["data"]
    assert data["columns"]["user"] == who
    assert load_visits(data, tmp_path, 0).traces.n_people == 30
    path.write_text("id,card_type,time,place\n" + "\n".join(rows) + "\n")
    assert drafted_table(path, "visits", tmp_path, timezone="UTC")["data"]["columns"]["user"] == "id"


def test_dates_that_can_be_read_in_two_ways_are_asked_for(tmp_path):
    rows = [f"u{i % 5},0{1 + i % 9}/0{1 + i % 4}/2024 10:00,p{i % 3}" for i in range(60)]
    path = tmp_path / "t.csv"
    path.write_text("user,time,place\n" + "\n".join(rows) + "\n")
    with pytest.raises(BadInput, match=r"can be read in two ways.*answer with --dates"):
        drafted_table(path, "visits", tmp_path)
    for answer, form in (("day-first", "%d/%m/%Y %H:%M"), ("month-first", "%m/%d/%Y %H:%M")):
        assert drafted_table(path, "visits", tmp_path, dates=answer)["data"]["time_format"] == form


def test_columns_without_a_known_name_are_asked_for(tmp_path):
    rows = [f"u{i % 5},2024-05-0{1 + i % 9} 10:00,{48 + i / 100},{11 + i / 90}" for i in range(60)]
    path = tmp_path / "t.csv"
    path.write_text("wer,wann,a1,a2\n" + "\n".join(rows) + "\n")
    file = draft.open_file(path, None)
    matches = draft.match_kinds(file)
    assert matches[0].kind == "visits"
    assert not draft.is_clear(matches)
    with pytest.raises(
        BadInput, match=r"what it is is not clear from its columns\. It may be visits .*--kind"
    ):
        draft.choose_kind(file, matches)
    with pytest.raises(BadInput, match=r"Which column says who it was.*answer with --person"):
        drafted_table(path, "visits", tmp_path)
    data = drafted_table(path, "visits", tmp_path, person="wer", lat="a1", lon="a2")["data"]
    assert data["columns"] == {"user": "wer", "time": "wann", "lat": "a1", "lon": "a2"}


def test_another_latitude_moves_the_longitude_and_the_time_zone(trips, tmp_path):
    data = drafted_table(trips, "visits", tmp_path, lat="longitude")["data"]
    assert data["columns"]["lat"] == "longitude"
    assert data["columns"]["lon"] == "latitude"
    assert data["timezone"] != "Europe/Rome"


def test_a_column_has_one_meaning(trips, tmp_path):
    with pytest.raises(BadInput, match="'latitude' was given two meanings"):
        drafted_table(trips, "visits", tmp_path, lat="latitude", lon="latitude")


def test_each_column_is_listed_with_what_it_was_taken_for(trips, tmp_path):
    roles = {role.meaning: role for role in drafted(trips, "visits", tmp_path).roles}
    assert roles["people"].columns == ("person_id",)
    assert roles["people"].range == ""  # names of people are not shown
    assert roles["times"].flag == "time"
    assert roles["times"].range == "2024-05-06 to 2024-05-12"
    assert roles["latitude"].range.startswith("41.7")


def test_latitude_and_longitude_that_are_interchanged_are_refused_where_the_places_are_in_the_sea(tmp_path):
    path, rng = tmp_path / "swapped.csv", np.random.default_rng(9)
    rows = [
        f"{i % 12},2024-05-{1 + i % 28:02}T{i % 24:02}:00:00,{rng.normal(4.9, 0.01):.4f},"
        f"{rng.normal(52.37, 0.01):.4f}"
        for i in range(200)
    ]
    path.write_text("user,time,latitude,long deg\n" + "\n".join(rows) + "\n")
    with pytest.raises(
        BadInput, match=r"write --lat 'long deg' --lon latitude, or, if they are right, name "
    ):
        drafted(path, "visits", tmp_path)
    data = drafted_table(path, "visits", tmp_path, lat="long deg", lon="latitude")["data"]
    assert data["timezone"] == "Europe/Amsterdam"
    data = drafted_table(path, "visits", tmp_path, timezone="Africa/Mogadishu")["data"]
    assert data["columns"]["lat"] == "latitude"
