import numpy as np
import pytest

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee.metrics.epsilon_one_run import Metric
from leakgauge.strategies.score_selection import RARE, choose_events, choose_score

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


def test_share_ends_inside_the_guesses_it_was_chosen_for():
    # A third of the rounds says "member" rightly nine times in ten; other rounds next to nothing.
    rng = np.random.default_rng(2)
    told = np.where(MEMBERS, 0.54, 0.06) > rng.random(N)
    score = np.where(told, 2.0, -0.3)
    choice = choose_score([score], MEMBERS, delta=0.0)
    assert told.mean() - 0.02 < choice.fraction < told.mean()
    fresh = rng.random(N) < 0.5
    again = np.where(np.where(fresh, 0.54, 0.06) > rng.random(N), 2.0, -0.3)
    rows = np.arange(N)
    reading = Reading(signed=True, fraction=choice.fraction)
    trials = Trials(rows, np.zeros_like(rows), fresh, again, Coins.FAIR, reading)
    assert np.log(9) - 0.25 < Metric()(trials).low < np.log(9)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_rare_proof_is_fixed_beside_a_common_hint(delta):
    # A proof in every 700th round: too few guesses to be preferred to the hint, but a larger bound.
    rng = np.random.default_rng(5)
    proof = np.where(rng.random(N) < 1 / 700, np.where(MEMBERS, 1.5, -1.5), 0.0)
    choice = choose_events([proof, laplace_ratio(MEMBERS, 1.0, rng)], MEMBERS, delta=delta)
    assert choice.candidate == 1
    assert choice.fraction > RARE
    assert choice.rare.candidate == 0
    assert choice.rare.cut == 0.75  # half-way to the next weaker guess


def test_rare_event_that_promises_no_more_is_left_out():
    rng = np.random.default_rng(6)
    lottery = [rng.normal(size=N) * (rng.random(N) < 0.002) for _ in range(100)]
    choice = choose_events([*lottery, laplace_ratio(MEMBERS, 1.0, rng)], MEMBERS, delta=0.0)
    assert (choice.candidate, choice.rare) == (100, None)


def test_common_event_that_cannot_win_is_left_out():
    rng = np.random.default_rng(7)
    proof = np.where(rng.random(N) < 0.02, np.where(MEMBERS, 3.0, -3.0), 0.0)
    hint = laplace_ratio(MEMBERS, 0.5, rng)
    choice = choose_events([proof, hint], MEMBERS, delta=0.0)
    assert (choice.candidate, choice.fraction, choice.rare.candidate) == (1, None, 0)
    alone = choose_events([proof], MEMBERS, delta=0.0)
    assert (alone.candidate, alone.fraction, alone.rare.candidate) == (0, None, 0)


def test_uninformative_candidates_have_no_rare_event():
    choice = choose_events([np.zeros(N)], MEMBERS, delta=0.0)
    assert (choice.candidate, choice.fraction, choice.rare) == (0, 1.0, None)


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
