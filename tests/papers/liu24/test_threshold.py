import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import PAPER
from leakgauge.papers.paper import Played, Scale, Scope


@pytest.fixture(scope="module")
def shown():
    return PAPER.items["figure_9"].show(Played(scope=Scope(scale=Scale.QUICK)))


def test_the_middle_is_the_best_threshold(shown):
    cells = {cell.setting: cell for cell in shown.cells}
    best = cells["threshold of the highest accuracy"]
    assert best.ours.value == 30.0
    assert best.verdict is Agreement.AGREES
    assert cells["accuracy at the best threshold"].ours.value == pytest.approx(0.9150, abs=5e-5)


def test_larger_thresholds_have_fewer_false_alarms_not_more(shown):
    reversed_ = next(cell for cell in shown.cells if "FPR at a threshold" in cell.setting)
    assert reversed_.ours.value < 0
    assert reversed_.verdict is Agreement.DIFFERS


def test_rates_fall_as_the_threshold_rises(shown):
    rows = shown.charts[0].spec["data"]["values"]
    for label in ("TPR", "FPR"):
        rates = [row["value"] for row in rows if row["label"] == label]
        assert rates == sorted(rates, reverse=True)
        assert rates[0] > 0.99
        assert rates[-1] < 0.01


def test_the_curve_of_votes_lies_above_that_of_sums(shown):
    rows = shown.charts[1].spec["data"]["values"]
    assert [key.label for key in shown.charts[1].keys][:3] == ["one_threshold", "two_threshold", "optimum"]
    one, two = (max(row["tpr"] for row in rows if row["curve"] == i and row["fpr"] <= 0.05) for i in (0, 1))
    assert two > one
