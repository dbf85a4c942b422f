import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import crossover


def test_votes_win_below_about_two_usual_visitors():
    assert crossover.crossover_density() == pytest.approx(1.8, abs=0.3)
    for visitors, wins in ((2, True), (5, True), (15, False), (100, False)):
        cell = crossover.with_visitors(visitors)
        assert (cell.two_threshold(60) > cell.one_threshold(60)) is wins


def test_the_likelihood_is_ahead_of_both_rules_everywhere():
    for visitors in (1, 5, 10, 50, 250):
        found = crossover.exact_accuracies(crossover.with_visitors(visitors))
        assert found["likelihood"] > max(found["one_threshold"], found["two_threshold"])


def test_what_the_paper_says_holds_in_sparse_cells_only(pretend):
    shown = pretend("crossover")
    stated = [cell.verdict for cell in shown.cells if cell.published is not None]
    assert stated == [Agreement.AGREES, Agreement.DIFFERS]
    (chart,) = shown.charts
    assert {"one_threshold", "two_threshold", "likelihood", "both rules equal"} <= {
        k.label for k in chart.keys
    }
