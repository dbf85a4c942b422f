import math

import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.humphries23 import PAPER
from leakgauge.papers.humphries23.figure_1 import EPSILONS
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.papers.reproduction import reproduce

FIGURE = PAPER.item("figure_1")


@pytest.fixture
def cells():
    shown = FIGURE.show(PlayedItem(scope=Scope(scale=Scale.QUICK)))
    return {cell.setting: cell for cell in shown.cells}


def test_statements_about_the_bound_are_checked(cells):
    gain = cells["(4) minus (5), most over 0.1 ≤ ε ≤ 2"]
    # (x - 1) / (x (x + 1)) is largest at x = e^ε = 1 + √2.
    root = 1 + math.sqrt(2)
    assert gain.ours.value == pytest.approx((1 - 1e-5) * (root - 1) / (root * (root + 1)), abs=1e-7)
    assert gain.verdict is Agreement.AGREES
    for epsilon, value in (("0.1", 0.0452), ("2", 0.1031)):
        found = cells[f"(4) minus (5), ε = {epsilon}"]
        assert found.ours.value == pytest.approx(value, abs=5e-5)
        assert found.verdict is Agreement.DIFFERS
        assert "0.1716 at ε = 0.88" in found.reason
    assert cells["ε at which bound (3) reaches 1"].ours.value == pytest.approx(math.log(2), abs=1e-12)


def test_misprint_in_appendix_b_is_reported(cells):
    found = cells["(5) minus (4), ε = 1"]
    assert found.published.value == pytest.approx(-math.exp(-1), abs=1e-5)
    assert found.ours.value == pytest.approx(math.tanh(0.5) - (1 - math.exp(-1)), abs=1e-5)
    assert found.verdict is Agreement.DIFFERS


def test_bounds_match_printed_formulas(cells):
    read_off = [cell for cell in cells.values() if cell.setting.startswith("bound ")]
    assert len(read_off) == 15
    assert {cell.verdict for cell in read_off} == {Agreement.AGREES}


def test_differences_are_explained(cells):
    differing = [cell for cell in cells.values() if cell.verdict is Agreement.DIFFERS]
    assert len(differing) == 3
    assert all(cell.why for cell in differing)


def test_optimal_attack_reaches_the_bound(tmp_path):
    made = reproduce("humphries23", only="figure_1", out=tmp_path / "out")
    played = [cell for cell in made.cells if cell.setting.endswith("simulated")]
    assert len(played) == len(EPSILONS)
    for epsilon, cell in zip(EPSILONS, played, strict=True):
        assert cell.ours.low <= math.tanh(epsilon / 2) <= cell.ours.high
        assert cell.ours.high - cell.ours.low < 0.04
        assert cell.verdict is Agreement.NOT_PRINTED
        assert cell.holds_exact
