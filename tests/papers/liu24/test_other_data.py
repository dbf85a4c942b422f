import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import other_data
from leakgauge.papers.paper import Scale, Scope
from leakgauge.plan import plan_of

FILES = {
    "kuala-lumpur": "foursquare_kuala_lumpur_checkins.parquet",
    "new-york": "foursquare_nyc_checkins.csv.gz",
    "cabs": "cabspotting_2008-05-19_2008-06-08.parquet",
}


def test_synthetic_city_is_always_available(tmp_path):
    assert [place.data.name for place in other_data.other_data_sets(Scope(scale=Scale.QUICK))] == ["city"]
    for file in FILES.values():
        (tmp_path / file).write_text("")
    scope = Scope(scale=Scale.QUICK, data=tmp_path)
    assert [place.data.name for place in other_data.other_data_sets(scope)] == ["city", *FILES]


AUDIT = {
    "name": "elsewhere_0-city",
    "domain": "locations",
    "data": {"source": "synthetic", "users": 201, "sites": 1, "epochs": 4, "visits": 1, "skew": 0},
    "challenger": {"group_size": 51, "reference": 101, "targets": {"n": 1}},
    "mechanism": {"name": "raw"},
    "attacks": ["one_threshold"],
}


def test_expected_visitors_come_from_the_pool(tmp_path):
    from leakgauge.domains.locations import challenger

    tables = {name: AUDIT[name] for name in ("data", "challenger", "mechanism")}
    game = challenger.build(**tables, folder=tmp_path, seed=3)
    everybody = game.traces.visits.toarray()
    target = everybody[game.people.targets[0]] == 1
    each = [everybody[person, target].mean() for person in game.people.pool]
    assert other_data.usual_others([plan_of({"seed": 3, "audit": [AUDIT]})])["city"] == pytest.approx(
        50 * np.mean(each)
    )


def test_every_data_set_is_reported_and_drawn(pretend):
    shown = pretend("elsewhere")
    assert [chart.name for chart in shown.charts] == ["elsewhere-lead", "elsewhere-accuracy"]
    (note,) = shown.notes
    assert note.startswith("A synthetic city: groups of 2,000; in a target's cell")
    stated = [cell for cell in shown.cells if cell.published is not None]
    assert len(stated) == 4
    assert {cell.verdict for cell in stated} == {Agreement.OTHER_DATA}
    assert "a synthetic city" in {key.label for key in shown.charts[0].keys}
