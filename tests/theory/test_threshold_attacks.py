"""Threshold attacks of Liu et al.: the informed attacker, unknown counts, and votes of cells."""

import math
from itertools import combinations, product

import mpmath
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory.threshold_attacks import (
    cell_error_gaussian,
    cell_error_laplace,
    chance_of_votes,
    count_law,
    group_variance,
    laplace_sum_above,
    least_votes,
    one_threshold,
    one_threshold_as_printed,
    one_threshold_clt,
    one_threshold_laplace,
    poisson_binomial,
    predicted_variance,
    threshold_at_fpr,
    two_threshold,
    two_threshold_clt,
    vote_accuracy,
    vote_accuracy_clt,
    vote_chances,
    vote_midpoint,
)

SIGMA = math.sqrt(2 * math.log(1.25 * 2 * 1999)) / 0.5

# Computed twice elsewhere (inversion of the characteristic function, Fourier convolution) and simulated:
# cells, sum and vote under Laplace noise of scale 2, sum and vote under Gaussian noise of sigma 8.2543.
TABLE = [
    (1, 0.6106, 0.6106, 0.5241, 0.5241),
    (5, 0.6648, 0.7007, 0.5539, 0.5452),
    (10, 0.7185, 0.7552, 0.5759, 0.5592),
    (20, 0.7888, 0.8387, 0.6068, 0.5845),
    (40, 0.8695, 0.9204, 0.6492, 0.6193),
    (60, 0.9150, 0.9580, 0.6805, 0.6453),
    (80, 0.9432, 0.9771, 0.7060, 0.6667),
    (100, 0.9614, 0.9873, 0.7277, 0.6851),
    (120, 0.9735, 0.9928, 0.7465, 0.7014),
    (140, 0.9817, 0.9959, 0.7632, 0.7159),
]


@pytest.fixture
def rng():
    return np.random.default_rng(20240501)


@pytest.mark.parametrize(("n", "laplace_sum", "laplace_vote", "gaussian_sum", "gaussian_vote"), TABLE)
def test_accuracies_match_known_table(n, laplace_sum, laplace_vote, gaussian_sum, gaussian_vote):
    assert abs(one_threshold_laplace(n, 0.5) - laplace_sum) < 6e-5
    assert abs(two_threshold(n, cell_error_laplace(0.5)) - laplace_vote) < 6e-5
    assert abs(one_threshold_clt(n, 1 / SIGMA) - gaussian_sum) < 6e-5
    assert abs(two_threshold(n, cell_error_gaussian(1 / SIGMA)) - gaussian_vote) < 6e-5


@pytest.mark.parametrize(("n", "x"), [(2, 0.5), (3, 4.0), (8, 2.0), (25, 6.25)])
def test_laplace_sum_matches_characteristic_function(n, x):
    mpmath.mp.dps = 30
    inverted = mpmath.quad(
        lambda t: mpmath.sin(t * x) / (t * (1 + t * t) ** n),
        [*mpmath.linspace(0, 8, 9), 40, 1000, mpmath.inf],
    )
    assert abs(laplace_sum_above(x, n) - float(mpmath.mpf(1) / 2 - inverted / mpmath.pi)) < 1e-9


def test_one_and_two_laplace_variables_match_closed_form():
    for x in (0.0, 0.7, 3.0):
        assert laplace_sum_above(x, 1) == pytest.approx(math.exp(-x) / 2, rel=1e-13)
        assert laplace_sum_above(x, 2) == pytest.approx((2 + x) * math.exp(-x) / 4, rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 31, 60])
@pytest.mark.parametrize("error", [0.05, 0.3894, 0.5])
def test_vote_accuracy_matches_direct_sum(n, error):
    """Against the plain sum over counts, ties given to members as in equation 10, and to non-members."""

    def chance(hits, p):
        return math.comb(n, hits) * p**hits * (1 - p) ** (n - hits)

    for least in (math.ceil(n / 2), n // 2 + 1):
        tpr = sum(chance(hits, 1 - error) for hits in range(least, n + 1))
        fpr = sum(chance(hits, error) for hits in range(least, n + 1))
        assert two_threshold(n, error) == pytest.approx((1 + tpr - fpr) / 2, abs=1e-12)


def test_error_of_one_cell_matches_distribution():
    rng = np.random.default_rng(20240501)
    noise = rng.laplace(scale=2.0, size=400_000)
    assert abs((noise >= 0.5).mean() - cell_error_laplace(0.5)) < 4 * math.sqrt(0.24 / 400_000)
    assert abs((1 + noise < 0.5).mean() - cell_error_laplace(0.5)) < 4 * math.sqrt(0.24 / 400_000)
    noise = rng.normal(scale=2.0, size=400_000)
    assert abs((1 + noise < 0.5).mean() - cell_error_gaussian(0.5)) < 4 * math.sqrt(0.25 / 400_000)


def test_approximations_match_paper():
    error = cell_error_laplace(0.5)
    known = [(1, 0.590), (5, 0.694), (20, 0.845), (60, 0.9605), (100, 0.988), (140, 0.996)]
    for n, rate in known:
        assert abs(two_threshold_clt(n, error) - rate) < 6e-4
    assert one_threshold_clt(60, 0.5 / math.sqrt(2)) == pytest.approx(0.9145, abs=1e-4)
    assert one_threshold_as_printed([1, 60], 0.5 / math.sqrt(2)).tolist() == pytest.approx(
        [0.570] * 2, abs=2e-4
    )


def test_normal_approximation_converges():
    assert one_threshold_laplace(2000, 0.05) == pytest.approx(
        float(one_threshold_clt(2000, 0.05 / math.sqrt(2))), abs=2e-4
    )


def test_handles_many_cells():
    rates = one_threshold_laplace(np.arange(1, 400), 0.5)
    assert (np.diff(rates) > 0).all()
    assert abs(rates[-1] - math.erfc(-math.sqrt(399) / 8) / 2) < 2e-5


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, math.inf])
def test_rejects_invalid_number_of_cells(n):
    for rate in (one_threshold_laplace, one_threshold_clt, one_threshold_as_printed):
        with pytest.raises(BadInput, match="number of cells"):
            rate(n, 0.5)
    for rate in (two_threshold, two_threshold_clt):
        with pytest.raises(BadInput, match="number of cells"):
            rate(n, 0.4)


def test_rejects_invalid_scale_or_error():
    for ratio in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(BadInput, match="ratio"):
            one_threshold_laplace(1, ratio)
        with pytest.raises(BadInput, match="ratio"):
            cell_error_gaussian(ratio)
    for error in (0.0, 0.51, math.nan):
        with pytest.raises(BadInput, match="error of a cell"):
            two_threshold(1, error)
    with pytest.raises(BadInput, match="finite"):
        laplace_sum_above(-1.0, 3)


# -- unknown counts ------------------------------------------------------------


def laplace_at_least(x, scale=2.0):
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x >= 0, tail, 1 - tail)


def test_group_variance_matches_enumeration():
    adds = np.array([0.0, 1.0, 1.0, 3.0, 0.0, 2.0])
    for n in (1, 3, 6):
        sums = [sum(group) for group in combinations(adds, n)]
        assert group_variance(n, adds.var(), population=6) == pytest.approx(np.var(sums), abs=1e-12)


def test_joint_visits_increase_variance_of_sum(rng):
    visits = np.zeros((200, 10))
    visits[:20] = 1.0  # the same people everywhere
    sums = [visits[rng.choice(200, 50, replace=False)].sum() for _ in range(20_000)]
    right = group_variance(50, visits.sum(axis=1).var(), population=200)
    apart = 10 * group_variance(50, 0.1 * 0.9, population=200)
    assert np.var(sums) == pytest.approx(right, rel=0.05)
    assert right == pytest.approx(10 * apart)


def test_sampling_error_of_reference_is_included(rng):
    adds = rng.exponential(size=1_000_000)
    errors = [
        adds[(people := rng.integers(adds.size, size=450))[:150]].sum() - 150 * adds[people[150:]].mean()
        for _ in range(20_000)
    ]
    assert np.var(errors) == pytest.approx(predicted_variance(150, adds.var(), 300), rel=0.05)


def test_informed_attacker_is_a_special_case():
    for n in (1, 20, 60):
        informed = float(one_threshold_clt(n, 0.5 / math.sqrt(2)))
        assert one_threshold(n, n * 2 * 2.0**2) == pytest.approx(informed, abs=1e-14)
    alarm, hit = vote_chances(np.ones(1), laplace_at_least)
    assert alarm == pytest.approx(cell_error_laplace(0.5))
    assert hit == pytest.approx(1 - cell_error_laplace(0.5))


def test_figure_7_matches_known_accuracies():
    """2,000 of 10,000 people, 1 % of whom visit each of 60 cells; Laplace noise of scale 2."""
    variance = 60 * (group_variance(2_000, 0.01 * 0.99, population=10_000) + 8)
    assert one_threshold(60, variance) == pytest.approx(0.786, abs=0.001)
    alarm, hit = vote_chances(count_law(2_000, 0.01, population=10_000), laplace_at_least)
    assert vote_accuracy([alarm] * 60, [hit] * 60) == pytest.approx(0.745, abs=0.002)
    assert vote_accuracy_clt([alarm] * 60, [hit] * 60) == pytest.approx(0.745, abs=0.003)


def test_figure_7_matches_simulation(rng):
    counts = rng.hypergeometric(100, 9_900, 2_000, size=(40_000, 60))
    members = np.arange(40_000) % 2 == 1
    left = counts + members[:, None] + rng.laplace(scale=2.0, size=counts.shape)
    says = {"one": left.sum(axis=1) >= 60 * 20.5, "two": (left >= 20.5).sum(axis=1)}
    variance = 60 * (group_variance(2_000, 0.01 * 0.99, population=10_000) + 8)
    alarm, hit = vote_chances(count_law(2_000, 0.01, population=10_000), laplace_at_least)
    chances = [alarm] * 60, [hit] * 60
    least = vote_midpoint(*chances)
    for guess, known in (
        (says["one"], one_threshold(60, variance)),
        (says["two"] >= least, vote_accuracy(*chances)),
    ):
        measured = (guess[members].mean() + (~guess[~members]).mean()) / 2
        assert measured == pytest.approx(float(known), abs=4 * 0.45 / math.sqrt(40_000))


def test_votes_win_only_in_sparse_cells():
    """Under Laplace noise of scale 2 the vote is ahead in empty cells and behind in crowded ones."""

    def lead(rate):
        variance = 60 * (2_000 * rate * (1 - rate) + 8)
        alarm, hit = vote_chances(count_law(2_000, rate), laplace_at_least)
        return float(vote_accuracy([alarm] * 60, [hit] * 60) - one_threshold(60, variance))

    assert lead(0.1 / 2_000) > 0.02
    assert lead(1 / 2_000) > 0
    assert lead(4 / 2_000) < 0
    assert lead(20 / 2_000) < -0.02


@pytest.mark.parametrize(("n", "visitors", "population"), [(3, 2, 8), (5, 8, 8), (4, 0, 6), (6, 5, 7)])
def test_count_distribution_matches_enumeration(n, visitors, population):
    people = [1] * visitors + [0] * (population - visitors)
    sums = [sum(group) for group in combinations(people, n)]
    law = np.bincount(sums, minlength=n + 1) / len(sums)
    np.testing.assert_allclose(count_law(n, visitors / population, population), law, atol=1e-12)
    rate = visitors / population
    plain = [math.comb(n, c) * rate**c * (1 - rate) ** (n - c) for c in range(n + 1)]
    np.testing.assert_allclose(count_law(n, rate), plain, atol=1e-12)


def test_fixed_error_uses_standard_deviation(rng):
    scores = rng.normal(3.0, 5.0, size=200_000)
    assert (scores >= threshold_at_fpr(0.05, 3.0, 25.0)).mean() == pytest.approx(0.05, abs=0.002)


def test_rejects_invalid_counts():
    for call in (
        lambda: group_variance(11, 1.0, population=10),
        lambda: group_variance(1, math.nan),
        lambda: predicted_variance(1, 1.0, 0),
        lambda: one_threshold(1.0, 0.0),
        lambda: threshold_at_fpr(math.nan, 0.0, 1.0),
        lambda: count_law(3, 1.5),
        lambda: count_law(3, 0.15, population=10),
        lambda: count_law(11, 0.1, population=10),
    ):
        with pytest.raises(BadInput):
            call()


# -- votes of cells ------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7])
def test_vote_distribution_matches_enumeration(n, rng):
    chances = rng.random(n)
    law = np.zeros(n + 1)
    for outcome in product([0, 1], repeat=n):
        law[sum(outcome)] += math.prod(p if vote else 1 - p for p, vote in zip(chances, outcome, strict=True))
    np.testing.assert_allclose(poisson_binomial(chances), law, rtol=1e-12)
    for least in np.arange(-1, n + 2, 0.5):
        expected = law[max(math.ceil(least), 0) :].sum()
        assert chance_of_votes(chances, least) == pytest.approx(expected, abs=1e-14)


def test_rare_votes_keep_precision():
    chances = np.full(300, 0.01)
    mpmath.mp.dps = 50
    exact = mpmath.binomial(300, 120) * mpmath.mpf("0.01") ** 120 * mpmath.mpf("0.99") ** 180
    assert poisson_binomial(chances)[120] == pytest.approx(float(exact), rel=1e-10)


def test_many_cells_match_simulation(rng):
    chances = rng.random(80)
    drawn = (rng.random((40_000, 80)) < chances).sum(axis=1)
    law = poisson_binomial(chances)
    seen = np.bincount(drawn, minlength=81) / drawn.size
    assert np.abs(seen - law).max() < 5 * np.sqrt(law.max() / drawn.size)


def test_equal_cells_are_binomial():
    for n, error in ((1, 0.3), (20, 0.3894), (59, 0.3894), (60, 0.3894)):
        assert vote_accuracy([error] * n, [1 - error] * n) == pytest.approx(
            float(two_threshold(n, error)), abs=1e-12
        )
        assert vote_accuracy_clt([error] * n, [1 - error] * n) == pytest.approx(
            float(two_threshold_clt(n, error)), abs=1e-9
        )


def test_accuracy_matches_simulated_votes(rng):
    alarms, hits = rng.uniform(0.1, 0.5, 25), rng.uniform(0.3, 0.9, 25)
    least = float(vote_midpoint(alarms, hits))
    tpr, fpr = (((rng.random((60_000, 25)) < p).sum(axis=1) >= least).mean() for p in (hits, alarms))
    assert vote_accuracy(alarms, hits) == pytest.approx((1 + tpr - fpr) / 2, abs=4 * 0.5 / math.sqrt(60_000))
    assert vote_accuracy_clt(alarms, hits) == pytest.approx(float(vote_accuracy(alarms, hits)), abs=0.02)


def test_ties_count_as_members():
    assert vote_accuracy([0.0, 0.0], [1.0, 0.0], 1) == 1.0
    assert vote_accuracy([0.0, 0.0], [1.0, 0.0], 1 + 1e-12) == 0.5
    error = math.exp(-0.25) / 2
    assert vote_midpoint([error] * 60, [1 - error] * 60) == 30.0  # not a hair above, where ties would be lost


@pytest.mark.parametrize("fpr", [0.0, 0.001, 0.05, 0.5, 1.0])
def test_votes_needed_are_minimal(fpr, rng):
    alarms = rng.uniform(0.0, 0.6, (3, 12))
    for row, least in zip(alarms, least_votes(alarms, fpr), strict=True):
        assert chance_of_votes(row, least) <= fpr
        assert least == 0 or chance_of_votes(row, least - 1) > fpr


def test_handles_cells_that_never_or_always_vote():
    assert poisson_binomial([0.0, 1.0, 1.0]).tolist() == [0.0, 0.0, 1.0, 0.0]
    assert vote_accuracy_clt([0.0, 0.0], [1.0, 1.0]) == 1.0


@pytest.mark.parametrize("chances", [[], [1.1], [-0.1], [math.nan]])
def test_rejects_invalid_probabilities(chances):
    with pytest.raises(BadInput, match="chance"):
        poisson_binomial(chances)


def test_rejects_invalid_votes():
    with pytest.raises(BadInput, match="fpr"):
        least_votes([0.5], math.nan)
    with pytest.raises(BadInput, match="one release"):
        chance_of_votes([[0.5], [0.5]], 1)
