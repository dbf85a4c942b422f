"""Statements of section IV beside verdicts that are made up."""

import math

import pytest

from leakgauge.papers.comparison import Agreement, read_published
from leakgauge.papers.humphries23 import PAPER
from leakgauge.papers.paper import PlayedItem, Scale, Scope


def at(cells, *words):
    """The one cell whose setting has all these words."""
    (found,) = [cell for setting, cell in cells.items() if all(word in setting for word in words)]
    return found


def as_in_the_paper(audit, label):
    if audit.endswith("-iid"):
        return 0.01
    return 0.97 if audit.endswith("-blind") else 0.96 if "-1-" in audit else 0.99


def test_adult_clusters_agree_with_the_paper(show):
    cells, shown = show("figure_2", as_in_the_paper)
    stated = [cell for cell in cells.values() if cell.published is not None]
    assert {cell.verdict for cell in stated} == {Agreement.AGREES}
    assert len(stated) == 4 + 2 + 1 + 2  # close to perfect, the bound, rises, beats its control
    assert at(cells, "at ε = 10 minus at ε = 1").ours.value == pytest.approx(0.03)
    assert at(cells, "blind control").ours.value == pytest.approx(0.97)
    assert len(shown.charts) == 2


def test_close_to_perfect_is_judged_as_printed(show):
    cells, _ = show("figure_2", lambda audit, label: 0.01 if audit.endswith("-iid") else 0.72)
    found = at(cells, "stated", "average", "ε = 1, non-IID")
    assert found.verdict is Agreement.DIFFERS
    assert found.published.written == "1.0"
    assert "“Close to perfect” is read as 1.0" in found.reason


def test_numbers_that_are_only_drawn_are_not_published(show):
    """.6, .8 and .03 of figure 2, .09 of figure 4 and .07 to .10 of figure 5 are nowhere printed."""
    numbers = read_published("leakgauge.papers.humphries23").numbers
    assert sorted(number.value for number in numbers.values()) == [0.2, 1.0, 1.0]
    for figure in ("figure_2", "figure_4", "figure_5"):
        cells, _ = show(figure, as_in_the_paper, useful={"members": 0.8, "others": 0.85, "validation": 0.79})
        kinds = {cell.verdict for cell in cells.values()}
        assert Agreement.NOT_PRINTED in kinds
        for cell in cells.values():
            if cell.verdict is Agreement.NOT_PRINTED:
                assert cell.published is None
            assert cell.published is None or cell.published.value not in (0.03, 0.6, 0.8, 0.09, 0.07, 0.1)


def test_advantage_below_statement_differs(show):
    cells, _ = show("figure_2", lambda audit, label: 0.01 if audit.endswith("-iid") else 0.3)
    assert at(cells, "stated", "average", "ε = 10, non-IID").verdict is Agreement.DIFFERS
    assert at(cells, "at ε = 10 minus at ε = 1").verdict is Agreement.UNDECIDED


def test_violated_bound_is_that_of_figure_1(show):
    _, shown = show("figure_2", as_in_the_paper)
    bounds = {
        cell.published.value
        for cell in shown.cells
        if cell.published and "does not hold" in cell.published.where
    }
    (value,) = bounds
    assert value == pytest.approx((math.e - 1 + 2e-5) / (math.e + 1))


def test_in_sample_optimum_has_its_null_value(show):
    cells, _ = show("figure_2", as_in_the_paper)
    found = at(cells, "in-sample", "ε = 1, IID")
    assert found.published is None
    assert "0.0089" in found.reason
    assert "if the nominal ε were true, is 0.4621" in found.reason


def test_accuracies_accompany_advantages(show):
    cells, _ = show("figure_2", as_in_the_paper)
    (found,) = [
        cell
        for cell in cells.values()
        if cell.setting.startswith("advantage, average")
        and cell.published is None
        and cell.setting.endswith("ε = 1, non-IID")
    ]
    reason = found.reason
    assert "0.920 of members, 0.850 of non-members, 0.915 of validation rows" in reason


def test_compas_advantage_is_near_one(show):
    cells, _ = show("figure_3", lambda audit, label: 0.0 if audit.endswith("-iid") else 0.97)
    assert at(cells, "stated", "optimal", "ε = 10").verdict is Agreement.AGREES
    cells, _ = show("figure_3", lambda audit, label: 0.0 if audit.endswith("-iid") else 0.9)
    assert at(cells, "stated", "optimal", "ε = 10").verdict is Agreement.DIFFERS


BY_SHARE = {"-0-": 0.09, "-50-": 0.0, "-100-": -0.1}


def falling(audit, label):
    return next((value for share, value in BY_SHARE.items() if f"gender{share}" in audit), 0.3)


def test_gender_bias_falls_with_negative_advantage(show):
    cells, shown = show("figure_4", falling, useful={"members": 0.8, "others": 0.85, "validation": 0.79})
    assert at(cells, "stated", "100% of members men").ours.value == pytest.approx(-0.1)
    stated = [cell for cell in cells.values() if cell.published is not None]
    assert {cell.verdict for cell in stated} == {Agreement.AGREES}
    assert at(cells, "accuracy on others minus on members").ours.value == pytest.approx(0.05)
    assert len(shown.charts) == 2  # one epsilon


def test_gender_bias_without_privacy_is_compared_at_full_scale(show):
    cells, shown = show("figure_4", falling, scale=Scale.FULL)
    found = at(cells, "0% of members men, ε = 0.1", "minus 50% of members men, no noise")
    assert found.ours.value == pytest.approx(0.09)
    assert found.verdict is Agreement.NOT_PRINTED
    assert "calls the two similar" in found.reason
    assert len(shown.charts) == 3


def test_education_bias_reaches_range_of_figure_5(show):
    def rule(audit, label):
        return 0.085 if "-100-" in audit else 0.0

    shown = show("figure_5", rule, useful={"members": 0.8, "others": 0.85})[1]
    stated = [cell for cell in shown.cells if cell.published is not None]
    assert [cell.verdict for cell in stated] == [Agreement.AGREES] * 2  # rises with p, accuracies


@pytest.mark.parametrize(("name", "groups"), [("figure_6", 4), ("figure_7", 1), ("figure_9", 1)])
def test_sources_beat_their_controls(show, name, groups):
    cells, shown = show(name, as_in_the_paper)
    stated = [cell for cell in cells.values() if cell.published is not None]
    assert [cell.verdict for cell in stated] == [Agreement.AGREES] * groups
    assert len(shown.charts) == 2 * groups
    even, _ = show(name, lambda audit, label: 0.02)
    assert not any(cell.verdict in (Agreement.AGREES, Agreement.DIFFERS) for cell in even.values())
    worse, _ = show(name, lambda audit, label: 0.1 if audit.endswith("-iid") else 0.02)
    differing = [cell for cell in worse.values() if cell.verdict is Agreement.DIFFERS]
    assert len(differing) == groups
    assert all("hides the group" in cell.reason for cell in differing)


def test_noise_explains_nothing_at_large_epsilon(show):
    worse, _ = show("figure_7", lambda audit, _: 0.1 if audit.endswith("-iid") else 0.02, scale=Scale.FULL)
    differing = [cell for cell in worse.values() if cell.verdict is Agreement.DIFFERS]
    loud = [cell.setting for cell in differing if "hides the group" in cell.reason]
    assert len(differing) == 7
    assert len(loud) == 4
    assert not any(setting.endswith(("ε = 100", "ε = 1000", "no noise")) for setting in loud)


def test_texas_substitute_is_not_compared(show):
    cells, _ = show("figure_8", as_in_the_paper)
    assert all(cell.published is None for cell in cells.values())
    assert at(cells, "non-IID minus IID").ours.value == pytest.approx(0.98)


@pytest.mark.parametrize("name", [f"figure_{number}" for number in range(2, 10)])
def test_generated_rows_are_not_compared(show, name):
    cells, shown = show(name, as_in_the_paper, real=False)
    assert cells
    assert not any(cell.verdict.is_compared for cell in cells.values())
    assert all("generated rows" in cell.setting or "generated rows" in cell.reason for cell in cells.values())
    assert any("--data names a folder" in note for note in shown.notes)


def test_table_2_names_missing_files():
    shown = PAPER.item("table_2").show(PlayedItem(scope=Scope(scale=Scale.QUICK)))
    assert shown.cells == ()
    assert "adult cluster, compas cluster" in shown.notes[0]


@pytest.mark.parametrize("name", [f"figure_{number}" for number in range(2, 10)])
def test_numbers_of_a_figure_have_distinct_names(show, name):
    cells, shown = show(name, as_in_the_paper, scale=Scale.FULL)
    assert len(cells) == len(shown.cells)
    drawn = [cell for cell in shown.cells if cell.drawn]
    assert bool(drawn) is (name != "figure_8")
    assert not any("blind" in cell.setting for cell in drawn)
