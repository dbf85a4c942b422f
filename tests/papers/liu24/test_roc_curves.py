from types import SimpleNamespace

import numpy as np
import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.liu24 import roc_curves


@pytest.mark.parametrize("name", ["figure_18", "figure_21", "figure_27"])
def test_curves_of_both_attackers_stay_below_optimum(name, pretend):
    shown = pretend(name)
    assert [chart.name.rpartition("-")[2] for chart in shown.charts] == ["informed", "auxiliary"]
    for chart in shown.charts:
        assert [key.label for key in chart.keys][-2:] == ["optimum of the informed", "coin toss"]
        assert chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
    stated = [cell for cell in shown.cells if cell.published is not None]
    assert {cell.verdict for cell in stated} == {Agreement.AGREES}


def test_shadow_sizes_keep_colours_and_order(pretend):
    labels = [key.label for key in pretend("figure_18").charts[0].keys]
    assert labels[:6] == [
        "one_threshold", "two_threshold", "likelihood", "network, 2,000 shadows", "reference",
        "network, 200,000 shadows",
    ]  # fmt: skip


def test_curves_of_several_targets_are_averaged_at_equal_fpr():
    one = SimpleNamespace(roc={"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 1.0, 1.0]})
    other = SimpleNamespace(roc={"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]})
    assert roc_curves._mean_curve([one]) == ([0.0, 0.5, 1.0], [0.0, 1.0, 1.0])
    fpr, tpr = roc_curves._mean_curve([one, other])
    expected = (np.minimum(2 * np.array(fpr), 1) + np.array(fpr)) / 2
    np.testing.assert_allclose(tpr, expected, atol=1e-12)


def test_optimal_tpr_matches_theory():
    # Gaussian noise: Phi(mu + Phi^-1(0.01)) with mu = sqrt(60) / 8.2543 = 0.93842.
    assert roc_curves.TPR.exact("gaussian", "likelihood", np.array([60.0]))[0] == pytest.approx(
        0.0825, abs=2e-4
    )
