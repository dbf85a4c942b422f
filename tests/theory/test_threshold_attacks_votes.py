import itertools
import math

import mpmath
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import threshold_attacks

RNG = np.random.default_rng(20240501)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_number_of_votes_has_the_law_of_all_outcomes_added_up(n):
    chances = RNG.random(n)
    law = np.zeros(n + 1)
    for outcome in itertools.product([0, 1], repeat=n):
        law[sum(outcome)] += math.prod(p if vote else 1 - p for p, vote in zip(chances, outcome, strict=True))
    np.testing.assert_allclose(threshold_attacks.poisson_binomial(chances), law, rtol=1e-12)
    for least in np.arange(-1, n + 2, 0.5):
        expected = law[max(math.ceil(least), 0) :].sum()
        assert threshold_attacks.chance_of_votes(chances, least) == pytest.approx(expected, abs=1e-14)


def test_rare_numbers_keep_their_digits():
    chances = np.full(300, 0.01)
    mpmath.mp.dps = 50
    exact = mpmath.binomial(300, 120) * mpmath.mpf("0.01") ** 120 * mpmath.mpf("0.99") ** 180
    assert threshold_attacks.poisson_binomial(chances)[120] == pytest.approx(float(exact), rel=1e-10)


def test_many_cells_have_the_law_that_is_simulated():
    chances = RNG.random(80)
    drawn = (RNG.random((40_000, 80)) < chances).sum(axis=1)
    law = threshold_attacks.poisson_binomial(chances)
    seen = np.bincount(drawn, minlength=81) / drawn.size
    assert np.abs(seen - law).max() < 5 * np.sqrt(law.max() / drawn.size)


def test_equal_cells_are_the_binomial_ones_of_the_informed():
    for n, error in ((1, 0.3), (20, 0.3894), (59, 0.3894), (60, 0.3894)):
        assert threshold_attacks.vote_accuracy([error] * n, [1 - error] * n) == pytest.approx(
            float(threshold_attacks.two_threshold(n, error)), abs=1e-12
        )
        assert threshold_attacks.vote_accuracy_clt([error] * n, [1 - error] * n) == pytest.approx(
            float(threshold_attacks.two_threshold_clt(n, error)), abs=1e-9
        )


def test_accuracy_is_that_of_simulated_votes_with_ties_to_members():
    alarms, hits = RNG.uniform(0.1, 0.5, 25), RNG.uniform(0.3, 0.9, 25)
    least = float(threshold_attacks.vote_midpoint(alarms, hits))
    tpr, fpr = (((RNG.random((60_000, 25)) < p).sum(axis=1) >= least).mean() for p in (hits, alarms))
    assert threshold_attacks.vote_accuracy(alarms, hits) == pytest.approx(
        (1 + tpr - fpr) / 2, abs=4 * 0.5 / math.sqrt(60_000)
    )
    assert threshold_attacks.vote_accuracy_clt(alarms, hits) == pytest.approx(
        float(threshold_attacks.vote_accuracy(alarms, hits)), abs=0.02
    )


def test_a_tie_goes_to_the_member():
    assert threshold_attacks.vote_accuracy([0.0, 0.0], [1.0, 0.0], 1) == 1.0
    assert threshold_attacks.vote_accuracy([0.0, 0.0], [1.0, 0.0], 1 + 1e-12) == 0.5
    error = math.exp(-0.25) / 2
    assert (
        threshold_attacks.vote_midpoint([error] * 60, [1 - error] * 60) == 30.0
    )  # not a hair above, where ties would be lost


@pytest.mark.parametrize("fpr", [0.0, 0.001, 0.05, 0.5, 1.0])
def test_the_votes_asked_for_are_the_fewest_that_keep_the_rate(fpr):
    alarms = RNG.uniform(0.0, 0.6, (3, 12))
    for row, least in zip(alarms, threshold_attacks.least_votes(alarms, fpr), strict=True):
        assert threshold_attacks.chance_of_votes(row, least) <= fpr
        assert least == 0 or threshold_attacks.chance_of_votes(row, least - 1) > fpr


def test_cells_that_never_or_always_vote_are_no_trouble():
    assert threshold_attacks.poisson_binomial([0.0, 1.0, 1.0]).tolist() == [0.0, 0.0, 1.0, 0.0]
    assert threshold_attacks.vote_accuracy_clt([0.0, 0.0], [1.0, 1.0]) == 1.0


@pytest.mark.parametrize("chances", [[], [1.1], [-0.1], [math.nan]])
def test_a_chance_is_a_chance(chances):
    with pytest.raises(BadInput, match="chance"):
        threshold_attacks.poisson_binomial(chances)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(BadInput, match="fpr"):
        threshold_attacks.least_votes([0.5], math.nan)
    with pytest.raises(BadInput, match="one release"):
        threshold_attacks.chance_of_votes([[0.5], [0.5]], 1)
