"""One run against a curve: against the recursion as published, and on releases whose truth is known."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from known_trials import SIGNED, gaussian, laplace, randomized_response, trials
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.referee.one_run_curve import (
    best_share,
    count_right,
    curve_rejected,
    gaussian_rejected,
    largest_rejected_mu,
    rejects_curve,
    symmetric_curve,
)
from leakgauge.theory import gdp, tradeoff


def stream_for(*key):
    return np.random.default_rng([20240501, *key])


def published(n_coins, n_guesses, n_right, least_fpr, alpha):
    """The recursion written down with an entry for every number of right guesses."""
    right, wrong = np.zeros(n_right + 1), np.zeros(n_right + 1)
    right[n_right] = alpha * n_right / n_coins
    wrong[n_right] = alpha * (n_guesses - n_right) / n_coins
    for i in range(n_right - 1, -1, -1):
        wrong[i] = max(wrong[i + 1], least_fpr(min(right[i + 1], 1.0)))
        right[i] = right[i + 1] + i / (n_guesses - i) * (wrong[i] - wrong[i + 1])
    return bool(right[0] + wrong[0] > n_guesses / n_coins)


@pytest.mark.parametrize(("n_guesses", "n_right"), [(50, 46), (250, 227), (500, 434), (500, 500), (900, 500)])
def test_gaussian_curves_are_rejected_as_published(n_guesses, n_right):
    mus = np.array([0.0, 0.05, 0.3, 0.55, 0.6, 0.65, 0.9, 2.0])
    expected = [
        published(1_000, n_guesses, n_right, lambda rate, mu=mu: norm.cdf(norm.ppf(rate) - mu), 0.05)
        for mu in mus
    ]
    assert gaussian_rejected(1_000, n_guesses, n_right, mus, 0.05).tolist() == expected
    assert expected[0] > expected[-1] or n_right == n_guesses == 500


@pytest.mark.parametrize(("n_guesses", "n_right"), [(50, 46), (250, 227), (500, 434), (500, 500)])
def test_polygon_and_formula_reject_the_same_gaussians(n_guesses, n_right):
    """The polygon is drawn outside the exact curve, so it is rejected a little later, never earlier."""
    mu = largest_rejected_mu(1_000, n_guesses, n_right, 0.05)
    assert curve_rejected(1_000, n_guesses, n_right, gdp.curve(0.998 * mu), 0.05)
    assert not curve_rejected(1_000, n_guesses, n_right, gdp.curve(1.0001 * mu), 0.05)


def fewest_right(n_coins, n_guesses, curve, alpha=0.05):
    """The fewest right guesses that contradict the curve; more than there are guesses if none do."""
    few, many = 0, n_guesses + 1
    while many - few > 1:
        middle = (few + many) // 2
        rejected = curve_rejected(n_coins, n_guesses, middle, curve, alpha)
        few, many = (few, middle) if rejected else (middle, many)
    return many


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [200, 1_000])
def test_randomized_response_is_rejected_rarely_and_half_of_it_often(epsilon, n):
    """Exact: right guesses are binomial."""
    rate = 1 / (1 + np.exp(-epsilon))
    claims = [tradeoff.curve(Guarantee(epsilon=claim)) for claim in (epsilon, epsilon / 2)]
    kept, broken = (binom.sf(fewest_right(n, n, claim) - 1, n, rate) for claim in claims)
    assert kept <= 0.05
    if epsilon >= 1 and n == 1_000:
        assert broken > 0.5


@pytest.mark.parametrize("chance", [0.02, 0.049, 0.06, 0.3])
def test_bits_that_are_all_shown_at_once_are_allowed_for(chance):
    """With this chance all bits are shown, else nothing: the curve is chance + (1 - chance) FPR.

    Guesses without an error contradict it where the chance is below alpha, and never where it is above.
    """
    curve = TradeoffCurve(np.array([0.0, 1.0]), np.array([chance, 1.0]))
    fewest = fewest_right(1_000, 1_000, curve)
    error = chance * (fewest <= 1_000) + (1 - chance) * binom.sf(fewest - 1, 1_000, 0.5)
    assert error <= 0.05
    assert (fewest <= 1_000) == (chance < 0.05)


def test_some_bits_shown_at_once_are_allowed_for():
    """Exact: 60 of 500 bits, drawn at random, are shown at once, each of them with chance delta."""
    epsilon, delta, n, shown = 0.5, 0.006, 500, 60
    rate, at_once = 1 / (1 + np.exp(-epsilon)), n * delta / shown
    fewest = fewest_right(n, n, tradeoff.curve(Guarantee(epsilon=epsilon, delta=delta)))
    kept = (1 - at_once) * binom.sf(fewest - 1, n, rate) + at_once * binom.sf(
        fewest - shown - 1, n - shown, rate
    )
    pure = fewest_right(n, n, tradeoff.curve(Guarantee(epsilon=epsilon)))
    ignored = (1 - at_once) * binom.sf(pure - 1, n, rate) + at_once * binom.sf(
        pure - shown - 1, n - shown, rate
    )
    assert kept <= 0.05 < ignored


def test_one_sided_evidence_is_allowed_for():
    """A non-member is revealed with chance .3, a member never: guesses "not a member" are then all right."""
    curve = TradeoffCurve(np.array([0.0, 0.7, 1.0]), np.array([0.0, 1.0, 1.0]))
    assert not curve_rejected(1_000, 150, 150, curve, 0.05)
    assert published(1_000, 150, 150, lambda rate: 0.7 * rate, 0.05)  # without the mirror image


def test_symmetric_curve_is_least_concave_one_above_both():
    lopsided = TradeoffCurve(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.9, 1.0]))
    both = symmetric_curve(lopsided)
    assert both.fpr.tolist() == pytest.approx([0, 0.1, 0.5, 1])
    assert both.tpr.tolist() == pytest.approx([0, 0.5, 0.9, 1])
    same = symmetric_curve(gdp.curve(1.0))
    rates = np.linspace(0, 1, 301)
    assert np.interp(rates, same.fpr, same.tpr) == pytest.approx(
        tradeoff.max_tpr(rates, gdp.curve(1.0)), abs=1e-12
    )


@pytest.mark.parametrize(("epsilon", "power"), [(4.0, 2.4), (8.0, 4.6)])
def test_epsilon_through_gaussian_family(epsilon, power):
    """5,000 ideal canaries in one run, delta 1e-5, one share from the claim: median over 40 runs."""
    rng, mu = stream_for(1, int(epsilon)), gdp.mu_for(epsilon, 1e-5)
    share = best_share(gdp.curve(mu), 5_000, 0.05)
    assert 0.05 <= share <= 0.15
    mus = []
    for _ in range(40):
        one = gaussian(1 / mu, 5_000, rng)
        mus.append(largest_rejected_mu(5_000, *count_right(one, share), 0.05))
    assert gdp.epsilon_at(float(np.median(mus)), 1e-5) >= power
    assert max(mus) < mu


def test_best_share_depends_on_the_curve():
    shares = [best_share(gdp.curve(gdp.mu_for(epsilon, 1e-5)), 5_000, 0.05) for epsilon in (0.5, 4.0)]
    assert shares[0] > shares[1]
    assert best_share(tradeoff.curve(Guarantee(epsilon=1.0)), 5_000, 0.05) == 1


@pytest.mark.parametrize("n_targets", [1, 500])
def test_true_curve_is_rarely_rejected_and_smaller_one_often(n_targets):
    rng, curve, half = stream_for(2, n_targets), gdp.curve(1.0), gdp.curve(0.5)
    found = []
    for _ in range(100):
        one = gaussian(1.0, 2_000, rng)
        rows = trials(one.members, one.scores, SIGNED, n_targets=n_targets)
        found.append([rejects_curve(rows, curve, 0.05), rejects_curve(rows, half, 0.05)])
    kept, broken = np.mean(found, axis=0)
    assert kept <= 0.05
    assert broken > 0.9


@pytest.mark.parametrize("make", [laplace, randomized_response])
def test_pure_curves_reject_too(make):
    rows = make(2.0, 2_000, stream_for(3))
    assert rejects_curve(rows, tradeoff.curve(Guarantee(epsilon=1.0)), 0.05)
    assert not rejects_curve(rows, tradeoff.curve(Guarantee(epsilon=2.0)), 0.05)


def test_more_right_guesses_and_larger_alpha_reject_more():
    by_right = [largest_rejected_mu(1_000, 100, right, 0.05) for right in range(40, 101, 10)]
    assert by_right == sorted(by_right)
    assert by_right[0] == 0 < by_right[-1]
    by_alpha = [largest_rejected_mu(1_000, 100, 90, alpha) for alpha in (1e-4, 0.01, 0.05, 0.2)]
    assert by_alpha == sorted(by_alpha)


def test_scores_without_evidence_reject_nothing():
    constant = trials(np.arange(500) < 250, np.full(500, 0.7))
    assert not rejects_curve(constant, gdp.curve(0.1), 0.05)
