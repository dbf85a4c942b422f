import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import PAPER, score_distributions
from leakgauge.papers.paper import PlayedItem, Scale, Scope

NOTHING = PlayedItem(scope=Scope(scale=Scale.QUICK))


@pytest.fixture(scope="module")
def figure_8():
    return PAPER.item("figure_8").show(NOTHING)


@pytest.fixture(scope="module")
def figure_10():
    return PAPER.item("figure_10").show(NOTHING)


def test_sampled_sums_match_mean_and_variance():
    for cell in score_distributions.CELLS.values():
        sums = score_distributions.SumScores(cell)
        for member in (False, True):
            drawn = sums.drawn(member=member)
            off = np.sqrt(sums.variance / drawn.size)
            assert abs(drawn.mean() - sums.mean(member=member)) < 4 * off
            assert drawn.var() == pytest.approx(sums.variance, rel=0.08)


def test_misprint_in_theorem_2_is_reported(figure_8):
    cell = next(
        cell for cell in figure_8.cells if cell.setting == "standard deviation of the score, auxiliary"
    )
    assert cell.ours.value == pytest.approx((60 * (15.8416 + 8)) ** 0.5, abs=1e-3)
    assert cell.published.value == pytest.approx(60 * (15.8416**0.5 + 8**0.5), abs=1e-2)
    assert cell.verdict is Agreement.DIFFERS


def test_sums_are_nearly_normal(figure_8):
    gaps = [cell.ours.value for cell in figure_8.cells if cell.setting.startswith("largest gap")]
    assert len(gaps) == 2
    assert max(gaps) < 1.95 / 5_000**0.5


def test_votes_are_binomial(figure_10):
    votes = figure_10.cells[0]
    assert votes.ours.value == pytest.approx(32.157, abs=1e-3)  # drawn elsewhere: 32.16
    assert votes.published.value == 1201
    assert votes.verdict is Agreement.DIFFERS
    rows = figure_10.charts[0].spec["data"]["values"]
    for world in ("without", "with"):
        bars = [row["y"] for row in rows if row["label"] == f"exact, {world} the target"]
        assert sum(bars) == pytest.approx(1.0, abs=1e-3)


def test_each_attacker_has_a_panel(figure_8, figure_10):
    for number, shown in ((8, figure_8), (10, figure_10)):
        assert [chart.name for chart in shown.charts] == [
            f"figure-{number}-informed",
            f"figure-{number}-auxiliary",
        ]


@pytest.fixture(scope="module")
def shown():
    return PAPER.item("figure_9").show(PlayedItem(scope=Scope(scale=Scale.QUICK)))


def test_midpoint_is_the_best_threshold(shown):
    cells = {cell.setting: cell for cell in shown.cells}
    best = cells["threshold of the highest accuracy"]
    assert best.ours.value == 30.0
    assert best.verdict is Agreement.NOT_PRINTED  # symmetry leaves no other result
    assert "by construction" in best.reason
    assert cells["accuracy at the best threshold"].ours.value == pytest.approx(0.9150, abs=5e-5)


def test_larger_thresholds_have_fewer_false_alarms(shown):
    reversed_ = next(cell for cell in shown.cells if "FPR at a threshold" in cell.setting)
    assert reversed_.ours.value < 0
    assert reversed_.verdict is Agreement.DIFFERS


def test_rates_fall_with_threshold(shown):
    rows = shown.charts[0].spec["data"]["values"]
    for label in ("TPR", "FPR"):
        rates = [row["value"] for row in rows if row["label"] == label]
        assert rates == sorted(rates, reverse=True)
        assert rates[0] > 0.99
        assert rates[-1] < 0.01


def test_vote_curve_lies_above_sum_curve(shown):
    rows = shown.charts[1].spec["data"]["values"]
    assert [key.label for key in shown.charts[1].keys][:3] == ["one_threshold", "two_threshold", "optimum"]
    one, two = (max(row["tpr"] for row in rows if row["curve"] == i and row["fpr"] <= 0.05) for i in (0, 1))
    assert two > one
