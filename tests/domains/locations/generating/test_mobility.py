from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from leakgauge.domains.locations.generating.mobility import Habits

POSITIONS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
ATTRACTION = np.array([1.0, 2.0, 4.0])
RHYTHM = np.array([0.25, 0.75])
AT_HOME = np.array([0.9, 0.2])


def chances(home):
    """The law of one visit, written out."""
    distance = np.sqrt(((POSITIONS - POSITIONS[home]) ** 2).sum(axis=1))
    pull = ATTRACTION * np.exp(-distance / 1.5)
    places = (1 - AT_HOME) * (pull / pull.sum())[:, None] + AT_HOME * (np.arange(3) == home)[:, None]
    return (places * RHYTHM).ravel()


@pytest.fixture
def habits():
    return Habits.of(POSITIONS, ATTRACTION, 1.5, RHYTHM, AT_HOME)


@pytest.mark.parametrize("home", [0, 1, 2])
def test_a_single_visit_follows_the_law(habits, home):
    n = 200_000
    cells, counts = habits.draw(np.full(n, home), np.ones(n, dtype=np.int64), np.random.default_rng(home))
    assert (counts == 1).all()
    assert chisquare(np.bincount(cells, minlength=6), n * chances(home)).pvalue > 1e-3


def test_two_distinct_visits_are_drawn_one_after_the_other(habits):
    n = 200_000
    cells, counts = habits.draw(np.ones(n, dtype=np.int64), np.full(n, 2), np.random.default_rng(4))
    assert (counts == 2).all()
    law = chances(1)
    expected = {
        pair: sum(law[a] * law[b] / (1 - law[a]) for a, b in permutations(pair))
        for pair in ((i, j) for i in range(6) for j in range(i + 1, 6))
    }
    pairs = cells.reshape(n, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    found = [int(((pairs == pair).all(axis=1)).sum()) for pair in expected]
    assert chisquare(found, n * np.array(list(expected.values()))).pvalue > 1e-3


def test_everybody_gets_what_they_want_in_their_place(habits):
    homes = np.array([0, 1, 2, 0])
    cells, counts = habits.draw(homes, np.array([6, 1, 3, 2]), np.random.default_rng(5))
    assert counts.tolist() == [6, 1, 3, 2]
    assert cells[:6].tolist() == list(range(6))
