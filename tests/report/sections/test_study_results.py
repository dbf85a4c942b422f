from leakgauge.core.domain import Term
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.study_results import section, study_sentences, study_value


def test_study_numbers_are_shown_beside_measurements(make, plain):
    numbers = {"units": 1024.0, "certified_success": 0.91239, "certified_fpr": 0.20301, "own": 7.0}
    text = plain(section(JudgedRun([make(domain="federated", studied=numbers)], {})).html)
    assert "Success, certified Active for others Units own" in text
    assert "≥ 91.2% ≤ 20.4% 1,024 7" in text


def test_unknown_number_is_shown_by_name(make, plain):
    found = make(domain="scores", studied={"units": 1024.0, "certified_success": 0.91239})
    text = plain(section(JudgedRun([found], {})).html)
    assert "certified_success units" in text
    assert "0.912 1,024" in text


def test_bound_is_rounded_conservatively():
    assert study_value(Term(title="x", is_share=True, bound="lower"), 0.73199) == "≥ 73.1%"
    assert study_value(Term(title="x", is_share=True, bound="upper"), 0.13101) == "≤ 13.2%"
    assert study_value(Term(title="x", bound="lower"), 1.4399) == "≥ 1.43"
    assert study_value(Term(title="x", bound="upper"), 1.431) == "≤ 1.44"


def test_informative_numbers_have_a_sentence(make):
    high, low = (make(domain="federated", studied={"certified_success": value}) for value in (0.912, 0.5))
    assert study_sentences(high) == ["certified before any simulation: right ≥ 91.2% of the time"]
    assert study_sentences(low) == []
    assert study_sentences(make()) == []


def test_no_section_without_such_numbers(make):
    assert section(JudgedRun([make()], {})) is None


def test_targets_about_whom_nothing_was_asked_are_named(make, plain):
    asked = "10 questions about each target; no predicate isolates target 2: 3 people have the same values"
    found = make(domain="queries", studied={"not_isolated": 0.25}, event=asked)
    (sentence,) = study_sentences(found)
    assert sentence.startswith("25.0% of the targets cannot be isolated")
    assert sentence.endswith(f"Asked: {asked}")
    assert asked in plain(section(JudgedRun([found], {})).html)
    everybody = make(domain="queries", studied={"not_isolated": 0.0}, event=asked)
    assert study_sentences(everybody) == []
    assert asked not in plain(section(JudgedRun([everybody], {})).html)
