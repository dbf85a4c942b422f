"""Delta in independent rounds: exact against the release that shows its bit with probability delta."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from leakgauge.referee.one_run import one_run_lower_bound, one_run_p_value
from leakgauge.referee.one_run_delta import (
    any_count_lower_bound,
    fixed_count_lower_bound,
    fixed_count_p_value,
)


def rate(epsilon):
    return np.exp(epsilon) / (1 + np.exp(epsilon))


@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize("n_guesses", [1, 3, 5])
def test_p_value_equals_enumeration_of_all_releases(n_guesses, delta):
    """Five rounds; the attacker sees which bits are shown and guesses on these first."""
    epsilon, n = 0.7, 5
    chance = np.zeros(n + 1)
    for shown in product([True, False], repeat=n):
        order = np.argsort(~np.array(shown), kind="stable")[:n_guesses]
        for honest in product([True, False], repeat=n):
            weight = np.prod([delta if one else 1 - delta for one in shown])
            weight *= np.prod([rate(epsilon) if one else 1 - rate(epsilon) for one in honest])
            chance[sum(shown[i] or honest[i] for i in order)] += weight
    for n_right in range(n_guesses + 1):
        found = fixed_count_p_value(n, n_guesses, n_right, epsilon=epsilon, delta=delta)
        assert found == pytest.approx(chance[n_right:].sum(), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "n_guesses", "n_right"), [(400, 400, 260), (3_000, 60, 55), (10**6, 5_000, 3_900)]
)
@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.05])
def test_p_value_equals_sum_over_shown_bits(n, n_guesses, n_right, delta):
    shown = np.arange(int(binom.ppf(1e-14, n, delta)), int(binom.isf(1e-14, n, delta)) + 1)
    sure = np.minimum(shown, n_guesses)
    tails = binom.sf(n_right - sure - 1, n_guesses - sure, rate(0.4))
    expected = float(binom.pmf(shown, n, delta) @ tails)
    found = fixed_count_p_value(n, n_guesses, n_right, epsilon=0.4, delta=delta)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("bound", [fixed_count_lower_bound, any_count_lower_bound])
def test_delta_zero_gives_the_pure_bound(bound):
    for counts in [(100, 100, 80), (1_000, 50, 50), (1_000, 50, 20), (10, 3, 0)]:
        assert bound(*counts, delta=0.0, alpha=0.03) == one_run_lower_bound(*counts, delta=0.0, alpha=0.03)
        assert bound(*counts, delta=1e-12, alpha=0.03) == pytest.approx(
            one_run_lower_bound(*counts, delta=0.0, alpha=0.03), abs=1e-6
        )


@pytest.mark.parametrize("bound", [fixed_count_lower_bound, any_count_lower_bound])
def test_bound_falls_as_delta_grows_and_as_alpha_falls(bound):
    by_delta = [bound(2_000, 900, 700, delta=delta, alpha=0.05) for delta in (0.0, 1e-3, 0.01, 0.1, 0.9)]
    by_alpha = [bound(2_000, 900, 700, delta=1e-3, alpha=alpha) for alpha in (0.2, 0.05, 0.01, 1e-4)]
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_delta[0] > by_delta[-1] == 0
    assert by_alpha == sorted(by_alpha, reverse=True)


def test_bound_is_where_p_value_crosses_alpha():
    found = fixed_count_lower_bound(1_000, 500, 430, delta=0.02, alpha=0.05)
    assert fixed_count_p_value(1_000, 500, 430, epsilon=found, delta=0.02) == pytest.approx(0.05, abs=1e-6)


def test_independent_rounds_lose_less_than_shared_ones():
    for delta in (1e-5, 1e-3):
        counts = (5_000, 2_000, 1_500)
        exact = fixed_count_p_value(*counts, epsilon=0.9, delta=delta)
        assert exact < one_run_p_value(*counts, epsilon=0.9, delta=delta)


def rejection_by_shown(bound, n, epsilon, delta, alpha):
    """For each number of shown bits (rows) and of guesses (columns): the chance of a bound above epsilon.

    The attacker guesses on shown bits first. Exact: no simulation.
    """
    counts = np.arange(1, n + 1)
    fewest = [  # the fewest right guesses that refute epsilon
        next(
            (
                right
                for right in range(r // 2, r + 1)
                if bound(n, r, right, delta=delta, alpha=alpha) > epsilon
            ),
            r + 1,
        )
        for r in counts.tolist()
    ]
    sure = np.minimum(np.arange(n + 1)[:, None], counts[None, :])
    return binom.sf(np.array(fewest)[None, :] - sure - 1, counts[None, :] - sure, rate(epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.02), (1.0, 0.1)])
def test_no_attacker_exceeds_alpha(epsilon, delta):
    """A fixed number of guesses may use the sharper bound; one chosen after the bits were shown may not."""
    n, alpha = 60, 0.05
    shown = binom.pmf(np.arange(n + 1), n, delta)
    fixed = rejection_by_shown(fixed_count_lower_bound, n, epsilon, delta, alpha)
    free = rejection_by_shown(any_count_lower_bound, n, epsilon, delta, alpha)
    assert (shown @ fixed).max() <= alpha
    assert (shown @ fixed).max() > 0.8 * alpha  # tight for some number of guesses
    assert shown @ free.max(axis=1) <= alpha
    assert shown @ fixed.max(axis=1) > alpha
    pure = rejection_by_shown(
        lambda *counts, delta, alpha: one_run_lower_bound(*counts, delta=0.0, alpha=alpha),
        n,
        epsilon,
        delta,
        alpha,
    )
    assert shown @ pure.max(axis=1) > alpha


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_errorless_guesses_reach_nearly_the_pure_bound(delta):
    pure = one_run_lower_bound(5_000, 5_000, 5_000, delta=0.0, alpha=0.05)
    for bound in (fixed_count_lower_bound, any_count_lower_bound):
        assert pure - 0.1 < bound(5_000, 5_000, 5_000, delta=delta, alpha=0.05) < pure
