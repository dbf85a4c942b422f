from types import SimpleNamespace

import pytest

from leakgauge.papers.liu24 import plans
from leakgauge.papers.liu24.plans import (
    AUXILIARY,
    CITY,
    FEW_SHADOWS,
    HUNDRED,
    INFORMED,
    LARGE,
    MANY_SHADOWS,
    NETWORK,
    USUAL,
    CellAttackVariant,
    main_place,
    place_note,
    substitute_note,
)
from leakgauge.papers.paper import Scale, Scope
from leakgauge.plan import plan_of


def test_milan_file_is_used_if_present(tmp_path):
    (tmp_path / "social-pulse-milano.geojson").write_text("")
    scope = Scope(scale=Scale.QUICK, data=tmp_path)
    table = main_place(scope).table
    assert table["format"] == "milano"
    assert table["grid"] == [12, 8]
    assert "the last 800 hours of Social Pulse Milano" in substitute_note(scope) == place_note(scope)


def test_default_data_is_milan_sized_city(tmp_path):
    for scope in (Scope(scale=Scale.QUICK), Scope(scale=Scale.FULL, data=tmp_path)):
        assert main_place(scope) is CITY
        assert "synthetic city" in substitute_note(scope)
        assert "synthetic city" in place_note(scope)


SERIES = (*USUAL.values(), *LARGE.values(), plans.HUNDRED_UNITS)
QUICK, FULL = Scope(scale=Scale.QUICK), Scope(scale=Scale.FULL)


def audits_of(series, scope):
    """All audits of the runs that are played at this scale."""
    tables = [run.audits(scope) for run in series.runs]
    return [audit for table in tables if table for audit in plan_of({"audit": table}).audits]


def verdict(audit, contender):
    """As much of a verdict as is needed to know who played."""
    parameters = {"attack": contender.attack_parameters, "knowledge": contender.knowledge_parameters}
    return SimpleNamespace(
        audit=audit, attack=contender.attack, knowledge=contender.knowledge, parameters=parameters
    )


@pytest.mark.parametrize("scope", [QUICK, FULL], ids=["quick", "full"])
@pytest.mark.parametrize("series", SERIES, ids=[series.name for series in SERIES])
def test_game_matches_paper(series, scope):
    for audit in audits_of(series, scope):
        assert audit.data == {
            "source": "synthetic", "users": 15_793, "sites": 96, "epochs": 800, "visits": 10, "skew": 1.5,
        }  # fmt: skip
        assert audit.challenger["group_size"] == 2_000
        assert audit.challenger["per_epoch"] == 1
        assert audit.challenger["reference"] == 0.5
        assert audit.challenger["targets"] == {"n": 1, "min_visits": 140}
        assert audit.mechanism["name"] == series.name.partition("_")[0].replace("hundred", "laplace")
        assert audit.mechanism["epsilon"] == 0.5
        assert not {"round", "clamp", "suppress"} & set(audit.mechanism)


def test_full_scale_matches_the_paper():
    audits = audits_of(LARGE["laplace"], FULL)
    assert {audit.rounds for audit in audits} == {50_000}
    assert len(audits) == 10 * 11  # ten runs, and an audit for each number of cells: what is done is kept
    shadows = {c.attack_parameters.get("shadows") for audit in audits for c in audit.contenders}
    assert shadows == {None, FEW_SHADOWS, MANY_SHADOWS}


def test_quick_scale_has_fifty_thousand_rounds():
    assert sum(audit.rounds for audit in audits_of(USUAL["laplace"], QUICK)) == 50_000


def test_runs_of_a_series_have_different_seeds():
    assert [run.seed_offset for run in USUAL["laplace"].runs] == list(range(10))
    assert len({run.name for series in SERIES for run in series.runs}) == 10 * len(SERIES)


@pytest.mark.parametrize(
    "variant",
    [
        CellAttackVariant(attack="one_threshold", knowledge=INFORMED, n=5),
        CellAttackVariant(attack=NETWORK, knowledge=AUXILIARY, n=60, shadows=FEW_SHADOWS),
        CellAttackVariant(attack=NETWORK, knowledge=INFORMED, n=60, shadows=FEW_SHADOWS, hidden=HUNDRED),
    ],
)
def test_verdict_identifies_its_attack(variant):
    (audit,) = plan_of({"audit": [plans.audit_table("it_0", QUICK, "laplace", [variant])]}).audits
    (contender,) = audit.contenders
    assert contender.label == variant.label
    assert CellAttackVariant.of(verdict(audit.name, contender)) == variant


def test_verdicts_of_several_targets_are_grouped():
    variant = CellAttackVariant(attack="one_threshold", knowledge=INFORMED, n=5)
    contender = SimpleNamespace(
        attack="one_threshold",
        knowledge=INFORMED,
        attack_parameters={},
        knowledge_parameters={"observations": 5},
    )
    found = [verdict(name, contender) for name in ("laplace_0", "laplace_1-5", "laplace_large_0-5")]
    assert USUAL["laplace"].games(found) == {variant: (found[0], found[1])}
    assert LARGE["laplace"].games(found) == {variant: (found[2],)}
    assert USUAL["gaussian"].games(found) == {}


def test_quick_scale_uses_200k_shadows_where_needed():
    assert plans.many_shadows("laplace", Scale.QUICK) == MANY_SHADOWS
    assert plans.many_shadows("gaussian", Scale.QUICK) == MANY_SHADOWS // 10
    assert plans.many_shadows("laplace", Scale.QUICK, HUNDRED) == MANY_SHADOWS // 10
    assert (
        plans.many_shadows("gaussian", Scale.FULL)
        == plans.many_shadows("laplace", Scale.FULL, HUNDRED)
        == MANY_SHADOWS
    )
