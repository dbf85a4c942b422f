from leakgauge.pages.judged import Judged
from leakgauge.pages.sections.spent import section


def span(least, most):
    return {"least": least, "mean": (least + most) / 2, "most": most}


def test_both_sides_of_the_budget_stand_side_by_side(make, plain):
    told = {"obtained": span(3, 60), "believed": span(0.3, 3), "per_row": span(0.3, 3), "none": span(0, 0)}
    html = section(Judged([make(spent=told)], {})).html
    assert plain(html).rstrip().endswith("3 to 60 0.3 to 3 0 0.3 to 3")
    assert "beyond" in html  # more was obtained than believed


def test_accounts_that_are_right_are_not_marked(make):
    told = {"obtained": span(3, 3), "believed": span(3, 3.0000000001), "sequential": span(3, 3)}
    assert "beyond" not in section(Judged([make(spent=told)], {})).html


def test_without_an_oracle_there_is_no_such_section(make):
    assert section(Judged([make()], {})) is None
