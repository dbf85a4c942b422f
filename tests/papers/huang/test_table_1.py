import numpy as np
import pytest
from scipy import stats

from leakgauge.papers.comparison import Agreement

# Simulated elsewhere, at the sizes of the paper's test under normal and under Laplace noise.
SIZES = [(4, 0.070, 0.048), (10, 0.060, 0.052), (29, 0.054, 0.052)]


@pytest.fixture
def cells(show):
    return show("table_1", lambda audit, label: (0.608, 0.948), reach=0.002)[0]


@pytest.mark.parametrize(("m", "normal", "laplace"), SIZES)
def test_level_holds_under_laplace_noise_only(cells, m, normal, laplace):
    found = cells[f"accept H0 | H0: normal noise, {m} answers"]
    critical = stats.t.ppf(0.975, m - 1) * np.sqrt((m - 1) / m)
    assert found.ours.value == pytest.approx(1 - 2 * stats.t.sf(critical, m - 1), abs=1e-12)
    assert found.ours.value == pytest.approx(1 - normal, abs=6e-4)
    assert found.verdict is (Agreement.AGREES if m == 29 else Agreement.DIFFERS)
    other = cells[f"accept H0 | H0: Laplace noise, {m} answers"]
    assert other.ours.value == pytest.approx(1 - laplace, abs=1.5e-3)
    assert other.verdict is Agreement.AGREES


def test_power_differs_from_theorem_5(cells):
    found = cells["accept H1 | H1: Laplace noise, 10 answers, ε each = 1"]
    law, critical, shift = stats.t(9), stats.t.ppf(0.975, 9), np.sqrt(5)
    printed = 1 - law.cdf(critical - shift) + law.cdf(-critical - shift)
    assert found.published.value == pytest.approx(printed, abs=1e-12)
    assert found.ours.value == pytest.approx(2 * 0.778 - 1 + 0.052, abs=2e-3)  # simulated elsewhere
    assert found.verdict is Agreement.DIFFERS


def test_members_and_non_members_are_separated(cells):
    tail = "Laplace noise, 10 answers"
    assert cells[f"accept H0 | H0: {tail}, simulated"].holds_exact
    assert cells[f"accept H1 | H1: {tail}, ε each = 1, simulated"].holds_exact
    other = cells["accept H1 | H1: Laplace noise, 4 answers, ε each = 1, simulated"]
    assert (other.verdict, other.holds_exact) == (Agreement.NOT_PRINTED, False)
    textbook = cells[f"accept H0 | H0: {tail}, textbook form, simulated"]
    assert textbook.verdict is Agreement.OURS_ONLY
