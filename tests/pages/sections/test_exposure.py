from leakgauge.pages.judged import Judged
from leakgauge.pages.sections import exposure
from pages.test_exposure_page import summary


def test_there_is_a_section_where_the_exposure_was_computed():
    assert exposure.section(Judged([], {})) is None
    assert exposure.section(Judged([], {"exposure": None})) is None
    found = exposure.section(Judged([], {"exposure": summary()}))
    assert found is not None
    assert found.title == "Exposure of everybody"
