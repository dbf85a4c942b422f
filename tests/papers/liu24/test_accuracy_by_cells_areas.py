import pytest

from leakgauge.papers.comparison import Agreement


@pytest.mark.parametrize("name", ["figure_17", "figure_20"])
def test_what_the_paper_says_agrees_where_it_is_right(name, pretend):
    stated = [cell for cell in pretend(name, wide=1e-5).cells if cell.published is not None]
    assert {cell.verdict for cell in stated} == {Agreement.AGREES}


def test_networks_with_few_and_many_shadows_share_a_picture(pretend):
    for chart in pretend("figure_17").charts:
        labels = {key.label for key in chart.keys}
        assert {"network, 2,000 shadows", "network, 200,000 shadows", "reference"} <= labels


def test_the_optimum_stands_beside_what_was_played(pretend):
    cells = {cell.setting: cell for cell in pretend("figure_20").cells}
    # A difference of two normal sums: Phi(sqrt(60) / 8.2543 / sqrt(2)).
    assert cells["AUC: likelihood, informed, 60 cells, played"].exact == pytest.approx(0.7465, abs=1e-4)
