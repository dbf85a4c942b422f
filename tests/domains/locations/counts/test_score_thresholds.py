import numpy as np
import pytest
from scipy.stats import binom

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.cell_expectations import CellMoments, TargetCases
from leakgauge.domains.locations.counts.score_thresholds import (
    NormalScore,
    best_cutoff,
    normal_sum,
    normal_votes,
    votes_needed,
)
from leakgauge.theory.threshold_attacks import chance_of_votes


def gain(scores, members, cut):
    says = scores >= cut
    return says[members].mean() - says[~members].mean()


@pytest.mark.parametrize("seed", range(20))
def test_cut_is_optimal(seed):
    rng = np.random.default_rng(seed)
    members = rng.permutation(np.arange(31) % 3 == 0)
    scores = np.round(rng.normal(size=31) + 0.5 * members, 1)  # with ties
    values = np.unique(scores)
    inside = [gain(scores, members, cut) for cut in (values[1:] + values[:-1]) / 2]
    assert gain(scores, members, best_cutoff(scores, members)) == pytest.approx(max(inside))


def test_uninformative_score_is_cut_between_two_scores():
    scores, members = np.array([3.0, 2.0, 1.0, 0.0]), np.array([False, False, True, True])
    assert 0 < best_cutoff(scores, members) < 3


def test_constant_score_accuses_everyone():
    assert best_cutoff(np.full(4, 7.0), np.arange(4) % 2 == 0) == 7.0


def test_single_class_gives_lowest_score():
    assert best_cutoff(np.array([5.0, 2.0, 3.0]), np.ones(3, bool)) == 2.0
    assert best_cutoff(np.zeros(0), np.zeros(0, bool)) == 0.0


def test_middle_of_equally_good_cuts_is_used():
    members = np.array([False, True, False, True, False, True])  # any cut below a member gains one third
    assert best_cutoff(np.arange(6.0), members) == 2.5


NORMAL_RNG = np.random.default_rng(1)


def shadows(gap, deviation, n=4_000):
    members = NORMAL_RNG.permutation(np.arange(n) % 2 == 1)
    return NORMAL_RNG.normal(7.0, deviation, n) + gap * members, members


def test_means_and_variance_match_shadows():
    law = NormalScore.of(*shadows(4.0, 3.0))
    assert law.without == pytest.approx(7.0, abs=0.3)
    assert law.with_target == pytest.approx(11.0, abs=0.3)
    assert law.variance == pytest.approx(9.0, rel=0.1)
    assert law.midpoint == pytest.approx(9.0, abs=0.2)


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.3])
def test_target_fpr_is_kept_on_new_releases(fpr):
    threshold = NormalScore.of(*shadows(4.0, 3.0, n=20_000)).threshold(fpr)
    scores, members = shadows(4.0, 3.0, n=100_000)
    assert (scores[~members] >= threshold).mean() == pytest.approx(fpr, rel=0.15)


def test_evidence_score_is_log_likelihood_ratio():
    law = NormalScore(7.0, 11.0, 9.0)
    x = 10.3
    exact = -((x - 11) ** 2) / 18 + (x - 7) ** 2 / 18
    assert law.evidence * (x - law.midpoint) == pytest.approx(exact)


def test_chance_does_not_flip_the_score():
    scores, members = shadows(0.0, 1.0, n=50)
    for flip in (scores, -scores):
        assert NormalScore.of(flip, members).evidence > 0


def test_extreme_scores_are_finite():
    assert 0 < NormalScore(0.0, 5.0, 0.0).evidence < np.inf
    assert NormalScore(3.0, 3.0, 0.0).evidence == 0.0
    many = NormalScore(np.zeros(2), np.array([0.0, 2.0]), np.array([0.0, 4.0]))
    assert many.evidence.tolist() == [0.0, 0.5]
    assert many.threshold(0.5).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.9])
def test_constant_score_raises_no_false_alarm(fpr):
    law = NormalScore.of(np.array([4.0, 4.0, 9.0, 9.0]), np.array([False, False, True, True]))
    assert law.variance == 0.0
    assert 4.0 < law.threshold(fpr) <= 9.0
    rounds = NormalScore(np.array([4.0, 4.0]), np.array([9.0, 9.0]), np.array([0.0, 1.0]))
    assert rounds.threshold(0.5).tolist() == [6.5, 4.0]


def test_both_worlds_are_needed():
    with pytest.raises(BadInput, match="two releases"):
        NormalScore.of(np.arange(4.0), np.array([True, True, True, False]))


EXPECTED_RNG = np.random.default_rng(20240501)
N = 200_000


def spread(values):
    return TargetCases(values, values + 1, values)


def test_weighted_sum_moments_match_simulation():
    """Cells of Poisson counts and Gaussian noise; the target is in each with the chance of its weight."""
    rates, weights = np.array([2.0, 0.5, 7.0]), np.array([1.0, 0.3, 0.6])
    cells = CellMoments(spread(rates), TargetCases(rates + 1, rates + 1, rates + 1))
    law = normal_sum(cells, weights, shared=0.0)
    outside = EXPECTED_RNG.poisson(rates, (N, 3)) + EXPECTED_RNG.normal(size=(N, 3))
    inside = outside + (EXPECTED_RNG.random((N, 3)) < weights)
    assert law.without == pytest.approx((outside @ weights).mean(), abs=0.03)
    assert law.with_target == pytest.approx((inside @ weights).mean(), abs=0.03)
    variance = ((outside @ weights).var() + (inside @ weights).var()) / 2
    assert law.variance == pytest.approx(variance, rel=0.02)
    assert normal_sum(cells, weights, shared=5.0).variance == pytest.approx(law.variance + 5.0)


def test_uncertain_target_adds_variance():
    quiet = CellMoments(spread(np.zeros(8)), TargetCases(*np.full((3, 8), 0.01)))
    weights = np.full(8, 0.5)
    inside = ((EXPECTED_RNG.random((N, 8)) < weights) + EXPECTED_RNG.normal(scale=0.1, size=(N, 8))) @ weights
    assert normal_sum(quiet, weights).variance == pytest.approx((inside.var() + 8 * 0.01 / 4) / 2, rel=0.02)


def test_vote_moments_match_simulation():
    chances, weights = (
        TargetCases(np.array([0.2, 0.5]), np.array([0.7, 0.6]), np.array([0.2, 0.5])),
        np.array([1.0, 0.5]),
    )
    law = normal_votes(chances, weights)
    outside = (EXPECTED_RNG.random((N, 2)) < chances.out) @ weights
    inside = (EXPECTED_RNG.random((N, 2)) < chances.member(weights)) @ weights
    assert law.without == pytest.approx(outside.mean(), abs=0.01)
    assert law.with_target == pytest.approx(inside.mean(), abs=0.01)
    assert law.variance == pytest.approx((outside.var() + inside.var()) / 2, rel=0.02)


def test_cells_may_differ_between_rounds():
    rows = TargetCases(
        np.array([[0.1, 0.2], [0.3, 0.4]]), np.full((2, 2), 0.8), np.array([[0.1, 0.2], [0.3, 0.4]])
    )
    law = normal_votes(rows, np.ones(2))
    assert law.without.tolist() == pytest.approx([0.3, 0.7])
    needed = votes_needed(law, np.ones(2), 0.1, rows.out)
    assert needed.tolist() == [2.0, 3.0]  # .28 and .58 of at least one vote, .02 and .12 of two


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.2])
def test_vote_threshold_keeps_target_fpr(fpr):
    alarms = EXPECTED_RNG.uniform(0.1, 0.6, 40)
    law = normal_votes(TargetCases(alarms, alarms + 0.2, alarms), np.ones(40))
    exact = votes_needed(law, np.ones(40), fpr, alarms)
    assert chance_of_votes(alarms, exact) <= fpr < chance_of_votes(alarms, exact - 1)
    normal = votes_needed(law, np.ones(40), fpr)
    assert abs(np.ceil(normal) - exact) <= 1


@pytest.mark.parametrize(("n", "fpr"), [(40, 0.02), (40, 0.05), (40, 0.1), (100, 0.05), (100, 0.1)])
def test_normal_vote_threshold_is_continuity_corrected(n, fpr):
    """Binomial(40, .3) reaches the normal threshold for .05 in .063 of cases, half a vote more in .032."""
    alarms = np.full(n, 0.3)
    law = normal_votes(TargetCases(alarms, 1 - alarms, alarms), np.ones(n))
    assert binom.sf(np.ceil(votes_needed(law, np.ones(n), fpr)) - 1, n, 0.3) <= fpr
    assert binom.sf(np.ceil(law.threshold(fpr)) - 1, n, 0.3) > fpr


def test_correlated_cells_need_more_votes():
    """One coin moves all cells: the Poisson-binomial law does not hold, the normal one about does."""
    low, high, n = 0.2, 0.5, 60
    alarms, shared = np.full(n, 0.35), n * (n - 1) * 0.15**2
    law = normal_votes(TargetCases(alarms, alarms + 0.2, alarms), np.ones(n), shared)
    drawn = EXPECTED_RNG.random((N // 10, n)) < np.where(EXPECTED_RNG.random((N // 10, 1)) < 0.5, low, high)
    needed = votes_needed(law, np.ones(n), 0.05, alarms, shared)
    assert (drawn.sum(axis=1) >= needed).mean() <= 0.05
    apart = votes_needed(
        normal_votes(TargetCases(alarms, alarms + 0.2, alarms), np.ones(n)), np.ones(n), 0.05, alarms
    )
    assert (drawn.sum(axis=1) >= apart).mean() > 0.2


def test_default_threshold_is_the_midpoint():
    law = normal_votes(TargetCases(np.full(4, 0.25), np.full(4, 0.75), np.full(4, 0.25)), np.ones(4))
    assert votes_needed(law, np.ones(4), None) == 2.0
