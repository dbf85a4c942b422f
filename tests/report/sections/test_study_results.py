from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.study_results import section, study_value


def test_what_was_worked_out_stands_beside_what_was_measured(make, plain):
    found = make(
        studied={"units": 1024.0, "certified_success": 0.91239, "certified_fpr": 0.20301, "own": 7.0}
    )
    text = plain(section(JudgedRun([found], {})).html)
    assert "Success, certified Active for others Units own" in text
    assert "≥ 91.2% ≤ 20.4% 1,024 7" in text


def test_what_is_certified_is_rounded_to_the_safe_side():
    assert study_value("certified_success", 0.73199) == "≥ 73.1%"
    assert study_value("certified_fpr", 0.13101) == "≤ 13.2%"


def test_without_such_numbers_there_is_no_such_section(make):
    assert section(JudgedRun([make()], {})) is None
