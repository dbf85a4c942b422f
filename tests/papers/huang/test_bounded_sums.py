import numpy as np
import pytest

from leakgauge.papers.huang.bounded_sums import ATTACKS, EPSILON, M, exact_success


@pytest.fixture(scope="module")
def simulated():
    """Right guesses in games of our own making, about a target of half the bound."""
    rng = np.random.default_rng(5)
    n, value, bound = 400_000, 7.0, 14.0
    members = rng.random(n) < 0.5
    answers = members[:, None] * value + rng.laplace(scale=bound / EPSILON, size=(n, M))
    t = answers.mean(axis=1) / (answers.std(axis=1, ddof=1) / np.sqrt(M))
    clipped = np.clip(answers, 0, value).mean(axis=1)
    said = {
        "t-test": np.abs(t) >= 2.2621571627,  # 97.5 % of t with 9 degrees of freedom, from a table
        "midpoint": answers.mean(axis=1) >= value / 2,
        "likelihood": clipped >= value / 2,
    }
    return {label: float(np.mean(guess == members)) for label, guess in said.items()}


@pytest.mark.parametrize("label", list(ATTACKS))
def test_value_of_half_bound_matches_simulation(simulated, label):
    assert exact_success(label, 0.5) == pytest.approx(simulated[label], abs=3.5e-3)


def test_bound_covers_every_record_of_the_sum(audits):
    found = {audit.name: audit.challenger["query"] for audit in audits("sums")}
    assert found["sum-0.25"] == {"kind": "sum", "column": "age", "bound": 200.0, "where": "age = 50"}


def test_numbers_are_compared_with_theory(show):
    cells, shown = show("sums", lambda audit, label: (0.8, 0.8))
    assert cells["midpoint: value / bound = 1, simulated"].exact == pytest.approx(0.873, abs=1e-3)
    assert cells["likelihood: value / bound = 1, simulated"].exact == pytest.approx(0.916, abs=1e-3)
    assert len(shown.charts) == 1
