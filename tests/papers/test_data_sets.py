import pytest

from leakgauge.papers import data_sets
from leakgauge.papers.paper import Scale, Scope

WINDOW = ("2012-04-09", "2012-05-12T08:00:00")
FILES = {
    "milan": "milan/social-pulse-milano.geojson",
    "new_york": "foursquare_nyc/foursquare_nyc_checkins.csv.gz",
    "kuala_lumpur": "foursquare_cities/foursquare_kuala_lumpur_checkins.parquet",
    "cabs": "cabspotting/cabspotting_2008-05-19_2008-06-08.parquet",
}


def find(name, scope):
    grid = () if name == "kuala_lumpur" else ((12, 8),)
    return getattr(data_sets, name)(scope, *grid, WINDOW)


@pytest.mark.parametrize("name", FILES)
def test_data_set_is_found_in_folder(name, tmp_path):
    path = tmp_path / 'an "odd" name' / FILES[name]
    path.parent.mkdir(parents=True)
    path.write_text("")
    found = find(name, Scope(scale=Scale.QUICK, data=tmp_path))
    assert found.table["source"] == str(path)
    assert found.table["window"] == list(WINDOW)
    assert found.description


@pytest.mark.parametrize("name", FILES)
def test_missing_data_set_is_not_used(name, tmp_path):
    assert find(name, Scope(scale=Scale.QUICK)) is None
    assert find(name, Scope(scale=Scale.QUICK, data=tmp_path)) is None


PEOPLE = {
    "adult": "adult/adult.data.gz",
    "compas": "compas/compas-scores-two-years.csv",
    "heart": "heart_disease/processed.cleveland.data",
    "student": "student/student-por.csv",
    "location_30": "location30/dataset_location.tgz",
}


@pytest.mark.parametrize("name", PEOPLE)
def test_visits_are_found_by_first_file(name, tmp_path):
    assert getattr(data_sets, name)(Scope(scale=Scale.QUICK, data=tmp_path)) is None
    path = tmp_path / 'an "odd" name' / PEOPLE[name]
    path.parent.mkdir(parents=True)
    path.write_text("")
    found = getattr(data_sets, name)(Scope(scale=Scale.QUICK, data=tmp_path), key=1)
    assert found.table == {"source": name.replace("_", ""), "folder": str(path.parent), "key": 1}


def test_census_needs_adult(tmp_path):
    scope = Scope(scale=Scale.QUICK, data=tmp_path)
    (tmp_path / "census-income.data.parquet").write_text("")
    assert data_sets.census(scope) is None
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "adult.data").write_text("")
    assert data_sets.census(scope).table == {
        "source": "census",
        "folder": str(tmp_path),
        "adult": str(tmp_path / "uci"),
    }
