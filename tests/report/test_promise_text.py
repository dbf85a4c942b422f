from leakgauge.core.guarantee import Relation, Unit
from leakgauge.report.promise_text import RELATIONS, UNITS, promise_text


def test_there_are_words_for_every_unit_and_relation():
    assert set(UNITS) == {str(unit) for unit in Unit}
    assert set(RELATIONS) == {str(relation) for relation in Relation}


def test_an_unlimited_promise_says_so():
    assert promise_text({"epsilon": None}) == "ε\u00a0=\u00a0∞"
