import math
import re

import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import PAPER, exact_values, plans
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.papers.reproduction import reproduce

FIGURE = PAPER.item("figure_6")

# Computed and simulated elsewhere: noise, cells, one_threshold, two_threshold, likelihood.
TABLE = [
    ("laplace", 1, 0.6106, 0.6106, 0.6106),
    ("laplace", 5, 0.6648, 0.7007, 0.7028),
    ("laplace", 20, 0.7888, 0.8387, 0.8509),
    ("laplace", 60, 0.9150, 0.9580, 0.9639),
    ("laplace", 140, 0.9817, 0.9959, 0.9970),
    ("gaussian", 1, 0.5241, 0.5241, 0.5241),
    ("gaussian", 5, 0.5539, 0.5452, 0.5539),
    ("gaussian", 20, 0.6068, 0.5845, 0.6068),
    ("gaussian", 60, 0.6805, 0.6453, 0.6805),
    ("gaussian", 140, 0.7632, 0.7159, 0.7632),
]
ATTACKS = ("one_threshold", "two_threshold", "likelihood")


@pytest.fixture
def shown():
    return FIGURE.show(PlayedItem(scope=Scope(scale=Scale.QUICK)))


@pytest.mark.parametrize(("noise", "k", "one", "two", "best"), TABLE)
def test_lines_have_expected_values(noise, k, one, two, best):
    for attack, rate in zip(ATTACKS, (one, two, best), strict=True):
        assert abs(exact_values.accuracy(noise, attack, np.array([float(k)]))[0] - rate) < 1e-4


def test_noise_matches_paper():
    assert pytest.approx(8.2543, abs=5e-5) == plans.SIGMA
    assert plans.DELTA == 1 / 3998


def test_winners_match_the_paper_except_two_cells(shown):
    verdicts = {cell.setting: cell.verdict for cell in shown.cells}
    assert (
        verdicts["Laplace: two_threshold minus one_threshold, least over 3 to 140 cells"] is Agreement.AGREES
    )
    assert (
        verdicts["Gaussian: one_threshold minus two_threshold, least over 2 to 140 cells"] is Agreement.AGREES
    )
    two = next(cell for cell in shown.cells if cell.setting.endswith("2 cells"))
    assert two.verdict is Agreement.DIFFERS
    # One vote of two is wasted; two Laplace variables have a closed form.
    assert two.ours.value == pytest.approx((2 + 0.5) * math.exp(-0.5) / 4 - math.exp(-0.25) / 2, abs=1e-12)


def test_misprints_are_reported(shown):
    cells = {cell.setting: cell for cell in shown.cells}
    printed = cells["Laplace: one_threshold, 60 cells"]
    assert printed.published.value == pytest.approx(0.570, abs=5e-4)
    assert printed.ours.value == pytest.approx(0.9150, abs=5e-5)
    assert "0.9145" in printed.reason
    missed = cells["Laplace: β′, error rate of one cell for a member"]
    assert missed.ours.value == pytest.approx(0.3894, abs=5e-5)
    assert missed.published.value == pytest.approx(0.6106, abs=5e-5)
    assert printed.verdict is missed.verdict is Agreement.DIFFERS


def test_identities_are_listed_and_not_judged(shown):
    cells = {cell.setting: cell for cell in shown.cells}
    for setting in (
        "Gaussian: the optimum minus one_threshold, 140 cells",
        "Laplace: α′, error rate of one cell for a non-member",
    ):
        assert cells[setting].verdict is Agreement.NOT_PRINTED
        assert "by construction" in cells[setting].reason


def test_each_noise_has_a_panel_with_the_bound(shown):
    assert [chart.name for chart in shown.charts] == ["figure-6-laplace", "figure-6-gaussian"]
    for chart in shown.charts:
        rows = [row for row in chart.spec["data"]["values"] if "CLT" not in row["label"]]
        bound = {row["x"]: row["value"] for row in rows if row["label"].startswith("KOV")}
        assert sorted(bound) == list(range(1, 141))
        assert all(row["value"] <= bound[row["x"]] for row in rows)


@pytest.mark.nightly
def test_simulated_attacks_match_exact_values(tmp_path):
    made = reproduce("liu24", only="figure_6", out=tmp_path / "out")
    played = {
        (match[1].lower(), match[2], int(match[3])): cell
        for cell in made.cells
        if (match := re.fullmatch(r"(\w+): (\w+), (\d+) cells?, simulated", cell.setting))
    }
    assert len(played) == len(TABLE) * len(ATTACKS)
    for noise, k, *rates in TABLE:
        for attack, rate in zip(ATTACKS, rates, strict=True):
            cell = played[noise, attack, k]
            assert cell.ours.low - 5e-5 <= rate <= cell.ours.high + 5e-5
            assert cell.ours.high - cell.ours.low < 0.025
            ours = attack == "likelihood"
            assert cell.verdict is (Agreement.OURS_ONLY if ours else Agreement.NOT_PRINTED)
