import pytest

from leakgauge.papers.guan24 import PAPER
from leakgauge.papers.guan24.plans import (
    CDR,
    CITY,
    KNOCK_KNOCK,
    ZERO_KNOWLEDGE,
    ReleaseSetting,
    main_place,
    place_note,
    substitutes,
)
from leakgauge.papers.paper import Scale, Scope


def test_release_becomes_a_mechanism_table():
    assert ReleaseSetting(epsilon=0.5, unit="user-day", k=2).mechanism_table == {
        "name": "laplace",
        "epsilon": 0.5,
        "unit": "user-day",
        "round": True,
        "clamp": True,
        "suppress": 2,
    }
    assert ReleaseSetting(k=3).mechanism_table == {"name": "raw", "suppress": 3}


def test_releases_have_distinct_names():
    releases = [
        ReleaseSetting(k=1),
        ReleaseSetting(k=1, m=100),
        ReleaseSetting(k=1, epsilon=1.0),
        ReleaseSetting(k=1, epsilon=1.0, unit="user-day"),
    ]
    assert (
        len({release.name for release in releases}) == len({release.description for release in releases}) == 4
    )


def test_extended_attack_keeps_other_settings():
    variant = ZERO_KNOWLEDGE.extended("half", known={"trace": 0.5})
    assert variant.attack_table == {
        "name": "shadow_logistic",
        "knowledge": {"name": "zero", "trace": 0.5},
        "marginals": "guan24",
        "label": "zero-knowledge-half",
    }
    assert variant.colour == ZERO_KNOWLEDGE.colour != KNOCK_KNOCK.colour


def test_user_day_noise_reuses_event_noise_runs():
    day = ReleaseSetting(epsilon=5.0, unit="user-day", k=1)
    assert day.played_as(10) == ReleaseSetting(epsilon=0.5, k=1)
    assert day.played_as(20) == day  # 0.25 is no budget of the paper
    assert ReleaseSetting(epsilon=0.5).played_as(10) == ReleaseSetting(epsilon=0.5)
    assert ReleaseSetting(k=2).played_as(10) == ReleaseSetting(k=2)


def test_default_data_is_milan_sized_city():
    scope = Scope(scale=Scale.QUICK)
    assert main_place(scope) is CITY
    assert substitutes(scope) == ()
    data = CITY.data.table
    assert (data["users"], data["sites"], data["epochs"]) == (4840, 100, 168)
    assert "substitute" in place_note(scope)
    assert "Milan were not given" in CITY.why_not


def test_milan_file_is_used_if_present(milan):
    scope = Scope(scale=Scale.QUICK, data=milan)
    place = main_place(scope)
    assert place.is_original
    assert place.why_not == ""
    data = place.data.table
    assert data["format"] == "milano"
    assert data["source"].endswith("social-pulse-milano.geojson")
    assert substitutes(scope) == ()


def test_check_ins_replace_missing_data(tmp_path):
    for name in ("foursquare_kuala_lumpur_checkins.parquet", "foursquare_nyc_checkins.csv.gz"):
        (tmp_path / name).write_bytes(b"")
    scope = Scope(scale=Scale.QUICK, data=tmp_path)
    assert main_place(scope) is CITY
    assert [place.group for place in substitutes(scope)] == [1000, 400]
    assert "Kuala Lumpur" in place_note(scope)


def test_call_records_are_never_the_original():
    assert not CDR.is_original
    assert "private" in CDR.why_not
    data = CDR.data.table
    assert (data["users"], data["sites"], data["epochs"], data["layout"]) == (11000, 500, 720, "irregular")
    assert (CDR.reference, CDR.per_day) == (5000, 20)


PLAYED = [name for name in PAPER.items if PAPER.item(name).runs(name)]


def test_every_figure_and_table_has_an_item():
    figures = {f"figure_{n}" for n in range(4, 18)}
    tables = {f"table_{n}" for n in range(3, 12)}
    assert set(PAPER.items) == figures | tables | {"unknown_positions"}


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("name", PLAYED)
def test_plans_are_valid_and_match_the_paper(plans, name, scale):
    audits = plans(name, Scope(scale=scale))
    assert audits
    for audit in audits:
        away = audit.name.startswith(CDR.name)
        said = audit.challenger
        assert said["relation"] == "replace_one"
        assert (said["reference"], said["per_day"]) == ((5000, 20) if away else (2500, 10))
        assert said["targets"]["min_visits"] >= 10
        if scale is Scale.FULL:
            assert said["targets"]["n"] == 50
            assert audit.rounds >= 100


@pytest.mark.parametrize("name", PLAYED)
def test_only_call_records_are_replaced_with_original_data(plans, name, milan):
    names = {audit.name.partition("@")[0] for audit in plans(name, Scope(scale=Scale.FULL, data=milan))}
    cities = (
        {"city-positions", "city-no-positions", "city-categories"} if name == "unknown_positions" else set()
    )
    assert names <= {"milan", "cdr-city"} | cities


def test_quick_scale_trains_few_classifiers(plans):
    runs = {run.name: run for name in PLAYED for run in PAPER.item(name).runs(name)}
    assert len(runs) == 12
    audits = {}
    for name in PLAYED:
        for audit in plans(name, Scope(scale=Scale.QUICK)):
            for contender in audit.contenders:
                if contender.attack == "shadow_logistic":
                    kind, n = audit.mechanism["name"], audit.challenger["targets"]["n"]
                    audits[audit.name, contender.label, kind] = n
    noisy = sum(n for (*_, kind), n in audits.items() if kind != "raw")
    assert noisy <= 150  # about a second each
    assert sum(audits.values()) - noisy <= 400  # a fifth of a second each
