import numpy as np
import pytest

from leakgauge.papers.guan24 import auc_charts
from leakgauge.papers.guan24.plans import ReleaseSetting


def test_optimum_of_one_cell_matches_laplace_distributions():
    # P(X < Y + 1) for two Laplace variables of scale 1/e: 1 - (2 + e) exp(-e) / 4 is for the sum rule; the
    # likelihood ratio has the ROC of the law, whose AUC is found here by numbers.
    e = 0.5
    grid = np.linspace(-60, 60, 240_001)
    outside = np.exp(-np.abs(grid) * e) * e / 2
    inside = np.exp(-np.abs(grid - 1) * e) * e / 2
    order = np.argsort(-(inside / outside), kind="stable")
    step = grid[1] - grid[0]
    tpr, fpr = np.cumsum(inside[order]) * step, np.cumsum(outside[order]) * step
    ratios = (inside / outside)[order]
    last = np.append(np.flatnonzero(np.diff(ratios) < -1e-9), ratios.size - 1)  # ties enter together
    auc = np.trapezoid(np.append(0, tpr[last]), np.append(0, fpr[last]))
    assert auc_charts.optimal_mean_auc(ReleaseSetting(epsilon=e), 10, np.array([1])) == pytest.approx(
        auc, abs=1e-3
    )


def test_user_day_noise_uses_a_tenth_of_the_budget():
    day = auc_charts.optimal_mean_auc(ReleaseSetting(epsilon=5.0, unit="user-day"), 10, np.array([20, 60]))
    event = auc_charts.optimal_mean_auc(ReleaseSetting(epsilon=0.5), 10, np.array([20, 60]))
    assert day == event
    # Known values of the issue this answers: half a unit of budget over a day hides little from many cells.
    found = [
        auc_charts.optimal_mean_auc(ReleaseSetting(epsilon=0.5, unit="user-day"), 10, np.array([n]))
        for n in (20, 60, 140)
    ]
    assert found == pytest.approx([0.56, 0.61, 0.66], abs=0.006)


def test_without_noise_cells_do_not_matter():
    with pytest.raises(ValueError, match="depends on the counts"):
        auc_charts.optimal_mean_auc(ReleaseSetting(k=1), 10, np.array([3]))
