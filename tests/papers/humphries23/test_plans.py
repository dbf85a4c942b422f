"""What is played: the settings of section IV and of the errata."""

import pytest

from leakgauge.papers.paper import Scale

FIGURES = [f"figure_{number}" for number in range(2, 10)]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("scale", list(Scale))
def test_models_are_trained_as_in_paper(audits, files, name, scale):
    trained = [audit for audit in audits(name, scale, files).values() if not audit.name.endswith("-blind")]
    for audit in trained:
        said = audit.challenger
        assert (said["game"], said["epochs"], said["sampling"]) == ("group", 100, "shuffled")
        assert said["batch"] == (32 if name in ("figure_6", "figure_7") else 200)
        assert "rate" not in said  # 0.01 is the default
        assert "hidden" not in said  # and so are two layers of 256
        if audit.mechanism["name"] != "none":
            assert audit.mechanism["relation"] == "replace_one"
            assert audit.mechanism["calibration"] == "humphries23"
            assert (audit.mechanism["delta"], audit.mechanism["clip"]) == (1e-5, 1.0)
        assert audit.metrics.in_sample
        more = scale is Scale.QUICK and audit.name == "adult-gender-100-1-dependent"
        assert audit.rounds == (5 if more else {Scale.QUICK: 3, Scale.FULL: 50}[scale])
        assert audit.block == 1  # a run can be continued after any training


@pytest.mark.parametrize("name", FIGURES)
def test_full_scale_has_every_epsilon_and_none(audits, files, name):
    found = audits(name, Scale.FULL, files).values()
    epsilons = {audit.mechanism.get("epsilon") for audit in found}
    assert epsilons == {0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, None}


@pytest.mark.parametrize("name", ["figure_2", "figure_3", "figure_6", "figure_7", "figure_8", "figure_9"])
@pytest.mark.parametrize("scale", list(Scale))
def test_group_games_have_controls(audits, files, name, scale):
    found = audits(name, scale, files)
    dependent = [audit for audit in found if audit.endswith("-dependent")]
    assert dependent
    for audit in dependent:
        control = found[audit.replace("-dependent", "-iid")]
        assert control.challenger == found[audit].challenger | {"control": True}
    groups = {audit.rsplit("-", 2)[0] for audit in dependent}
    blind = {audit.removesuffix("-blind") for audit in found if audit.endswith("-blind")}
    assert blind == groups


def test_sizes_match_table_2(audits, files):
    def members(name):
        said = [
            audit.challenger
            for audit in audits(name, Scale.FULL, files).values()
            if "dependent" in audit.name
        ]
        return {one.get("members") for one in said}

    assert (
        members("figure_2") == members("figure_4") == members("figure_5") == members("figure_9") == {10_000}
    )
    assert members("figure_3") == {2_000}
    assert members("figure_6") == members("figure_7") == {None}  # all there are


def test_each_hospital_is_the_member_group_once(audits, files):
    groups = [
        audit.challenger["dependence"]["members"]
        for audit in audits("figure_6", Scale.QUICK, files).values()
        if audit.name.endswith("-dependent")
    ]
    assert groups == ["cleveland", "hungarian", "switzerland", "va"]


@pytest.mark.parametrize(("name", "quick"), [("figure_4", [0.0, 0.5, 1.0]), ("figure_5", [0.0, 1.0])])
def test_biases_are_validated_on_2500_rows(audits, files, name, quick):
    found = [audit for audit in audits(name, data=files).values() if not audit.name.endswith("-blind")]
    assert [audit.challenger["dependence"]["share"] for audit in found] == quick
    assert {audit.challenger["validation"] for audit in found} == {2_500}
    full = audits(name, Scale.FULL, files).values()
    assert {audit.challenger["dependence"]["share"] for audit in full} == {0, 0.25, 0.5, 0.75, 1}


def test_duplicates_are_kept_as_in_the_paper(audits, files):
    kept = {
        name: {audit.data.get("duplicates") for audit in audits(name, data=files).values()}
        for name in FIGURES
    }
    assert all(kept[name] == {"keep"} for name in FIGURES[:6])
    assert kept["figure_9"] == {None}  # removed, which is the default


def test_shadow_attack_runs_at_full_scale_with_enough_rows(audits, files):
    def labels(name, scale):
        return {one.label for audit in audits(name, scale, files).values() for one in audit.contenders}

    assert all("shadow" not in labels(name, Scale.QUICK) for name in FIGURES)
    with_them = {name for name in FIGURES if "shadow" in labels(name, Scale.FULL)}
    assert with_them == {"figure_2", "figure_4", "figure_5", "figure_9"}


@pytest.mark.parametrize("name", FIGURES)
def test_missing_files_use_generated_rows(audits, name):
    found = audits(name).values()
    assert {audit.data["source"] for audit in found} == {"synthetic"}
    assert {audit.challenger["members"] for audit in found} == {500}
