"""Real files, against figures that were counted by other means (README of the data, section 2)."""

import os
import re
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.game import Adversary, play
from leakgauge.domains.locations import knowledge
from leakgauge.domains.locations.attacks.likelihood import Attack
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.data.data_loader import load_visits
from leakgauge.domains.locations.exposure import expose
from leakgauge.referee.metrics import auc_mean
from leakgauge.runner.play_block import study_attack

FOLDER = os.environ.get("LEAKGAUGE_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="real data are not part of the package; LEAKGAUGE_DATA names their folder"
)

CABS = {
    "source": "cabspotting/cabspotting_2008-05-19_2008-06-08.parquet",
    "columns": {"user": "cab", "time": "ts", "lat": "lat_e5", "lon": "lon_e5"},
    "scale": 1e-5,
    "timezone": "America/Los_Angeles",
    "grid": [10, 10],
    "box": [37.70, -122.52, 37.82, -122.37],
}
NEW_YORK = {
    "source": "foursquare_nyc/foursquare_nyc_checkins.csv.gz",
    "columns": {"user": "user", "time": "timestamp", "lat": "lat", "lon": "lon"},
    "timezone": "America/New_York",
    "grid": [10, 10],
    "box": "p0.5",
}
KUALA_LUMPUR = {
    "source": "foursquare_cities/foursquare_kuala_lumpur_checkins.parquet",
    "columns": {"time": "hour", "place": "region"},
    "time_unit": "h",
    "origin": "2012-04-02",
}
SPRING = date(2012, 4, 9)


def weeks(n, first=SPRING):
    return {"window": [str(first), str(first + timedelta(weeks=n))]}


def counted(table):
    """People present, those with at least ten visits, and the densities of both on 100 places."""
    traces = load_visits(table, Path(FOLDER), seed=1).traces
    many = traces.n_visits[traces.n_visits >= 10]
    cells = 100 * traces.map.n_epochs
    densities = (traces.n_visits.mean() / cells, many.mean() / cells)
    return traces.n_people, many.size, *densities


@pytest.mark.parametrize(
    ("table", "figures"),
    [
        (CABS | weeks(1, date(2008, 5, 19)), (516, 514, 6.0e-2, 6.0e-2)),
        (CABS | weeks(3, date(2008, 5, 19)), (534, 533, 5.9e-2, 5.9e-2)),
        (
            CABS | weeks(3, date(2008, 5, 19)) | {"box": [37.745, -122.4535, 37.8175, -122.362]},
            (534, 533, 7.3e-2, 7.3e-2),
        ),
        (NEW_YORK | weeks(1), (829, 224, 4.8e-4, 1.0e-3)),
        (NEW_YORK | weeks(4), (940, 737, 4.0e-4, 4.8e-4)),
        (NEW_YORK | weeks(8), (987, 908, 3.6e-4, 3.9e-4)),
        (NEW_YORK | {"fold": True, "timezone": "Etc/GMT+4"}, (1082, 1080, 4.5e-3, 4.5e-3)),
        (KUALA_LUMPUR | weeks(1), (2347, 405, 3.4e-4, 9.1e-4)),
        (KUALA_LUMPUR | weeks(4), (3219, 1615, 2.3e-4, 3.9e-4)),
        (KUALA_LUMPUR | weeks(8), (3852, 2427, 1.8e-4, 2.8e-4)),
        (KUALA_LUMPUR | {"fold": True}, (6378, 5283, 3.6e-3, 4.3e-3)),
        (
            KUALA_LUMPUR | {"fold": True, "top": 100, "columns": {"time": "hour", "place": "venue"}},
            (6072, 3327, 1.0e-3, 1.7e-3),
        ),
    ],
    ids=lambda value: None,
)
def test_people_and_densities_match_readme(table, figures):
    n_people, n_active, *densities = counted(table)
    assert (n_people, n_active) == figures[:2]
    for found, figure in zip(densities, figures[2:], strict=True):  # two digits, rounded more than once
        assert abs(found - figure) < 0.055 * 10 ** np.floor(np.log10(figure))


def test_gps_fixes_have_no_bad_row():
    tally = load_visits(CABS | weeks(3, date(2008, 5, 19)), Path(FOLDER), seed=1).tally
    assert (tally.rows, tally.bad, tally.outside_window) == (10_006_896, 0, 0)


def test_visits_match_a_direct_query():
    import duckdb

    source = Path(FOLDER) / KUALA_LUMPUR["source"]
    rows = f"SELECT DISTINCT \"user\", region, hour FROM '{source}' WHERE hour >= 168 AND hour < 336"
    ((n_visits,),) = duckdb.connect().execute(f"SELECT count(*) FROM ({rows})").fetchall()
    assert load_visits(KUALA_LUMPUR | weeks(1), Path(FOLDER), seed=1).traces.visits.nnz == n_visits


def test_daylight_saving_change_keeps_local_hours():
    fixed, true = (
        counted(NEW_YORK | {"fold": True, "timezone": zone})[2] for zone in ("UTC", "America/New_York")
    )
    assert 0.97 < true / fixed < 0.99


def test_map_of_kuala_lumpur_has_no_positions():
    assert load_visits(KUALA_LUMPUR | {"fold": True}, Path(FOLDER), seed=1).traces.map.positions is None


def test_summary_of_the_data_is_the_one_on_the_page():
    page = (Path(__file__).parents[3] / "docs" / "locations-data.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    notes = build(
        data=KUALA_LUMPUR | weeks(8),
        challenger={"group_size": 100, "targets": 1, "splits": 1},
        mechanism={"name": "laplace", "epsilon": 1.0},
        folder=Path(FOLDER),
        seed=1,
    ).notes[:2]
    name = Path(KUALA_LUMPUR["source"]).name
    said = " ".join(f"Data: {note.replace(name, 'visits.parquet')}" for note in notes)
    assert " ".join(shown.split()) == said


def recognised(table, size):
    """How many people an attacker who knows everyone else would recognise in a suppressed table."""
    challenger = build(
        data=table,
        challenger={"group_size": size, "targets": 1, "splits": 1},
        mechanism={"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1},
        folder=Path(FOLDER),
        seed=1,
    )
    (informed,) = expose(challenger, ("informed",)).against
    return int(np.count_nonzero(informed.accuracy >= 0.9)), informed.error


def test_half_of_the_people_understates_the_whole_table():
    """The numbers of docs/locations.md: under suppression more people recognise more."""
    page = (Path(__file__).parents[3] / "docs" / "locations.md").read_text()
    table = KUALA_LUMPUR | weeks(8)
    for size, label in ((1000, "1,000"), (1926, "1,926, half of the file"), ("everyone", '`"everyone"`')):
        people, error = recognised(table, size)
        assert error < 1e-3
        assert f"| {label} | {people:,} ({people / 3852:.1%}) |" in page


def groups_of_a_thousand(folder, pool, splits):
    """A game about the same forty people, with groups of 1,000, a reference of 2,500, and such a pool."""
    import duckdb

    source = Path(FOLDER) / KUALA_LUMPUR["source"]
    query = f"SELECT \"user\", count(DISTINCT (region, hour % 168)) FROM '{source}' GROUP BY 1 ORDER BY 1"
    users = np.array(duckdb.connect().execute(query).fetchall())
    users = np.random.default_rng(11).permutation(users)
    active = [str(user) for user, n_cells in users[: 2500 + 1056] if n_cells >= 10]  # in all three files
    kept = f"({', '.join(str(user) for user in users[: 2500 + pool, 0])})"
    rows = f"SELECT * FROM '{source}' WHERE \"user\" IN {kept}"
    duckdb.connect().execute(f"COPY ({rows}) TO '{folder / 'part.parquet'}' (FORMAT parquet)")
    return build(
        data=KUALA_LUMPUR | {"source": "part.parquet", "fold": True},
        challenger={
            "group_size": 1000,
            "reference": 2500,
            "targets": {"names": active[:40]},
            "splits": splits,
        },
        mechanism={"name": "raw", "suppress": 1},
        folder=folder,
        seed=2,
    )


def strangers_auc(challenger):
    """The AUC of an attacker with data of similar people, in 600 releases."""
    knows = knowledge.build("auxiliary", {}, challenger, 2)
    scorer = study_attack(Attack(shadows=0), knows, np.random.default_rng(2), "a", challenger.n_targets)
    trials = play(challenger, {"a": Adversary(knows, scorer)}, seed=2, rounds=range(600), block=0)["a"]
    return auc_mean.Metric()(trials).value


@pytest.mark.nightly
def test_who_is_left_over_does_not_decide_the_auc_on_real_data(tmp_path):
    """With one split, a group of 1,000 out of 1,056 people hardly varies, and strangers seem to know it."""
    pools = (3700, 2000, 1056)
    games = [groups_of_a_thousand(tmp_path, pool, 12) for pool in pools]
    assert [{part.size for part in game.people.pools} for game in games] == [{pool} for pool in pools]
    over_splits = [strangers_auc(game) for game in games]
    assert max(over_splits) - min(over_splits) <= 0.02, over_splits
    exposed = [expose(groups_of_a_thousand(tmp_path, pool, 2), ("auxiliary",)) for pool in pools]
    in_all = exposed[2].names
    means = [one.against[0].auc[np.isin(one.names, in_all)].mean() for one in exposed]
    assert max(means) - min(means) <= 0.01, means
    one_split = [strangers_auc(groups_of_a_thousand(tmp_path, pool, 1)) for pool in pools]
    assert one_split[2] > 0.999 > one_split[0], one_split
