import tomllib

from leakgauge.papers.liu24.places import CITY, main_place, place_note, substitute_note
from leakgauge.papers.paper import Scale, Scope


def test_milan_is_used_where_its_file_is_given(tmp_path):
    (tmp_path / "social-pulse-milano.geojson").write_text("")
    scope = Scope(scale=Scale.QUICK, data=tmp_path)
    table = tomllib.loads(f"data = {main_place(scope).table}")["data"]
    assert table["format"] == "milano"
    assert table["grid"] == [12, 8]
    assert "Played on Social Pulse Milano" in substitute_note(scope) == place_note(scope)


def test_otherwise_a_city_of_its_shape_is(tmp_path):
    for scope in (Scope(scale=Scale.QUICK), Scope(scale=Scale.FULL, data=tmp_path)):
        assert main_place(scope) is CITY
        assert "synthetic city" in substitute_note(scope)
        assert "synthetic city" in place_note(scope)
