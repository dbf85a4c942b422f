import math
from itertools import combinations

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import threshold_attacks
from leakgauge.theory.threshold_attacks import (
    count_law,
    group_variance,
    one_threshold,
    predicted_variance,
    threshold_at_fpr,
    vote_chances,
)

RNG = np.random.default_rng(20240501)


def laplace_at_least(x, scale=2.0):
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x >= 0, tail, 1 - tail)


def test_a_group_without_replacement_has_the_variance_of_all_groups():
    adds = np.array([0.0, 1.0, 1.0, 3.0, 0.0, 2.0])
    for n in (1, 3, 6):
        sums = [sum(group) for group in combinations(adds, n)]
        assert group_variance(n, adds.var(), population=6) == pytest.approx(np.var(sums), abs=1e-12)


def test_people_who_visit_several_cells_make_the_sum_vary_more():
    visits = np.zeros((200, 10))
    visits[:20] = 1.0  # the same people everywhere
    sums = [visits[RNG.choice(200, 50, replace=False)].sum() for _ in range(20_000)]
    right = group_variance(50, visits.sum(axis=1).var(), population=200)
    apart = 10 * group_variance(50, 0.1 * 0.9, population=200)
    assert np.var(sums) == pytest.approx(right, rel=0.05)
    assert right == pytest.approx(10 * apart)


def test_a_sample_predicts_a_group_as_well_as_it_says():
    adds = RNG.exponential(size=1_000_000)
    errors = [
        adds[(people := RNG.integers(adds.size, size=450))[:150]].sum() - 150 * adds[people[150:]].mean()
        for _ in range(20_000)
    ]
    assert np.var(errors) == pytest.approx(predicted_variance(150, adds.var(), 300), rel=0.05)


def test_an_informed_adversary_is_a_special_case():
    for n in (1, 20, 60):
        informed = float(threshold_attacks.one_threshold_clt(n, 0.5 / math.sqrt(2)))
        assert one_threshold(n, n * 2 * 2.0**2) == pytest.approx(informed, abs=1e-14)
    alarm, hit = vote_chances(np.ones(1), laplace_at_least)
    assert alarm == pytest.approx(threshold_attacks.cell_error_laplace(0.5))
    assert hit == pytest.approx(1 - threshold_attacks.cell_error_laplace(0.5))


def test_the_cell_of_figure_7_gives_the_known_accuracies():
    """2,000 of 10,000 people, 1 % of whom visit each of 60 cells; Laplace noise of scale 2."""
    variance = 60 * (group_variance(2_000, 0.01 * 0.99, population=10_000) + 8)
    assert one_threshold(60, variance) == pytest.approx(0.786, abs=0.001)
    alarm, hit = vote_chances(count_law(2_000, 0.01, population=10_000), laplace_at_least)
    assert threshold_attacks.vote_accuracy([alarm] * 60, [hit] * 60) == pytest.approx(0.745, abs=0.002)
    assert threshold_attacks.vote_accuracy_clt([alarm] * 60, [hit] * 60) == pytest.approx(0.745, abs=0.003)


@pytest.mark.slow
def test_the_cell_of_figure_7_is_as_simulated():
    counts = RNG.hypergeometric(100, 9_900, 2_000, size=(40_000, 60))
    members = np.arange(40_000) % 2 == 1
    left = counts + members[:, None] + RNG.laplace(scale=2.0, size=counts.shape)
    says = {"one": left.sum(axis=1) >= 60 * 20.5, "two": (left >= 20.5).sum(axis=1)}
    variance = 60 * (group_variance(2_000, 0.01 * 0.99, population=10_000) + 8)
    alarm, hit = vote_chances(count_law(2_000, 0.01, population=10_000), laplace_at_least)
    chances = [alarm] * 60, [hit] * 60
    least = threshold_attacks.vote_midpoint(*chances)
    for guess, known in (
        (says["one"], one_threshold(60, variance)),
        (says["two"] >= least, threshold_attacks.vote_accuracy(*chances)),
    ):
        measured = (guess[members].mean() + (~guess[~members]).mean()) / 2
        assert measured == pytest.approx(float(known), abs=4 * 0.45 / math.sqrt(40_000))


def test_two_thresholds_win_only_where_few_others_are():
    """Under Laplace noise of scale 2 the vote is ahead in empty cells and behind in crowded ones."""

    def lead(rate):
        variance = 60 * (2_000 * rate * (1 - rate) + 8)
        alarm, hit = vote_chances(count_law(2_000, rate), laplace_at_least)
        return float(threshold_attacks.vote_accuracy([alarm] * 60, [hit] * 60) - one_threshold(60, variance))

    assert lead(0.1 / 2_000) > 0.02
    assert lead(1 / 2_000) > 0
    assert lead(4 / 2_000) < 0
    assert lead(20 / 2_000) < -0.02


@pytest.mark.parametrize(("n", "visitors", "population"), [(3, 2, 8), (5, 8, 8), (4, 0, 6), (6, 5, 7)])
def test_counts_have_the_law_of_all_groups(n, visitors, population):
    people = [1] * visitors + [0] * (population - visitors)
    sums = [sum(group) for group in combinations(people, n)]
    law = np.bincount(sums, minlength=n + 1) / len(sums)
    np.testing.assert_allclose(count_law(n, visitors / population, population), law, atol=1e-12)
    rate = visitors / population
    plain = [math.comb(n, c) * rate**c * (1 - rate) ** (n - c) for c in range(n + 1)]
    np.testing.assert_allclose(count_law(n, rate), plain, atol=1e-12)


def test_a_fixed_error_uses_the_standard_deviation():
    scores = RNG.normal(3.0, 5.0, size=200_000)
    assert (scores >= threshold_at_fpr(0.05, 3.0, 25.0)).mean() == pytest.approx(0.05, abs=0.002)


def test_what_makes_no_sense_is_refused():
    for call in (
        lambda: group_variance(11, 1.0, population=10),
        lambda: group_variance(1, math.nan),
        lambda: predicted_variance(1, 1.0, 0),
        lambda: one_threshold(1.0, 0.0),
        lambda: threshold_at_fpr(math.nan, 0.0, 1.0),
        lambda: count_law(3, 1.5),
        lambda: count_law(3, 0.15, population=10),
        lambda: threshold_attacks.count_law(11, 0.1, population=10),
    ):
        with pytest.raises(BadInput):
            call()
