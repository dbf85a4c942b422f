import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.paper import Scale
from night import others_at_night


def stated(shown):
    return [cell for cell in shown.cells if cell.published is not None]


@pytest.mark.parametrize("scale", others_at_night(Scale, Scale.QUICK))
@pytest.mark.parametrize("name", ["figure_1", "figure_13", "figure_14", "figure_19"])
def test_statements_about_accuracy_agree(name, scale, pretend):
    shown = pretend(name, scale=scale)
    assert stated(shown)
    unexplained = [cell for cell in stated(shown) if not cell.why]
    assert unexplained
    assert not [cell.setting for cell in unexplained if cell.verdict is not Agreement.AGREES]
    assert shown.charts


@pytest.mark.parametrize("name", ["figure_13", "figure_14", "figure_19"])
def test_wide_intervals_are_inconclusive(name, pretend):
    cells = [cell for cell in stated(pretend(name, wide=0.4)) if cell.published.claim != "equal to"]
    small = [cell for cell in cells if cell.ours.value < 0.1]
    assert small
    assert {cell.verdict for cell in small} == {Agreement.UNDECIDED}


def test_page_names_the_substitute_data(pretend):
    (note,) = pretend("figure_13").notes
    assert "Milan were not given" in note
    assert "15,793 people, 96 places, 800 hours" in note
    (note,) = pretend("figure_14").notes
    assert "synthetic city instead of Milan" in note


def test_both_attackers_have_a_panel(pretend):
    shown = pretend("figure_13")
    assert [chart.name for chart in shown.charts] == ["figure-13-informed", "figure-13-auxiliary"]
    known, other = ({key.label for key in chart.keys} for chart in shown.charts)
    assert {"likelihood = optimum", "one_threshold", "two_threshold", "network, 2,000 shadows"} <= known
    assert {"optimum of the informed", "likelihood", "reference"} <= other


def test_informed_rules_have_exact_values(pretend):
    cells = {cell.setting: cell for cell in pretend("figure_13").cells}
    assert cells["accuracy: one_threshold, informed, 60 cells, simulated"].exact == pytest.approx(
        0.9150, abs=5e-5
    )
    assert cells["accuracy: two_threshold, informed, 60 cells, simulated"].exact == pytest.approx(
        0.9580, abs=5e-5
    )
    likelihood = cells["accuracy: likelihood, informed, 60 cells, simulated"]
    assert likelihood.exact == pytest.approx(0.9639, abs=5e-5)
    assert cells["accuracy: one_threshold, auxiliary, 60 cells, simulated"].exact is None


def test_figure_1_gap_is_larger_to_bound_than_to_optimum(pretend):
    gaps = {cell.setting: cell.ours.value for cell in pretend("figure_1").cells}
    bound = gaps["bound for any mechanism minus network of 100 units, 60 cells"]
    best = gaps["optimum against this noise minus network of 100 units, 60 cells"]
    assert bound - best == pytest.approx(0.9725 - 0.9639, abs=1e-4)  # errata; simulation elsewhere


@pytest.mark.parametrize("name", ["figure_17", "figure_20"])
def test_statements_about_auc_agree(name, pretend):
    assert {cell.verdict for cell in stated(pretend(name, wide=1e-5))} == {Agreement.AGREES}


def test_networks_share_a_chart(pretend):
    for chart in pretend("figure_17").charts:
        labels = {key.label for key in chart.keys}
        assert {"network, 2,000 shadows", "network, 200,000 shadows", "reference"} <= labels


def test_optimum_is_shown_beside_results(pretend):
    cells = {cell.setting: cell for cell in pretend("figure_20").cells}
    # A difference of two normal sums: Phi(sqrt(60) / 8.2543 / sqrt(2)).
    assert cells["AUC: likelihood, informed, 60 cells, simulated"].exact == pytest.approx(0.7465, abs=1e-4)
