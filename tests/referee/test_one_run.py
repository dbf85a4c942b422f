import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from known_trials import trials
from leakgauge.core.game import Reading
from leakgauge.referee.one_run import one_run_lower_bound, one_run_p_value, order_every_trial, order_guesses


def brute_force(n_coins, n_guesses, n_right, epsilon, delta):
    """Theorem 5.2 written down term by term, with scipy's binomial."""
    law = stats.binom(n_guesses, np.exp(epsilon) / (1 + np.exp(epsilon)))
    steepest = max((law.cdf(n_right - 1) - law.cdf(n_right - 1 - i)) / i for i in range(1, n_right + 1))
    return min(1.0, law.sf(n_right - 1) + 2 * n_coins * delta * steepest)


@pytest.mark.parametrize(
    ("n_coins", "n_guesses", "n_right", "epsilon", "delta", "p"),
    [(1000, 1000, 600, 0.2, 1e-5, 0.00102324), (500, 100, 90, 1.5, 1e-3, 0.0887450)],
)
def test_p_values_equal_published_ones(n_coins, n_guesses, n_right, epsilon, delta, p):
    assert one_run_p_value(n_coins, n_guesses, n_right, epsilon=epsilon, delta=delta) == pytest.approx(
        p, rel=1e-5
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize(("n_guesses", "n_right"), [(1, 1), (7, 3), (60, 50), (600, 600), (2000, 1100)])
def test_p_values_equal_explicit_theorem(n_guesses, n_right, epsilon):
    for delta in (0.0, 1e-6, 1e-4):
        found = one_run_p_value(3000, n_guesses, n_right, epsilon=epsilon, delta=delta)
        assert found == pytest.approx(brute_force(3000, n_guesses, n_right, epsilon, delta), rel=1e-9)


def test_bound_is_where_p_value_crosses_alpha():
    for delta in (0.0, 1e-6, 1e-4):
        bound = one_run_lower_bound(1000, 500, 430, delta=delta, alpha=0.05)
        assert one_run_p_value(1000, 500, 430, epsilon=bound, delta=delta) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(("n", "ceiling"), [(200, 4.19), (1_000, 5.81), (10_000, 8.11), (100_000, 10.42)])
def test_largest_bound_of_errorless_guesses(n, ceiling):
    assert one_run_lower_bound(n, n, n, delta=0.0, alpha=0.05) == pytest.approx(ceiling, abs=0.005)
    assert one_run_lower_bound(n, n, n, delta=0.0, alpha=0.05) == pytest.approx(-np.log(0.05 ** (-1 / n) - 1))


@pytest.mark.parametrize(
    ("epsilon", "n", "delta"),
    [
        (0.5, 7, 0),
        (1, 10, 0),
        (3, 62, 0),
        (5, 447, 0),
        (10, 66_048, 0),
        (1, 10, 1e-5),
        (3, 62, 1e-5),
        (5, 452, 1e-5),
    ],
)
def test_errorless_guesses_needed_for_epsilon(epsilon, n, delta):
    slack = max(1, n // 1000)
    assert one_run_lower_bound(n + slack, n + slack, n + slack, delta=delta, alpha=0.05) >= epsilon
    assert one_run_lower_bound(n - slack, n - slack, n - slack, delta=delta, alpha=0.05) < epsilon


def test_delta_limits_the_bound():
    ceilings = [
        one_run_lower_bound(n, n, n, delta=1e-5, alpha=0.05) for n in (3_000, 30_000, 100_000, 1_000_000)
    ]
    assert max(ceilings) == pytest.approx(8.24, abs=0.01)
    assert ceilings[-1] < ceilings[1]


def test_no_correct_guess_gives_zero():
    assert one_run_lower_bound(10, 0, 0, delta=0.0, alpha=0.05) == 0
    assert one_run_lower_bound(10, 10, 0, delta=0.0, alpha=0.05) == 0
    assert one_run_lower_bound(3, 3, 3, delta=0.0, alpha=0.05) == 0


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_bound_falls_with_alpha_and_with_delta(delta):
    bounds = [
        one_run_lower_bound(2000, 900, 700, delta=delta, alpha=alpha) for alpha in (0.2, 0.05, 0.01, 1e-4)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert one_run_lower_bound(2000, 900, 700, delta=1e-4, alpha=0.05) < bounds[1]


SCORES = st.lists(st.integers(-4, 4), min_size=1, max_size=40).map(lambda scores: np.array(scores, float))


def test_signed_scores_are_guessed_by_sign():
    guesses = order_guesses(np.array([0.1, -3.0, 2.0, 0.0]), Reading(signed=True))
    assert guesses.order.tolist() == [1, 2, 0]
    assert guesses.says_member.tolist() == [False, True, True]


def test_unsigned_scores_are_guessed_by_rank():
    guesses = order_guesses(np.array([10.0, 20.0, 30.0, 40.0, 50.0]), Reading())
    assert set(guesses.order[:2].tolist()) == {0, 4}
    assert guesses.sizes((0.02, 0.5, 1.0), 5) == [2, 4]  # the middle one is no evidence


def test_constant_score_gives_zero():
    assert order_guesses(np.full(9, 3.0), Reading()).sizes((1.0,), 9) == []
    assert order_guesses(np.zeros(9), Reading(signed=True)).sizes((1.0,), 9) == []


@given(SCORES, st.booleans(), st.randoms())
def test_order_of_rows_changes_nothing(scores, signed, random):
    """The same scores are guessed on, and the same is said of each."""
    reading, mixed = Reading(signed=signed), random.sample(range(scores.size), scores.size)
    one, other = order_guesses(scores, reading), order_guesses(scores[mixed], reading)
    assert one.ends.tolist() == other.ends.tolist()
    for end in one.ends:
        first = sorted(zip(scores[one.order[:end]], one.says_member[:end], strict=True))
        second = sorted(zip(scores[mixed][other.order[:end]], other.says_member[:end], strict=True))
        assert first == second


@given(SCORES, st.booleans(), st.randoms())
def test_ties_are_broken_whatever_the_order_of_rows(scores, signed, random):
    """Every number of guesses can be made, on the same rounds, with the same said of each."""
    rows = trials(np.zeros(scores.size, bool), scores, Reading(signed=signed))
    mixed = rows.where(np.array(random.sample(range(scores.size), scores.size)))
    one, other = order_every_trial(rows), order_every_trial(mixed)
    assert rows.rounds[one.order].tolist() == mixed.rounds[other.order].tolist()
    assert one.says_member.tolist() == other.says_member.tolist()
    evidence = order_guesses(scores, rows.reading)
    assert sorted(one.order.tolist()) == (list(range(scores.size)) if evidence.order.size else [])
    strongest = one.order[: evidence.order.size]
    assert set(strongest.tolist()) == set(evidence.order.tolist())
    said = dict(zip(one.order.tolist(), one.says_member.tolist(), strict=True))
    assert all(said[row] == says for row, says in zip(evidence.order, evidence.says_member, strict=True))


def test_trials_without_evidence_are_decided_by_coin():
    scores = np.append(np.zeros(2_000), 1.0)
    guesses = order_every_trial(trials(np.zeros(2_001, bool), scores, Reading(signed=True)))
    assert guesses.sizes((0.1, 1.0), 2_001) == [201, 2_001]
    assert guesses.order[0] == 2_000
    assert guesses.order[1:201].max() > 1_500  # not the first rows
    assert 900 < guesses.says_member[1:].sum() < 1_100


@given(SCORES, st.booleans())
def test_negated_scores_reverse_guesses(scores, signed):
    reading = Reading(signed=signed)
    one, other = order_guesses(scores, reading), order_guesses(-scores, reading)
    assert one.ends.tolist() == other.ends.tolist()
    said = dict(zip(one.order.tolist(), one.says_member.tolist(), strict=True))
    opposite = dict(zip(other.order.tolist(), (~other.says_member).tolist(), strict=True))
    assert said == opposite


@given(SCORES)
def test_ranks_ignore_monotone_rescaling(scores):
    one, other = order_guesses(scores, Reading()), order_guesses(np.exp(scores), Reading())
    assert one.order.tolist() == other.order.tolist()
