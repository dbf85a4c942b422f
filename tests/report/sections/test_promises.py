from leakgauge.core.guarantee import Relation, Unit
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.metric_text import UNIT_NAMES, promised_text
from leakgauge.report.sections.promises import RELATIONS, promise_text, section


def test_every_unit_and_relation_has_a_text():
    assert set(UNIT_NAMES) == {str(unit) for unit in Unit}
    assert set(RELATIONS) == {str(relation) for relation in Relation}


def test_tables_say_which_unit_a_promise_is_about_where_the_label_is_about_another():
    label = {"epsilon": 4.0, "unit": "record"}
    found = {unit: promised_text({"epsilon": 3.94, "unit": unit, "nominal": label}) for unit in Unit}
    assert found.pop(Unit.RECORD) == promised_text({"epsilon": 3.94, "unit": "step"}) == "3.94"
    assert found[Unit.STEP] == "3.94 per step"
    assert found[Unit.TRAINING] == "3.94 in every step"
    assert len(set(found.values())) == len(found)
    assert all(text.startswith("3.94 ") for text in found.values())


def test_unlimited_promise_is_named():
    assert promise_text({"epsilon": None}) == "ε\u00a0=\u00a0∞"


def test_nominal_and_exact_epsilon_are_shown(make, plain):
    promised = {
        "epsilon": 2207.0,
        "delta": 1e-5,
        "relation": "replace_one",
        "unit": "client",
        "nominal": {"epsilon": 1.0, "unit": Unit.EVENT},
        "exact_epsilon": 2206.6,
    }
    text = plain(section(JudgedRun([make(promised=promised)], {})).html)
    assert "2,207 10⁻⁵ one client data in which it is replaced by another ε = 1 for one event 2,207" in text


def test_minimal_promise_is_shown(make, plain):
    text = plain(section(JudgedRun([make(promised={"epsilon": 1.0, "nominal": None})], {})).html)
    assert "counts-by-hour 1 – – – – –" in text


def test_no_section_without_promise(make):
    assert section(JudgedRun([make("unpromised")], {})) is None


def test_both_compositions_are_shown_beside_nominal_epsilon(make, plain):
    promised = {
        "epsilon": 10.0,
        "delta": 0.0,
        "relation": "add_remove",
        "unit": "user",
        "nominal": {"epsilon": 0.5, "unit": Unit.EVENT},
        "exact_epsilon": 10.0,
        "composed": {"parts": 20, "delta": 1e-5, "kairouz": 9.8594, "tight": 9.1055},
    }
    text = plain(section(JudgedRun([make(promised=promised)], {})).html)
    assert "ε = 0.5 for one event 10 20 10⁻⁵ 9.86 9.11" in text  # bounds are rounded up
    lawless = promised | {"composed": {"parts": 20, "delta": 1e-5, "kairouz": None, "tight": None}}
    assert "10 20 10⁻⁵ ∞ –" in plain(section(JudgedRun([make(promised=lawless)], {})).html)


def test_missing_composition_leaves_gaps(make, plain):
    composed = {"epsilon": 1.0, "composed": {"parts": 3, "delta": 1e-5, "kairouz": 1.5, "tight": 1.25}}
    verdicts = [make(promised=composed), make(audit="other", promised={"epsilon": 1.0})]
    text = plain(section(JudgedRun(verdicts, {})).html)
    assert "3 10⁻⁵ 1.50 1.25" in text
    assert text.rstrip().endswith("– – – –")


def test_inapplicable_independent_bound_is_mentioned(make, plain):
    promised = {
        "epsilon": 50_000.0,
        "delta": 1e-5,
        "relation": "replace_one",
        "unit": "group",
        "nominal": {"epsilon": 1.0, "unit": Unit.RECORD},
    }
    found = make(promised=promised, bounds={"advantage": 1.0, "advantage_independent": 0.46212})
    text = plain(section(JudgedRun([found], {})).html)
    assert "ε = 1 for one record, would keep the advantage" in text
    assert "all records of a release together data in which they are all replaced by others" in text
    assert "at or below 0.463 if records were independent" in text
    assert "That bound does not apply here" in text
    assert "does not apply" not in plain(section(JudgedRun([make()], {})).html)


def test_promise_is_explained_in_words(make, plain):
    promised = {
        "epsilon": 29_251_752.0,
        "delta": 1e-5,
        "unit": "group",
        "nominal": {"epsilon": 1.0, "unit": Unit.RECORD},
    }
    text = plain(section(JudgedRun([make(promised=promised, bounds={"accuracy": 1.0})], {})).html)
    assert (
        "ε = 29,251,752 for all records of a release together allows an attacker to be right all of the time "
        "(coin toss: 50%). It follows from what is stated, ε = 1 for one record: this audit is "
        "about all records of a release together, for which the ε of all parts add up."
    ) in text
    strict = plain(section(JudgedRun([make()], {})).html)
    assert "ε = 1 for one person allows an attacker to be right up to 73.1% of the time" in strict


def test_most_active_person_is_named_beside_the_most_active_target(make, plain):
    promised = {"epsilon": 75.0, "unit": "user", "nominal": {"epsilon": 1.0, "unit": "event"}}
    least = {"epsilon": 247.0, "accuracy": 0.9999, "parts": 247}
    text = plain(section(JudgedRun([make(promised=promised | {"least_protected": least})], {})).html)
    assert (
        "This is the most active target. To the most active person of the data, who is not a target" in text
    )
    assert "it promises only ε = 247" in text
    same = promised | {"least_protected": least | {"epsilon": 75.0}}
    text = plain(section(JudgedRun([make(promised=same)], {})).html)
    assert "This is the most active person of the data." in text
    assert "who is not a target" not in text
