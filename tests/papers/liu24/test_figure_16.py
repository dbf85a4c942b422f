import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import PAPER, figure_16
from leakgauge.papers.paper import PlayedItem, Scale, Scope


@pytest.fixture(scope="module")
def cells():
    shown = PAPER.item("figure_16").show(PlayedItem(scope=Scope(scale=Scale.QUICK)))
    return {cell.setting: cell for cell in shown.cells}


def test_sharp_networks_equal_their_rules():
    rows, _ = figure_16._rows()
    answers = rows.sum(axis=1) >= 30
    np.testing.assert_array_equal(figure_16.sum_rule_network(5.0, 5.0).chance(rows) >= 0.5, answers)
    votes = (rows >= 0.5).sum(axis=1)
    sharp = figure_16.vote_rule_network(1e6, 5.0).chance(rows) >= 0.5
    np.testing.assert_array_equal(sharp[votes != 30], (votes > 30)[votes != 30])


def test_loss_falls_with_both_scales(cells):
    for setting in (
        "theorem 4: loss at a = 0.1 minus loss at a = 10, b = 16",
        "theorem 4: loss at b = 1 minus loss at b = 16, a = 10",
    ):
        assert cells[setting].verdict is Agreement.AGREES


def test_misprints_are_reported(cells):
    for name, right in (("theorem 4", 0.915), ("theorem 5", 0.963)):
        cell = cells[f"{name}: accuracy at a = 10, b = 16"]
        assert cell.verdict is Agreement.DIFFERS
        assert cell.published.value < 0.55
        assert cell.ours.value == pytest.approx(right, abs=0.005)


def test_one_unit_ranks_by_the_sum(cells):
    found = {cells[f"theorem 4: accuracy at a = {a:g}, b = 16"].ours.value for a in (0.1, 6.0, 300.0)}
    assert len(found) == 1


def test_soft_votes_beat_hard_votes_but_not_the_optimum(cells):
    soft, hard = (cells[f"theorem 5: accuracy at a = {a}, b = 16"].ours for a in (6, 300))
    assert hard.value < soft.value < 0.9639 + 0.003
