"""Bounds of certificates against published numbers, other libraries and simulations whose truth is known."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from leakgauge.core.errors import BadInput
from leakgauge.theory.hoeffding_certificate import (
    ActivationRate,
    BoundedMean,
    certificate_holds,
    hoeffding_half_width,
    smallest_certified_error,
    success_bound,
    success_bound_dependent,
)


@pytest.mark.parametrize(("n", "expected"), [(4_000, 0.048), (19_867, 0.0215), (50_000, 0.0136)])
def test_half_widths_match_paper(n, expected):
    assert hoeffding_half_width(n, 1e-8) == pytest.approx(expected, abs=0.00005)


def test_bounds_of_mean_match_equations_9_and_10():
    mean = BoundedMean(value=0.5, n=200, width=3.0)
    away = 3.0 * math.sqrt(math.log(100) / 400)
    assert mean.low(0.01) == pytest.approx(0.5 - away)
    assert mean.high(0.01) == pytest.approx(0.5 + away)


def test_mean_without_known_range_has_no_bounds():
    mean = BoundedMean(value=5.0, n=10**6, width=math.inf)
    assert (mean.low(0.1), mean.high(0.1)) == (-math.inf, math.inf)
    assert smallest_certified_error(mean, BoundedMean(value=-1.0, n=10, width=1.0)) is None


@pytest.mark.parametrize(
    ("n", "mean", "width", "law"),
    [
        (40, 0.5, 1.0, lambda rng, size: rng.integers(2, size=size)),
        (40, 0.0, 4.0, lambda rng, size: rng.uniform(-2, 2, size)),
        (15, 1 / 3, 1.0, lambda rng, size: rng.beta(1, 2, size)),
    ],
)
@pytest.mark.parametrize("error", [0.2, 0.01])
def test_mean_bound_covers_at_nominal_rate(n, mean, width, law, error):
    drawn = law(np.random.default_rng(3), (20_000, n)).mean(axis=1)
    away = width * hoeffding_half_width(n, error)
    assert np.mean(drawn - away > mean) <= error
    assert np.mean(drawn + away < mean) <= error


def test_observed_range_would_invalidate_the_bound():
    """One draw in 200 is large: mostly none of ten is seen, and the observed range is zero."""
    rng = np.random.default_rng(3)
    drawn = (rng.random((5_000, 10)) < 0.005).astype(float)
    observed = drawn.max(axis=1) - drawn.min(axis=1)
    high = drawn.mean(axis=1) + observed * hoeffding_half_width(10, 0.05)
    assert np.mean(high < 0.005) > 0.9
    assert np.mean(drawn.mean(axis=1) + hoeffding_half_width(10, 0.05) < 0.005) == 0


@pytest.mark.parametrize("rates", [[0.02] * 60, [0.5] * 60, [0.0] * 40 + [0.3] * 20, [0.9] * 30 + [1.0] * 30])
@pytest.mark.parametrize("error", [0.25, 0.01])
def test_rate_bound_covers_at_nominal_rate(rates, error):
    """Also where rows differ: some are never mistaken for the target, others often."""
    truth, n = float(np.mean(rates)), len(rates)
    hits = (np.random.default_rng(5).random((20_000, n)) < rates).sum(axis=1)
    bounds = [ActivationRate(hits=count, n=n) for count in range(n + 1)]
    spare = 3 * math.sqrt(error / 20_000)  # the simulation's own
    for low in ("low", "exact_low"):
        wrong = np.array([getattr(bound, low)(error) > truth + 1e-12 for bound in bounds])
        assert wrong[hits].mean() <= error + spare
    for high in ("high", "exact_high"):
        wrong = np.array([getattr(bound, high)(error) < truth - 1e-12 for bound in bounds])
        assert wrong[hits].mean() <= error + spare


@pytest.mark.parametrize(("hits", "n"), [(0, 50), (1, 50), (25, 50), (50, 50), (3_990, 4_000)])
def test_exact_bounds_match_clopper_and_pearson(hits, n):
    rate = ActivationRate(hits=hits, n=n)
    theirs = binomtest(hits, n).proportion_ci(0.98, method="exact")
    assert rate.exact_low(0.01) == pytest.approx(theirs.low, rel=1e-9, abs=1e-12)
    assert rate.exact_high(0.01) == pytest.approx(theirs.high, rel=1e-9)
    assert rate.low(0.01) <= rate.exact_low(0.01)
    assert rate.exact_high(0.01) <= rate.high(0.01)


def test_exact_rate_bound_solves_its_tail():
    rate = ActivationRate(hits=7, n=6_000)
    assert binom.cdf(7, 6_000, rate.exact_high(1e-8)) == pytest.approx(1e-8, rel=1e-6)
    assert binom.sf(6, 6_000, rate.exact_low(1e-8)) == pytest.approx(1e-8, rel=1e-6)


def test_bounds_are_not_vacuous():
    active, silent = ActivationRate(hits=4_000, n=4_000), ActivationRate(hits=0, n=6_000)
    assert active.low(1e-8) == pytest.approx(1 - 0.04799, abs=1e-5)
    assert active.exact_low(1e-8) == pytest.approx(10 ** (-8 / 4_000))
    assert silent.exact_high(1e-8) == pytest.approx(1 - 10 ** (-8 / 6_000))
    assert success_bound(active.exact_low(1e-8), silent.exact_high(1e-8), 100) > 0.86


@pytest.mark.parametrize(("own", "others"), [(0.3, -0.4), (1.0, -0.1)])
def test_theorem_1_holds_above_smallest_error(own, others):
    one, other = BoundedMean(value=own, n=50, width=2.0), BoundedMean(value=others, n=90, width=2.0)
    error = smallest_certified_error(one, other)
    assert error == pytest.approx(max(math.exp(-100 * (own / 2) ** 2), math.exp(-180 * (others / 2) ** 2)))
    assert certificate_holds(one, other, error * 1.0001)
    assert not certificate_holds(one, other, error * 0.9999)


@pytest.mark.parametrize(("own", "others"), [(-0.1, -1.0), (0.0, -1.0), (1.0, 0.1), (1.0, 0.0)])
def test_theorem_1_fails_for_wrong_sign(own, others):
    one, other = BoundedMean(value=own, n=50, width=2.0), BoundedMean(value=others, n=90, width=2.0)
    assert smallest_certified_error(one, other) is None
    assert not certificate_holds(one, other, 0.999)


def test_smallest_error_is_never_zero():
    far = {"n": 10**9, "width": 1.0}
    assert (
        0 < smallest_certified_error(BoundedMean(value=0.9, **far), BoundedMean(value=-0.9, **far)) < 1e-300
    )


@pytest.mark.parametrize("n_others", [1, 20, 100])
def test_implied_success_matches_simulation(n_others):
    rng, tpr, fpr = np.random.default_rng(2), 0.9, 0.01
    members = rng.random(100_000) < tpr
    others = (rng.random((100_000, n_others)) < fpr).any(axis=1)
    assert success_bound(tpr, fpr, n_others) == pytest.approx(
        (members.mean() + (~others).mean()) / 2, abs=0.005
    )
    assert success_bound_dependent(tpr, fpr, n_others) <= success_bound(tpr, fpr, n_others)


def test_disjoint_activations_reach_the_union_bound():
    """At most one of ten rows is active, with probability 0.1 in all: as far from independent as can be."""
    assert success_bound_dependent(1.0, 0.01, 10) == pytest.approx((1 + 0.9) / 2)
    assert success_bound_dependent(1.0, 0.01, 10) < success_bound(1.0, 0.01, 10)


def test_target_in_half_of_batches_is_found_half_as_often():
    assert success_bound(0.8, 0.0, 10, present=0.5) == pytest.approx((0.4 + 1) / 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: hoeffding_half_width(0, 0.1),
        lambda: hoeffding_half_width(10, 0.0),
        lambda: hoeffding_half_width(10, 1.0),
        lambda: hoeffding_half_width(10, math.nan),
        lambda: BoundedMean(value=math.nan, n=5, width=1.0),
        lambda: BoundedMean(value=0.0, n=5, width=math.nan),
        lambda: ActivationRate(hits=6, n=5),
        lambda: ActivationRate(hits=0, n=0),
        lambda: ActivationRate(hits=5, n=10).exact_low(2.0),
    ],
)
def test_rejects_invalid_bounds(wrong):
    with pytest.raises(BadInput):
        wrong()
