import tomllib

from leakgauge.papers.guan24.places import CDR, CITY, main_place, place_note, substitutes
from leakgauge.papers.paper import Scale, Scope


def test_without_data_there_is_a_city_of_the_size_of_milan():
    scope = Scope(scale=Scale.QUICK)
    assert main_place(scope) is CITY
    assert substitutes(scope) == ()
    data = tomllib.loads(f"it = {CITY.data.table}")["it"]
    assert (data["users"], data["sites"], data["epochs"]) == (4840, 100, 168)
    assert "substitute" in place_note(scope)
    assert "Milan were not given" in CITY.why_not


def test_the_file_of_milan_is_used_if_it_is_there(milan):
    scope = Scope(scale=Scale.QUICK, data=milan)
    place = main_place(scope)
    assert place.is_original
    assert place.why_not == ""
    data = tomllib.loads(f"it = {place.data.table}")["it"]
    assert data["format"] == "milano"
    assert data["source"].endswith("social-pulse-milano.geojson")
    assert substitutes(scope) == ()


def test_check_ins_stand_in_where_they_are_given(tmp_path):
    for name in ("foursquare_kuala_lumpur_checkins.parquet", "foursquare_nyc_checkins.csv.gz"):
        (tmp_path / name).write_bytes(b"")
    scope = Scope(scale=Scale.QUICK, data=tmp_path)
    assert main_place(scope) is CITY
    assert [place.group for place in substitutes(scope)] == [1000, 400]
    assert "Kuala Lumpur" in place_note(scope)


def test_the_call_records_are_never_the_original():
    assert not CDR.is_original
    assert "private" in CDR.why_not
    data = tomllib.loads(f"it = {CDR.data.table}")["it"]
    assert (data["users"], data["sites"], data["epochs"], data["layout"]) == (11000, 500, 720, "irregular")
    assert (CDR.reference, CDR.per_day) == ("5000", 20)
