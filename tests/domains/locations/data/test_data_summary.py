"""The line about the data of an audit, against counts by hand."""

import numpy as np

from domains.locations.small_town import traces
from leakgauge.domains.locations.data.data_loader import load_visits
from leakgauge.domains.locations.data.data_summary import data_summary
from leakgauge.domains.locations.data.traces import bound_contributions
from leakgauge.domains.locations.data.visit_data import RowCounts, VisitData

CSV = """user,time,place
a,2024-05-06 08:12:00,x
a,2024-05-06 08:40:00,x
a,2024-05-06 09:10:00,y
b,2024-05-06 09:10:00,y
c,2024-05-07 23:59:00,x
"""
TABLE = {"source": "visits.csv", "columns": {"place": "place"}, "timezone": "Europe/Rome"}


def loaded(tmp_path, **more):
    (tmp_path / "visits.csv").write_text(CSV)
    return load_visits({**TABLE, **more}, tmp_path, seed=1)


def test_file_of_visits_is_described(tmp_path):
    data = loaded(tmp_path)
    assert data_summary(data, data.traces) == (
        "3 people, 4 visits (a person in a place in an epoch), first 2024-05-06T08:00, last 2024-05-07T23:00 "
        "(local time), 2 places, 48 epochs of 1 h; visits per person: median 1, 95th percentile 2; counts of "
        "everyone: mean 0.0417, median 0, 93 of 96 (96.9%) empty"
    )


def test_folded_days_have_no_first_time(tmp_path):
    data = loaded(tmp_path, fold=True, epoch="1d")
    assert "folded onto one week, 2 places, 7 epochs of 1 d" in data_summary(data, data.traces)


def test_generated_city_has_no_dates():
    people = traces(np.ones((4, 3)))
    data = VisitData(traces=people, tally=RowCounts(rows=12, kept=12), digest="")
    assert "no dates, 3 places, 1 epochs;" in data_summary(data, people)


def test_caps_are_said():
    people = traces(np.ones((4, 5)))
    data = VisitData(traces=people, tally=RowCounts(rows=20, kept=20), digest="")
    capped = bound_contributions(people, per_user=2, rng=np.random.default_rng(1))
    text = data_summary(data, capped)
    assert "the caps keep 8 visits (40.0%)" in text
    assert "counts of everyone: mean 1.6" in text


def test_rows_of_people_with_few_visits_are_counted(tmp_path):
    data = loaded(tmp_path, min_visits=2)
    assert data.tally.summary == "5 rows read: 3 kept, 2 of people with fewer than min_visits"
