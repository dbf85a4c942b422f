"""Tables of the documentation that follow from a formula: every number is computed again."""

import re
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.mechanisms import bitrand, ome
from leakgauge.referee.metrics import epsilon_one_run
from leakgauge.theory.query_splitting import optimum_laplace

DOCS = Path(__file__).parents[1] / "docs"


def rows(page, header):
    """The cells of the table of a page whose header begins so."""
    lines = (DOCS / page).read_text().splitlines()
    (start,) = (place for place, line in enumerate(lines) if line.startswith(header))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return table
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def number(cell):
    return float(re.search(r"\d*[.,\d]*\d", cell)[0].replace(",", ""))


def percent(cell):
    return number(cell) / 100


def test_epsilon_of_rows_of_512_features():
    flips, _, ome_hundred, ome_one = rows("mechanisms.md", "| nominal epsilon | 1 | 3")
    for place, epsilon in enumerate((1.0, 3.0, 5.0, 10.0), start=1):
        k = np.arange(10)
        alpha = sqrt((epsilon + 512 * 10) / (2 * 512 * np.exp(2 * epsilon * k / 10).sum()))  # as published
        assert number(flips[place]) == round(512 * np.abs(log(alpha) + k * epsilon / 10).sum())
        assert number(flips[place]) == round(bitrand.Mechanism(epsilon=epsilon).guarantee.exact_epsilon)
        assert number(ome_hundred[place]) == round(ome.Mechanism(epsilon=epsilon).guarantee.exact_epsilon)
        plain = ome.Mechanism(epsilon=epsilon, alpha=1.0).guarantee.exact_epsilon
        assert number(ome_one[place]) == round(plain, 1)


def test_a_hundred_members_that_come_together():
    for epsilon, independent, measured, optimum, together in rows("models.md", "| ε of a record | bound if"):
        label = float(epsilon)
        assert float(independent) == pytest.approx(np.tanh(label / 2), abs=6e-4)
        assert float(together) == pytest.approx(np.tanh(100 * label / 2), abs=6e-4)
        best = 1 - exp(-100 * label / 2)  # Laplace noise against a shift of 100 epsilon scales
        assert float(optimum) == pytest.approx(best, abs=6e-4)
        low, high = map(float, re.findall(r"\.\d+", measured)[1:])
        assert low <= best <= high


def test_people_with_several_rows():
    ((_, *shares),) = rows("queries.md", "| rows of the person | 1 | 2")
    for n_rows, cell in enumerate(shares, start=1):
        assert percent(cell) == pytest.approx(optimum_laplace(10, n_rows / 4)[0], abs=6e-4)


def classic_sigma(epsilon, delta):
    return sqrt(2 * log(1.25 / delta)) / epsilon


def analytic_sigma(epsilon, delta):
    """The smallest standard deviation at sensitivity 1 (Balle and Wang 2018, theorem 8)."""

    def excess(sigma):
        half, shift = 1 / (2 * sigma), epsilon * sigma
        return norm.cdf(half - shift) - exp(epsilon) * norm.cdf(-half - shift) - delta

    return brentq(excess, 0.05, 50)


def test_limits_on_attacks_against_noisy_gradients():
    table = rows("federated.md", "| the noise | at most, others silent")
    sigmas = [classic_sigma(8, 0.01)] * 5
    sigmas[1] = analytic_sigma(8, 0.01)
    sigmas[4] *= 2  # four clients with noise of their own: their mean has twice the noise of their sum
    for (_, silent, anybody, attack, *_), sigma in zip(table, sigmas, strict=True):
        assert percent(silent) == pytest.approx(norm.cdf(1 / (2 * sigma)), abs=6e-4)
        assert percent(anybody) == pytest.approx(norm.cdf(1 / sigma), abs=6e-4)
        error = percent(attack.split("±")[1])
        assert percent(attack) <= norm.cdf(1 / (2 * sigma)) + 3 * error


def test_exact_allele_counts():
    page = " ".join((DOCS / "cell-tables.md").read_text().split())
    snps, people = 200, 60
    assert f"Φ(√(d/n)/2), here {norm.cdf(sqrt(snps / people) / 2):.0%}" in page
    assert f"Φ(√(d/(2n))), here {norm.cdf(sqrt(snps / (2 * people))):.2f}" in page


def bounds(epsilon, n_rounds, n_audits, rng):
    """Lower bounds on epsilon from audits of Laplace noise, by signed log-likelihood ratios."""
    found = []
    for _ in range(n_audits):
        members = rng.random(n_rounds) < 0.5
        outputs = members + rng.laplace(scale=1 / epsilon, size=n_rounds)
        # |x| - |x - 1| would show by its last bits which outputs had 1 added to them
        scores = epsilon * (2 * np.clip(outputs, 0, 1) - 1)
        numbers = np.arange(n_rounds)
        reading = Reading(signed=True, threshold=0.0)
        trials = Trials(numbers, np.zeros(n_rounds, int), members, scores, Coins.FAIR, reading)
        found.append(epsilon_one_run.Metric()(trials).low)
    return np.array(found)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "row", rows("statistics.md", "| true epsilon | `one_run`, signed"), ids=lambda row: row[0]
)
def test_how_much_of_epsilon_a_bound_shows(row):
    epsilon, rng = float(row[0]), np.random.default_rng(20261118)
    for n_rounds, stated in zip((200, 1_000, 10_000), map(float, row[1].split("/")), strict=True):
        found = bounds(epsilon, n_rounds, 300, rng) / epsilon
        spread = 1.2533 * found.std() / sqrt(300)  # standard error of a median, as if normal
        assert stated == pytest.approx(np.median(found), abs=4 * spread + 0.01), n_rounds
        assert (found > 1).mean() <= 0.05 + 4 * sqrt(0.05 * 0.95 / 300)
