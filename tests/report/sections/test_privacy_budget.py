import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.privacy_budget import (
    compared_columns,
    exceeding_columns,
    range_text,
    section,
    spending_terms,
    spent_epsilon,
)


def span(least, most):
    return {"least": least, "mean": (least + most) / 2, "most": most}


@pytest.fixture
def asked(make):
    """Build a verdict about an oracle from what was spent."""
    return lambda spent: make(domain="queries", spent=spent)


def test_constant_range_is_one_number():
    assert range_text({"least": 0.3, "mean": 0.29999999, "most": 0.3}) == "0.3"
    assert range_text({"least": 0.0, "mean": 1.5, "most": 3.0}) == "0 to 3"


@pytest.mark.parametrize("found", [None, {}])
def test_no_query_has_unknown_spending(asked, found):
    assert spent_epsilon(asked(found), "obtained") == "–"
    assert spending_terms([asked(found)]) == compared_columns([asked(found)]) == {}


def test_columns_follow_the_domain(asked):
    found = asked(
        dict.fromkeys(["zeal", "sequential", "believed", "per_row", "alms", "obtained"], span(0, 0))
    )
    assert list(spending_terms([found])) == [
        *("obtained", "believed", "per_row", "sequential"),
        *("alms", "zeal"),
    ]
    assert spending_terms([found])["alms"].title == "alms"
    assert list(compared_columns([found])) == ["obtained", "believed"]


def test_what_a_service_reports_is_shown_beside_what_was_recorded(asked):
    found = asked(dict.fromkeys(["reported", "per_row", "believed", "obtained"], span(0, 0)))
    assert list(compared_columns([found])) == ["obtained", "believed", "reported"]


def test_budget_of_both_sides_is_shown(asked, plain):
    spent = {"obtained": span(3, 60), "believed": span(0.3, 3), "per_row": span(0.3, 3), "none": span(0, 0)}
    html = section(JudgedRun([asked(spent)], {})).html
    assert plain(html).rstrip().endswith("3 to 60 0.3 to 3 0 0.3 to 3")
    assert '<td class="n beyond">3 to 60</td>' in html
    assert html.count("beyond") == 1
    assert "records the ε that it spends" in html


def test_correct_accounts_are_not_marked(asked):
    right = asked({"obtained": span(3, 3), "believed": span(3, 3.0000000001), "sequential": span(3, 3)})
    assert "beyond" not in section(JudgedRun([right], {})).html
    assert exceeding_columns(right) == set()
    assert exceeding_columns(asked({"obtained": span(3, 3)})) == set()


def test_no_section_without_spending(make):
    assert section(JudgedRun([make()], {})) is None
