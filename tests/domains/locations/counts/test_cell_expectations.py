import math

import numpy as np
import pytest

from leakgauge.domains.locations.counts.cell_expectations import (
    RateCurves,
    TargetCases,
    cell_moments,
    cell_votes,
)
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.release_chain import OutputDistribution, ReleaseChain
from leakgauge.mechanisms import laplace


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
def test_expectations_match_enumeration(law, known):
    found = cell_moments(law, PRIOR, known)
    for cell in range(4):
        rate, coins = PRIOR.rates[cell], int(PRIOR.coins[cell])
        for world, n, moved in (("out", 5, 0), ("there", 4, 1), ("away", 4, 0)):
            first = by_hand(law, n, rate, coins, known, moved, mean)
            second = by_hand(law, n, rate, coins, known, moved, square)
            assert getattr(found.mean, world)[cell] == pytest.approx(first, abs=1e-12)
            assert getattr(found.variance, world)[cell] == pytest.approx(second - first**2, abs=1e-10)


@pytest.mark.parametrize("law", [Doubled(), Wide()])
def test_vote_probabilities_match_enumeration(law):
    found, means = cell_votes(law, PRIOR, None, 1), cell_moments(law, PRIOR, 1).mean
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
def test_cuts_at_fixed_error_are_minimal(law, fpr):
    found = cell_votes(law, PRIOR, fpr, np.array([[0, 0, 0, 0], [7, 1, 0, 2]]))
    assert (found.chance.out <= fpr + 1e-12).all()
    less = found.cut - (1.0 if law.whole else 1e-6)
    for round_, known in enumerate([[0, 0, 0, 0], [7, 1, 0, 2]]):
        for cell in range(4):
            rate, coins, cut = PRIOR.rates[cell], int(PRIOR.coins[cell]), less[round_, cell]
            looser = by_hand(
                law, 5, rate, coins, known[cell], 0, lambda law, n, cut=cut: law.at_least(cut, n)
            )
            assert looser > fpr


def test_cuts_are_found_for_very_wide_noise():
    """Noise uniform on +-10^9, as wide as a person's noise may be: cuts beyond what floats tell apart."""

    class Huge(Wide):
        def at_least(self, cuts, counts):
            return super().at_least((cuts - counts) / 1e9, np.zeros_like(counts))

    found = cell_votes(Huge(), PRIOR, 0.05)
    np.testing.assert_allclose(found.cut, 0.9e9, rtol=1e-7)


def test_known_counts_may_differ_between_rounds():
    known = np.array([[0, 1, 2, 3], [5, 5, 0, 0], [0, 1, 2, 3]])
    found = cell_moments(Doubled(), PRIOR, known)
    assert found.mean.out.shape == known.shape
    for row, expected in zip(known, found.mean.there, strict=True):
        each = [
            cell_moments(Doubled(), PRIOR, int(number)).mean.there[cell] for cell, number in enumerate(row)
        ]
        np.testing.assert_allclose(expected, each, rtol=1e-13)


def test_rate_is_irrelevant_without_unknown_people():
    sure = CountPrior(np.array([0.3, 0.7]), 0, 0, np.zeros(2, dtype=int))
    assert cell_moments(Doubled(), sure, 2).mean.there.tolist() == [6.5, 6.5]
    assert cell_votes(Doubled(), sure, None, 2).chance == (
        pytest.approx([0.0, 0.0]),
        *(pytest.approx([x, x]) for x in (1.0, 0.0)),
    )


def test_member_visits_with_probability_of_its_weight():
    worlds = TargetCases(np.zeros(2), np.ones(2), np.zeros(2))
    assert worlds.member(np.array([1.0, 0.25])).tolist() == [1.0, 0.25]
    assert worlds.steps.tolist() == [1.0, 1.0]


RNG = np.random.default_rng(1)
NOISE = laplace.Mechanism(scale=1.0)
CHAINS = [
    ReleaseChain(noise=NOISE, group_size=200),
    ReleaseChain(noise=NOISE, group_size=200, round=True, clamp=True, suppress=2),
]
RATES = np.exp(RNG.uniform(np.log(1e-5), np.log(0.9), (2, 20)))
COINS = RNG.integers(0, 2, 20)


@pytest.mark.parametrize("chain", CHAINS)
def test_interpolated_values_match_computed_ones(chain):
    law = OutputDistribution(chain)
    read = RateCurves.of_moments(law, 150, 151, COINS).moments(RATES, COINS)
    for row, rates in enumerate(RATES):
        exact = cell_moments(law, CountPrior(rates, 150, 151, COINS))
        for fact in ("mean", "variance"):
            for world in ("out", "there", "away"):
                wanted = getattr(getattr(exact, fact), world)
                found = getattr(getattr(read, fact), world)[row]
                np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fpr", [None, 0.2])
def test_smooth_cuts_and_votes_are_interpolated(fpr):
    law = OutputDistribution(CHAINS[0])
    read = RateCurves.of_votes(law, 150, 151, COINS, fpr).votes(RATES, COINS)
    for row, rates in enumerate(RATES):
        exact = cell_votes(law, CountPrior(rates, 150, 151, COINS), fpr)
        np.testing.assert_allclose(read.cut[row], exact.cut, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(read.chance.there[row], exact.chance.there, atol=2e-3)


def test_integer_output_votes_are_right_on_average():
    """Where a cut passes a whole number its chances jump, and what is read off lies between the two."""
    law = OutputDistribution(CHAINS[1])
    read = RateCurves.of_votes(law, 150, 151, COINS, None).votes(RATES, COINS)
    exact = [cell_votes(law, CountPrior(rates, 150, 151, COINS), None).chance for rates in RATES]
    off = np.array([read.chance.out[row] - chance.out for row, chance in enumerate(exact)])
    assert np.abs(off).max() < 0.1
    assert np.abs(off).mean() < 0.01
    assert abs(off.mean()) < 0.003


def test_rates_are_clipped_to_table_range():
    curves = RateCurves.of_moments(OutputDistribution(CHAINS[0]), 100, 100, np.zeros(2, dtype=int))
    found = curves.moments(np.array([[0.0, 1.0]]), np.zeros(2, dtype=int)).mean
    np.testing.assert_allclose(found.out, [[0.0, 100.0]], atol=2e-4)
    np.testing.assert_allclose(found.there, [[1.0, 101.0]], atol=2e-4)
