import pytest

from leakgauge.report.sections import exposure
from leakgauge.report.sections.exposure import (
    exposure_answer,
    exposure_notes,
    metric_quantiles,
    recognised_text,
)


def against(name, people, most):
    return {
        "adversary": name,
        "basis": f"{name} it is",
        "recognised": {"accuracy": 0.9, "people": people},
        "metrics": {"accuracy": {"quantiles": {"1.0": most}}},
    }


def audit(name="city", *, notes=(), adversaries=()):
    return {"audit": name, "people": 2000, "notes": list(notes), "adversaries": list(adversaries)}


def test_the_answer_counts_the_recognised_and_names_the_worst():
    three = [against("informed", 1234, 0.99999), against("auxiliary", 1, 0.9421), against("zero", 0, 0.8)]
    assert exposure_answer(audit(adversaries=three)) == (
        "Of 2,000 people, informed would recognise 1,234 (61.7%), auxiliary 1 (0.05%) and zero 0 (0%): right "
        "about them at least 90% of the time, and about the most exposed one >99.9%, 94.2% and 80.0%."
    )


def test_one_adversary_needs_no_list():
    assert exposure_answer(audit(adversaries=[against("informed", 20, 1.0)])) == (
        "Of 2,000 people, informed would recognise 20 (1.0%): right about them at least 90% of the time, and "
        "about the most exposed one 100.0%."
    )


def test_what_was_not_counted_is_not_told():
    older = against("informed", 20, 1.0)
    del older["recognised"]
    assert exposure_answer(audit(adversaries=[older])) == ""
    assert recognised_text(audit(), older) == ""


def test_notes_are_said_once_and_those_of_some_audits_with_their_names():
    audits = [
        audit("a", notes=["file read", "coarse"], adversaries=[against("zero", 0, 0.5)]),
        audit("b", notes=["file read"], adversaries=[against("zero", 0, 0.5)]),
    ]
    assert exposure_notes(audits) == ["zero: zero it is.", "file read", "coarse (a)"]


@pytest.mark.parametrize(("value", "text"), [(1.0, "100.0%"), (0.9999, ">99.9%"), (0.5, "50.0%")])
def test_what_is_not_quite_certain_is_not_shown_as_certain(value, text):
    assert metric_quantiles("accuracy", dict.fromkeys(("0.5", "0.95", "1.0"), value)).split(" / ")[0] == text


def of_log(delta=0.0):
    quantiles = {"0.5": 2.0, "0.95": 12.0, "1.0": 1500.0}
    spent = {"epsilon": {"0.5": 0.3001, "0.95": 2.0, "1.0": 40.0}, "answers": quantiles}
    return {"unit": "record", "people": 7, "spent": spent | {"delta": {"1.0": delta}}}


def test_what_answers_have_cost_is_told_for_half_for_most_and_for_all_records():
    answers, epsilon = exposure.spent_lines(of_log())
    assert answers == "Answers that contain them: 2 / 12 / 1,500"
    assert epsilon == "ε of those answers, by sequential composition: 0.301 / 2.00 / 40.0"
    assert "at δ of at most 10⁻⁵" in exposure.spent_lines(of_log(1e-5))[1]
    assert exposure.spent_lines({"people": 7}) == []


def test_the_question_is_about_people_or_records():
    assert exposure.exposure_question([{}]) == "How many people could be recognised?"
    assert exposure.exposure_question([of_log()]) == "How many records could be recognised?"
