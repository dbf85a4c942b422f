from types import SimpleNamespace

import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.privacy_budget import accountants, range_text, section, spent_epsilon


def test_a_span_is_one_number_where_rounds_agree():
    assert range_text({"least": 0.3, "mean": 0.29999999, "most": 0.3}) == "0.3"
    assert range_text({"least": 0.0, "mean": 1.5, "most": 3.0}) == "0 to 3"


@pytest.mark.parametrize("found", [None, {}])
def test_who_asked_nothing_spent_nothing_that_is_known(found):
    assert spent_epsilon(SimpleNamespace(spent=found), "obtained") == "–"
    assert accountants(SimpleNamespace(spent=found)) == []


def test_accountants_go_by_their_names():
    one = {"least": 0.0, "mean": 0.0, "most": 0.0}
    found = SimpleNamespace(spent=dict.fromkeys(["obtained", "sequential", "believed", "per_row"], one))
    assert accountants(found) == ["per_row", "sequential"]


def span(least, most):
    return {"least": least, "mean": (least + most) / 2, "most": most}


def test_both_sides_of_the_budget_stand_side_by_side(make, plain):
    told = {"obtained": span(3, 60), "believed": span(0.3, 3), "per_row": span(0.3, 3), "none": span(0, 0)}
    html = section(JudgedRun([make(spent=told)], {})).html
    assert plain(html).rstrip().endswith("3 to 60 0.3 to 3 0 0.3 to 3")
    assert "beyond" in html  # more was obtained than believed


def test_accounts_that_are_right_are_not_marked(make):
    told = {"obtained": span(3, 3), "believed": span(3, 3.0000000001), "sequential": span(3, 3)}
    assert "beyond" not in section(JudgedRun([make(spent=told)], {})).html


def test_without_an_oracle_there_is_no_such_section(make):
    assert section(JudgedRun([make()], {})) is None
