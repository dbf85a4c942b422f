from types import SimpleNamespace

import pytest

from leakgauge.pages.spending import accountants, spent, written


def test_a_span_is_one_number_where_rounds_agree():
    assert written({"least": 0.3, "mean": 0.29999999, "most": 0.3}) == "0.3"
    assert written({"least": 0.0, "mean": 1.5, "most": 3.0}) == "0 to 3"


@pytest.mark.parametrize("found", [None, {}])
def test_who_asked_nothing_spent_nothing_that_is_known(found):
    assert spent(SimpleNamespace(spent=found), "obtained") == "–"
    assert accountants(SimpleNamespace(spent=found)) == []


def test_accountants_go_by_their_names():
    one = {"least": 0.0, "mean": 0.0, "most": 0.0}
    found = SimpleNamespace(spent=dict.fromkeys(["obtained", "sequential", "believed", "per_row"], one))
    assert accountants(found) == ["per_row", "sequential"]
