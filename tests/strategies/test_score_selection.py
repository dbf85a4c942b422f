import numpy as np
import pytest

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee.metrics.epsilon_one_run import Metric
from leakgauge.strategies.score_selection import choose_score

RNG = np.random.default_rng(1)
N = 20_000
MEMBERS = RNG.random(N) < 0.5


def laplace_ratio(members, epsilon, rng):
    """The log ratio, on a grid: its last bits would tell the worlds apart."""
    noisy = members + rng.laplace(scale=1 / epsilon, size=members.size)
    return np.round(epsilon * (np.abs(noisy) - np.abs(noisy - 1)), 6)


def test_better_score_is_chosen():
    noise = RNG.normal(size=N)
    choice = choose_score(
        [noise, laplace_ratio(MEMBERS, 0.5, RNG), laplace_ratio(MEMBERS, 2.0, RNG)], MEMBERS, delta=0.0
    )
    assert choice.candidate == 2


def test_laplace_share_ends_where_ratio_is_flat():
    # |x - 1/2| >= 1/2: outside of the two true values the ratio is as large as it gets; P = .5 + .5 / e.
    choice = choose_score([laplace_ratio(MEMBERS, 1.0, RNG)], MEMBERS, delta=0.0)
    assert choice.fraction == pytest.approx(0.5 + 0.5 / np.e, abs=0.12)


def test_rare_certainty_beats_frequent_hints():
    # Seen in every hundredth round with the target and never without, beside a weak hint everywhere.
    proof = MEMBERS & (RNG.random(N) < 0.01)
    score = np.where(proof, 9.0, laplace_ratio(MEMBERS, 0.1, RNG))
    assert choose_score([score], MEMBERS, delta=0.0).fraction < 0.006


def test_share_may_end_inside_a_tie():
    # A third of the rounds says "member" rightly nine times in ten; other rounds next to nothing.
    rng = np.random.default_rng(2)
    told = np.where(MEMBERS, 0.54, 0.06) > rng.random(N)
    score = np.where(told, 2.0, -0.3)
    choice = choose_score([score], MEMBERS, delta=0.0)
    assert choice.fraction == pytest.approx(told.mean() / 2, abs=0.01)
    fresh = rng.random(N) < 0.5
    again = np.where(np.where(fresh, 0.54, 0.06) > rng.random(N), 2.0, -0.3)
    rows = np.arange(N)
    reading = Reading(signed=True, fraction=choice.fraction)
    trials = Trials(rows, np.zeros_like(rows), fresh, again, Coins.FAIR, reading)
    assert np.log(9) - 0.25 < Metric()(trials).low < np.log(9)


def test_delta_needs_more_guesses():
    noisy = MEMBERS + RNG.normal(scale=3.73, size=N)
    pure, approximate = (choose_score([noisy - 0.5], MEMBERS, delta=delta).fraction for delta in (0.0, 1e-3))
    assert approximate > pure


def test_selection_does_not_overfit():
    rng = np.random.default_rng(3)
    useful = laplace_ratio(MEMBERS, 0.3, rng)
    lottery = [rng.normal(size=N) * (rng.random(N) < 0.002) for _ in range(100)]
    assert choose_score([*lottery, useful], MEMBERS, delta=0.0).candidate == 100


def test_uninformative_candidates_choose_the_first():
    assert choose_score([np.zeros(N), np.zeros(N)], MEMBERS, delta=0.0).candidate == 0
