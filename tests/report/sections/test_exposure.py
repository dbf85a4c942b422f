from pages.test_exposure_page import summary

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import exposure


def test_there_is_a_section_where_the_exposure_was_computed():
    assert exposure.section(JudgedRun([], {})) is None
    assert exposure.section(JudgedRun([], {"exposure": None})) is None
    found = exposure.section(JudgedRun([], {"exposure": summary()}))
    assert found is not None
    assert found.title == "Exposure of everybody"
