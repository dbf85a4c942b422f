import re

import numpy as np
import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import exposure
from leakgauge.report.sections.exposure import (
    exposure_answer,
    exposure_notes,
    metric_quantiles,
    recognised_text,
)


def against(name, people, most):
    return {
        "attacker": name,
        "basis": f"{name} it is",
        "recognised": {"accuracy": 0.9, "people": people},
        "metrics": {"accuracy": {"quantiles": {"1.0": most}}},
    }


def audit(name="city", *, notes=(), adversaries=()):
    return {"audit": name, "people": 2000, "notes": list(notes), "attackers": list(adversaries)}


def test_answer_gives_recognised_people_and_worst_case():
    three = [against("informed", 1234, 0.99999), against("auxiliary", 1, 0.9421), against("zero", 0, 0.8)]
    assert exposure_answer(audit(adversaries=three)) == (
        "Of 2,000 people, 1,234 (61.7%) can be recognised by the attacker 'informed', 1 (0.05%) by the "
        "attacker 'auxiliary' and 0 (0%) by the attacker 'zero': right about them at least 90% of the time, "
        "and about the most exposed one >99.9%, 94.2% and 80.0%."
    )


def test_single_attacker_needs_no_list():
    one = {**audit(adversaries=[against("informed", 20, 1.0)]), "domain": "locations"}
    assert exposure_answer(one) == (
        "Of 2,000 people, 20 (1.0%) can be recognised by the attacker who knows everyone else's data "
        "(informed): right about them at least 90% of the time, and about the most exposed one 100.0%."
    )


def test_uncounted_numbers_are_omitted():
    older = against("informed", 20, 1.0)
    del older["recognised"]
    assert exposure_answer(audit(adversaries=[older])) == ""
    assert recognised_text(audit(), older) == ""


def test_notes_are_shown_once_with_audit_names():
    audits = [
        audit("a", notes=["file read", "coarse"], adversaries=[against("zero", 0, 0.5)]),
        audit("b", notes=["file read"], adversaries=[against("zero", 0, 0.5)]),
    ]
    assert exposure_notes(audits) == ["zero: zero it is.", "file read", "coarse (a)"]


@pytest.mark.parametrize(("value", "text"), [(1.0, "100.0%"), (0.9999, ">99.9%"), (0.5, "50.0%")])
def test_near_certainty_is_not_rounded_to_certainty(value, text):
    assert metric_quantiles("accuracy", dict.fromkeys(("0.5", "0.95", "1.0"), value)).split(" / ")[0] == text


def of_log(delta=0.0):
    quantiles = {"0.5": 2.0, "0.95": 12.0, "1.0": 1500.0}
    spent = {"epsilon": {"0.5": 0.3001, "0.95": 2.0, "1.0": 40.0}, "answers": quantiles}
    return {"domain": "queries", "unit": "record", "people": 7, "spent": spent | {"delta": {"1.0": delta}}}


def test_spent_budget_is_shown_as_quantiles():
    answers, epsilon = exposure.spent_lines(of_log())
    assert answers == "Answers that contain them: 2 / 12 / 1,500"
    assert epsilon == "ε of those answers, by sequential composition: 0.301 / 2.00 / 40.0"
    assert "at δ of at most 10⁻⁵" in exposure.spent_lines(of_log(1e-5))[1]
    assert exposure.spent_lines({"people": 7}) == []


def test_question_names_people_or_records():
    assert exposure.exposure_question([{}]) == "How many people could be recognised?"
    assert exposure.exposure_question([of_log()]) == "How many records could be recognised?"


def summary(n_audits: int = 1) -> dict:
    quantiles = {
        "0.05": 0.51,
        "0.25": 0.6,
        "0.5": 0.7312,
        "0.75": 0.8,
        "0.95": 0.9,
        "0.99": 0.95,
        "1.0": 0.99999,
    }
    metrics = {name: {"mean": 0.7, "quantiles": quantiles} for name in ("accuracy", "auc", "tpr_at_fpr_0.01")}
    edges = np.linspace(0.5, 1, 26).round(2).tolist()
    people = [10] * 25
    audit = {
        "domain": "locations",
        "people": 250,
        "notes": ["Informed is a ceiling <here>."],
        "promised": {
            "nominal": {"epsilon": 0.5, "unit": "event"},
            "delta": quantiles | {"1.0": 1e-5},
            "kairouz": quantiles | {"0.5": 8.47, "0.95": 12.9, "1.0": None},
            "tight": quantiles | {"0.5": 8.091, "0.95": 12.0, "1.0": 12.3},
        },
        "attackers": [
            {
                "attacker": name,
                "basis": "the best",
                "error": 0.000123,
                "metrics": metrics,
                "recognised": {"accuracy": 0.9, "people": 50},
                "histogram": {"metric": "accuracy", "edges": edges, "people": people},
            }
            for name in ("informed", "zero")
        ],
    }
    return {"schema": 1, "audits": [{**audit, "audit": f"city {i}"} for i in range(n_audits)]}


def test_page_shows_quantiles_notes_and_histogram(tmp_path):
    path = exposure.write_exposure_page(summary(), tmp_path / "exposure.html")
    text = path.read_text()
    assert re.findall(r"<h[12][^>]*>(.*?)</h[12]>", text)[:2] == ["How exposed is everybody?", "Results"]
    assert "73.1% / 90.0% / &gt;99.9%" in text
    assert "0.731 / 0.900 / &gt;0.999" in text
    assert "Informed is a ceiling &lt;here&gt;." in text
    assert "0.000123" in text
    assert 'id="exposure-1-1"' in text


def test_every_attacker_has_a_panel():
    section = exposure.exposure_section(summary())
    assert [chart.name for chart in section.charts] == ["exposure-1-1", "exposure-1-2"]
    assert section.html.index('id="exposure-1-2"') < section.html.index("<table")
    for chart in section.charts:
        bars = chart.spec["data"]["values"]
        assert len(bars) == 25
        assert sum(row["y"] for row in bars) == pytest.approx(1)


def test_answer_comes_first(plain):
    text = plain(exposure.exposure_section(summary()).html)
    assert text.startswith(
        " How many people could be recognised? Of 250 people, 50 (20.0%) can be recognised by the attacker "
        "who knows everyone else's data (informed) and 50 (20.0%) by the attacker who has only the release "
        "(zero): right about them at least 90% of the time, and about the most exposed one >99.9%."
    )


def test_each_audit_has_its_answer(plain):
    text = plain(exposure.exposure_section(summary(2)).html)
    assert "city 0 : Of 250 people" in text
    assert "city 1 : Of 250 people" in text
    assert text.count("Informed is a ceiling <here>.") == 1
    assert text.count("informed: the best.") == 1


def test_file_without_recognised_count_has_no_answer(plain):
    older = summary()
    for one in older["audits"][0]["attackers"]:
        del one["recognised"]
        one["histogram"]["metric"] = "auc"
    section = exposure.exposure_section(older)
    assert "recognise" not in plain(section.html)
    assert section.charts[0].caption == "informed: median 0.731 over the people"
    assert len(section.charts[0].spec["layer"]) == 1


def test_omitted_audits_are_counted():
    section = exposure.exposure_section(summary(9))
    assert len(section.charts) == 2 * exposure.MOST_AUDITS
    assert "Shown are 6 of 9 audits" in section.html


def test_both_compositions_are_shown_beside_nominal_epsilon(plain):
    text = plain(exposure.exposure_section(summary()).html)
    assert "Promised is ε = 0.5 for one event." in text
    assert "at δ of at most 10⁻⁵" in text
    assert "8.47 / 12.9 / ∞ from the promise to each cell (Kairouz et al. 2015)" in text
    assert "8.10 / 12.0 / 12.3 from the noise distribution" in text


def test_no_promise_is_shown_for_raw_release(plain):
    raw = summary()
    raw["audits"][0]["promised"] = None
    assert "Promised" not in plain(exposure.exposure_section(raw).html)
    del raw["audits"][0]["promised"]  # as older files have it
    assert "Promised" not in plain(exposure.exposure_section(raw).html)


def test_section_appears_with_exposure():
    assert exposure.section(JudgedRun([], {})) is None
    assert exposure.section(JudgedRun([], {"exposure": None})) is None
    found = exposure.section(JudgedRun([], {"exposure": summary()}))
    assert found is not None
    assert found.title == "How exposed is everybody?"
