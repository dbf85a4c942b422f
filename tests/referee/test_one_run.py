import numpy as np
import pytest
from scipy import stats

from leakgauge.referee.one_run import lower_bound, p_value


def brute_force(n_coins, n_guesses, n_right, epsilon, delta):
    """Theorem 5.2 written down term by term, with scipy's binomial."""
    law = stats.binom(n_guesses, np.exp(epsilon) / (1 + np.exp(epsilon)))
    steepest = max((law.cdf(n_right - 1) - law.cdf(n_right - 1 - i)) / i for i in range(1, n_right + 1))
    return min(1.0, law.sf(n_right - 1) + 2 * n_coins * delta * steepest)


@pytest.mark.parametrize(
    ("n_coins", "n_guesses", "n_right", "epsilon", "delta", "p"),
    [(1000, 1000, 600, 0.2, 1e-5, 0.00102324), (500, 100, 90, 1.5, 1e-3, 0.0887450)],
)
def test_p_values_equal_the_published_ones(n_coins, n_guesses, n_right, epsilon, delta, p):
    assert p_value(n_coins, n_guesses, n_right, epsilon=epsilon, delta=delta) == pytest.approx(p, rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize(("n_guesses", "n_right"), [(1, 1), (7, 3), (60, 50), (600, 600), (2000, 1100)])
def test_p_values_equal_the_theorem_written_out(n_guesses, n_right, epsilon):
    for delta in (0.0, 1e-6, 1e-4):
        found = p_value(3000, n_guesses, n_right, epsilon=epsilon, delta=delta)
        assert found == pytest.approx(brute_force(3000, n_guesses, n_right, epsilon, delta), rel=1e-9)


def test_the_bound_is_where_the_p_value_crosses_alpha():
    for delta in (0.0, 1e-6, 1e-4):
        bound = lower_bound(1000, 500, 430, delta=delta, alpha=0.05)
        assert p_value(1000, 500, 430, epsilon=bound, delta=delta) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(("n", "ceiling"), [(200, 4.19), (1_000, 5.81), (10_000, 8.11), (100_000, 10.42)])
def test_the_ceiling_of_errorless_guesses(n, ceiling):
    assert lower_bound(n, n, n, delta=0.0, alpha=0.05) == pytest.approx(ceiling, abs=0.005)
    assert lower_bound(n, n, n, delta=0.0, alpha=0.05) == pytest.approx(-np.log(0.05 ** (-1 / n) - 1))


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
def test_how_many_errorless_guesses_an_epsilon_needs(epsilon, n, delta):
    slack = max(1, n // 1000)
    assert lower_bound(n + slack, n + slack, n + slack, delta=delta, alpha=0.05) >= epsilon
    assert lower_bound(n - slack, n - slack, n - slack, delta=delta, alpha=0.05) < epsilon


def test_delta_puts_a_ceiling_on_everything():
    ceilings = [lower_bound(n, n, n, delta=1e-5, alpha=0.05) for n in (3_000, 30_000, 100_000, 1_000_000)]
    assert max(ceilings) == pytest.approx(8.24, abs=0.01)
    assert ceilings[-1] < ceilings[1]


def test_no_guess_and_no_right_guess_give_zero():
    assert lower_bound(10, 0, 0, delta=0.0, alpha=0.05) == 0
    assert lower_bound(10, 10, 0, delta=0.0, alpha=0.05) == 0
    assert lower_bound(3, 3, 3, delta=0.0, alpha=0.05) == 0


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_bound_falls_with_alpha_and_with_delta(delta):
    bounds = [lower_bound(2000, 900, 700, delta=delta, alpha=alpha) for alpha in (0.2, 0.05, 0.01, 1e-4)]
    assert bounds == sorted(bounds, reverse=True)
    assert lower_bound(2000, 900, 700, delta=1e-4, alpha=0.05) < bounds[1]
