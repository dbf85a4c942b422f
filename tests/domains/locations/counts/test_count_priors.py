import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.count_priors import (
    CountPrior,
    count_bulk,
    count_window,
    log_convolve,
    log_masses,
    log_mix,
    log_sum,
    round_shapes,
    shifted_rows,
)
from strategies.direct_summation import log_masses as every_log_mass


def test_mixture_is_sum_over_counts():
    rng = np.random.default_rng(1)
    weights, law = rng.normal(size=(4, 9)), rng.normal(size=(9, 6))
    expected = logsumexp(weights[:, :, None] + law[None], axis=1)
    np.testing.assert_allclose(log_mix(weights, law), expected, atol=1e-12)


def test_mixture_is_exact_below_float_range():
    """The weights die where the law lives: every product is below the smallest float."""
    counts = np.arange(60.0)
    weights, law = (
        -40.0 * counts[None] ** 1.5,
        -30.0 * np.abs(counts[:, None] - np.array([0.0, 55.0, 2000.0])),
    )
    found = log_mix(weights, law)[0]
    with mpmath.workdps(50):
        for x, value in enumerate(found):
            exact = mpmath.log(
                mpmath.fsum(mpmath.exp(w + k) for w, k in zip(weights[0], law[:, x], strict=True))
            )
            assert value == pytest.approx(float(exact), rel=1e-12)


def test_impossible_counts_stay_impossible():
    weights = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    law = np.array([[-np.inf, 1.0], [3.0, -np.inf]])
    np.testing.assert_array_equal(log_mix(weights, law), [[-np.inf, 1.0], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(log_sum(np.full((2, 3), -np.inf)), [-np.inf, -np.inf])


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_shift_invariant_distribution_matches_matrix(scale):
    rng = np.random.default_rng(2)
    weights, values = scale * rng.normal(size=(3, 8)), scale * rng.normal(size=20)
    law = np.array([[values[7 - c + x] for x in range(13)] for c in range(8)])
    np.testing.assert_array_equal(shifted_rows(values, 8), law)
    expected = logsumexp(weights[:, :, None] + law[None], axis=1)
    np.testing.assert_allclose(log_convolve(weights, values), expected, rtol=1e-12)


NOBODY = np.zeros(2, dtype=np.int64)


@pytest.mark.parametrize("where", [0, 3, 8, 11])
def test_distribution_without_noise_moves_the_counts(where):
    weights = np.random.default_rng(2).normal(size=(3, 9))
    values = np.full(12, -np.inf)
    values[where] = -0.5
    with np.errstate(divide="ignore"):
        expected = np.log(np.exp(weights) @ np.exp(shifted_rows(values, 9)))
    np.testing.assert_allclose(log_convolve(weights, values), expected, atol=1e-12)


@pytest.mark.parametrize("coins", [0, 1, 7, 80])
@pytest.mark.parametrize("counts", [range(131), range(5), range(40, 60), range(125, 131)], ids=str)
def test_masses_are_binomial(coins, counts):
    rates = np.array([0.0, 1e-7, 0.02, 0.5, 0.97, 1.0])
    found = log_masses(50, rates, coins, counts)
    for row, rate in zip(found, rates, strict=True):
        expected = np.append(every_log_mass(50, rate, coins), np.full(81, -np.inf))[list(counts)]
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-9)


def test_masses_of_large_groups_keep_precision():
    n, rate, counts = 100_000, 0.03, range(2500, 3500)
    expected = binom.logpmf(list(counts), n, rate)
    np.testing.assert_allclose(log_masses(n, np.array([rate]), 0, counts)[0], expected, atol=1e-8)


@pytest.mark.parametrize("shape", [0.1, 1.0, 7.5, 400.0])
@pytest.mark.parametrize("coins", [0, 3])
def test_masses_with_estimated_rates_are_beta_binomial(coins, shape):
    rates, counts = np.array([0.0, 1e-6, 0.02, 0.5, 0.97, 1.0]), range(2, 60)
    found = log_masses(50, rates, coins, counts, shape)
    for row, rate in zip(found, rates, strict=True):
        own = shape if 0 < rate < 1 else np.inf
        expected = np.append(every_log_mass(50, rate, coins, own), np.full(9, -np.inf))[2:60]
        np.testing.assert_allclose(row, expected, rtol=2e-8, atol=1e-5)  # of SciPy's betaln


def test_beta_binomial_masses_of_large_groups_keep_precision():
    """By rising factorials in 40 digits: B(c + a, n - c + b) / B(a, b) times the ways."""
    n, rate, shape, counts = 200_000, 1e-6, 3.0, [0, 1, 2, 5]
    found = log_masses(n, np.array([rate]), 0, range(6), shape)[0]
    with mpmath.workdps(40):
        a = mpmath.mpf(shape)
        b = a * (1 - mpmath.mpf(rate)) / mpmath.mpf(rate)
        for c in counts:
            exact = mpmath.log(mpmath.binomial(n, c) * mpmath.beta(c + a, n - c + b) / mpmath.beta(a, b))
            assert found[c] == pytest.approx(float(exact), abs=1e-7)


def test_large_shapes_are_binomial():
    rates = np.array([0.003, 0.2])
    found, exact = (log_masses(300, rates, 0, range(40), shape) for shape in (1e5, np.inf))
    np.testing.assert_allclose(np.exp(found), np.exp(exact), atol=1e-3)


@pytest.mark.parametrize("tail", [10.0, 30.0])
@pytest.mark.parametrize("shape", [0.2, 1.0, 20.0, 1e4])
@pytest.mark.parametrize(("n", "rate", "coins"), [(1000, 0.01, 0), (50, 0.5, 4), (10_000, 1e-5, 0)])
def test_bulk_window_holds_all_but_the_tail_of_beta_binomial_counts(n, rate, coins, shape, tail):
    found = count_bulk(n, rate, coins, tail=tail, shape=shape)
    masses, counts = np.exp(every_log_mass(n, rate, coins, shape)), np.arange(n + coins + 1)
    assert masses[counts > found.stop].sum() <= 2 * np.exp(-tail)
    assert masses[counts < found.start].sum() <= 2 * np.exp(-tail)


@pytest.mark.parametrize("output", [-60, 0, 5, 90, 380])
@pytest.mark.parametrize("shape", [0.5, 30.0])
def test_beta_binomial_counts_outside_window_do_not_matter(shape, output):
    n, rate, slope = 400, 0.02, 0.5
    counts = count_window(n, rate, rate, 0, slope, (output, output), shape)
    terms = every_log_mass(n, rate, 0, shape) - slope * np.abs(output - np.arange(n + 1))
    weights = np.exp(terms - terms.max())
    assert weights[counts.start : counts.stop].sum() >= (1 - 1e-14) * weights.sum()


def test_rounded_shapes_are_near():
    shapes = np.geomspace(0.01, 9e4, 1000)
    np.testing.assert_allclose(round_shapes(shapes), shapes, rtol=0.026)
    assert np.unique(round_shapes(shapes)).size < 330


@pytest.mark.parametrize("tail", [10.0, 30.0])
@pytest.mark.parametrize(
    ("n", "rate", "coins"), [(1000, 0.01, 0), (50, 0.5, 4), (10_000, 1e-5, 0), (300, 0.99, 30)]
)
def test_bulk_window_holds_all_but_the_tail(n, rate, coins, tail):
    found = count_bulk(n, rate, coins, tail=tail)
    masses, counts = np.exp(every_log_mass(n, rate, coins)), np.arange(n + coins + 1)
    assert masses[counts > found.stop].sum() <= np.exp(-tail)
    assert masses[counts < found.start].sum() <= np.exp(-tail)


def test_tilted_bulk_window_matches_tilted_distribution():
    n, rate, coins, tilt = 400, 0.05, 6, 1.3
    logs = every_log_mass(n, rate, coins) + tilt * np.arange(n + coins + 1)
    masses = np.exp(logs - logs.max())
    masses /= masses.sum()
    found = count_bulk(n, rate, coins, tilt=tilt, tail=25.0)
    inside = (np.arange(masses.size) >= found.start) & (np.arange(masses.size) <= found.stop)
    assert masses[~inside].sum() <= 2 * np.exp(-25.0)
    mean = masses @ np.arange(masses.size)
    assert (found.start + found.stop) / 2 == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("slope", [0.01, 0.5, 4.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("output", [-60, 0, 5, 90, 380, 700])
def test_counts_outside_window_do_not_matter(rate, slope, output):
    n = 400
    counts = count_window(n, rate, rate, 0, slope, (output, output))
    terms = every_log_mass(n, rate, 0) - slope * np.abs(output - np.arange(n + 1))
    weights = np.exp(terms - terms.max())
    assert weights[counts.start : counts.stop].sum() >= (1 - 1e-14) * weights.sum()
    steepest = count_window(n, rate, rate, 0, np.inf, (output, output))
    assert weights[steepest.start : steepest.stop].sum() >= (1 - 1e-14) * weights.sum()


def test_weak_noise_needs_few_counts():
    assert len(count_window(100_000, 0.001, 0.001, 0, 0.01, (-5000.0, 5000.0))) < 600


def test_prior_reports_whether_counts_are_known():
    assert CountPrior(np.array([0.3, 0.1]), 0, 0, NOBODY).sure
    assert not CountPrior(np.array([0.3, 0.1]), 0, 1, NOBODY).sure
    assert not CountPrior(np.array([0.3, 0.1]), 0, 0, np.array([0, 1])).sure
    assert CountPrior(np.full((5, 2), 0.1), 3, 3, NOBODY).per_round


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan])
def test_rejects_rates_outside_unit_interval(rate):
    with pytest.raises(BadInput, match=r"must be in \[0, 1\], got"):
        CountPrior(np.array([0.5, rate]), 1, 1, NOBODY)


@pytest.mark.parametrize(("n_in", "n_out"), [(-1, 3), (4, 3)])
def test_rejects_smaller_group_without_target(n_in, n_out):
    with pytest.raises(BadInput, match="as large without the target"):
        CountPrior(np.array([0.5, 0.1]), n_in, n_out, NOBODY)


@pytest.mark.parametrize("coins", [np.zeros(3, dtype=np.int64), np.array([-1, 0])])
def test_rejects_invalid_coins(coins):
    with pytest.raises(BadInput, match="for each of 2 cells"):
        CountPrior(np.array([0.5, 0.1]), 1, 1, coins)


@pytest.mark.parametrize(
    "shapes", [np.ones(3), np.array([0.0, 1.0]), np.array([np.nan, 1.0]), np.ones((4, 2))]
)
def test_rejects_invalid_shapes(shapes):
    with pytest.raises(BadInput, match="shapes needs a number > 0 for each of 2 cells"):
        CountPrior(np.array([0.5, 0.1]), 1, 1, NOBODY, shapes)
