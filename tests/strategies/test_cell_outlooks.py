import math

import numpy as np
import pytest

from leakgauge.strategies.cell_outlooks import Worlds, moments, votes
from leakgauge.strategies.count_priors import CountPrior


class Doubled:
    """Publishes twice the count, plus a fair coin: everything about it can be counted by hand."""

    whole = True

    def at_least(self, cuts, counts):
        return np.where(2 * counts >= cuts, 1.0, np.where(2 * counts + 1 >= cuts, 0.5, 0.0))

    def moments(self, counts):
        return 2.0 * counts + 0.5, np.full(counts.shape, 0.25)


class Wide:
    """Adds uniform noise on [-1, 1]."""

    whole = False

    def at_least(self, cuts, counts):
        return np.clip((1 - (cuts - counts)) / 2, 0.0, 1.0)

    def moments(self, counts):
        return counts.astype(float), np.full(counts.shape, 1 / 3)


def by_hand(law, n, rate, coins, known, moved, fact):
    """Sum over all ways: how many of n are there, how many of the coins fall on heads."""
    total = 0.0
    for c in range(n + 1):
        for h in range(coins + 1):
            chance = math.comb(n, c) * rate**c * (1 - rate) ** (n - c) * math.comb(coins, h) / 2**coins
            total += chance * fact(law, np.array([known + c + h + moved]))[0]
    return total


def mean(law, counts):
    return law.moments(counts)[0]


def square(law, counts):
    return law.moments(counts)[1] + law.moments(counts)[0] ** 2


PRIOR = CountPrior(np.array([0.3, 0.05, 0.3, 0.0]), n_in=4, n_out=5, coins=np.array([0, 2, 1, 0]))


@pytest.mark.parametrize("law", [Doubled(), Wide()])
@pytest.mark.parametrize("known", [0, 3])
def test_averages_run_over_all_that_may_be_there(law, known):
    found = moments(law, PRIOR, known)
    for cell in range(4):
        rate, coins = PRIOR.rates[cell], int(PRIOR.coins[cell])
        for world, n, moved in (("out", 5, 0), ("there", 4, 1), ("away", 4, 0)):
            first = by_hand(law, n, rate, coins, known, moved, mean)
            second = by_hand(law, n, rate, coins, known, moved, square)
            assert getattr(found.mean, world)[cell] == pytest.approx(first, abs=1e-12)
            assert getattr(found.variance, world)[cell] == pytest.approx(second - first**2, abs=1e-10)


@pytest.mark.parametrize("law", [Doubled(), Wide()])
def test_votes_are_cut_midway_and_counted_over_all_that_may_be_there(law):
    found, means = votes(law, PRIOR, None, 1), moments(law, PRIOR, 1).mean
    np.testing.assert_allclose(found.cut, (means.out + means.there) / 2)
    for cell in range(4):
        rate, coins, cut = PRIOR.rates[cell], int(PRIOR.coins[cell]), found.cut[cell]

        def reached(law, counts, cut=cut):
            return law.at_least(cut, counts)

        for world, n, moved in (("out", 5, 0), ("there", 4, 1), ("away", 4, 0)):
            expected = by_hand(law, n, rate, coins, 1, moved, reached)
            assert getattr(found.chance, world)[cell] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", [Doubled(), Wide()])
@pytest.mark.parametrize("fpr", [1e-6, 0.05, 0.4, 0.99])
def test_cuts_of_a_fixed_error_are_the_smallest_that_keep_it(law, fpr):
    found = votes(law, PRIOR, fpr, np.array([[0, 0, 0, 0], [7, 1, 0, 2]]))
    assert (found.chance.out <= fpr + 1e-12).all()
    less = found.cut - (1.0 if law.whole else 1e-6)
    for round_, known in enumerate([[0, 0, 0, 0], [7, 1, 0, 2]]):
        for cell in range(4):
            rate, coins, cut = PRIOR.rates[cell], int(PRIOR.coins[cell]), less[round_, cell]
            looser = by_hand(
                law, 5, rate, coins, known[cell], 0, lambda law, n, cut=cut: law.at_least(cut, n)
            )
            assert looser > fpr


def test_cuts_are_found_however_large_they_are():
    """Noise uniform on +-10^9, as wide as a person's noise may be: cuts beyond what floats tell apart."""

    class Huge(Wide):
        def at_least(self, cuts, counts):
            return super().at_least((cuts - counts) / 1e9, np.zeros_like(counts))

    found = votes(Huge(), PRIOR, 0.05)
    np.testing.assert_allclose(found.cut, 0.9e9, rtol=1e-7)


def test_known_counts_may_differ_from_round_to_round():
    known = np.array([[0, 1, 2, 3], [5, 5, 0, 0], [0, 1, 2, 3]])
    found = moments(Doubled(), PRIOR, known)
    assert found.mean.out.shape == known.shape
    for row, expected in zip(known, found.mean.there, strict=True):
        each = [moments(Doubled(), PRIOR, int(number)).mean.there[cell] for cell, number in enumerate(row)]
        np.testing.assert_allclose(expected, each, rtol=1e-13)


def test_without_anybody_unknown_the_rate_says_nothing():
    sure = CountPrior(np.array([0.3, 0.7]), 0, 0, np.zeros(2, dtype=int))
    assert moments(Doubled(), sure, 2).mean.there.tolist() == [6.5, 6.5]
    assert votes(Doubled(), sure, None, 2).chance == (
        pytest.approx([0.0, 0.0]),
        *(pytest.approx([x, x]) for x in (1.0, 0.0)),
    )


def test_a_member_is_in_a_cell_as_often_as_its_weight_says():
    worlds = Worlds(np.zeros(2), np.ones(2), np.zeros(2))
    assert worlds.member(np.array([1.0, 0.25])).tolist() == [1.0, 0.25]
    assert worlds.steps.tolist() == [1.0, 1.0]
