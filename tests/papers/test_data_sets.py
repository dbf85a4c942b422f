import tomllib

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
def test_a_data_set_is_found_below_the_folder(name, tmp_path):
    path = tmp_path / 'an "odd" name' / FILES[name]
    path.parent.mkdir(parents=True)
    path.write_text("")
    found = find(name, Scope(scale=Scale.QUICK, data=tmp_path))
    table = tomllib.loads(f"data = {found.table}")["data"]
    assert table["source"] == str(path)
    assert table["window"] == list(WINDOW)
    assert found.words


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_there_is_not_used(name, tmp_path):
    assert find(name, Scope(scale=Scale.QUICK)) is None
    assert find(name, Scope(scale=Scale.QUICK, data=tmp_path)) is None
