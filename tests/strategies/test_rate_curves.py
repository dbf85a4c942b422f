import numpy as np
import pytest

from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.chain.cut_laws import ChainCuts
from leakgauge.mechanisms import laplace
from leakgauge.strategies.cell_outlooks import moments, votes
from leakgauge.strategies.count_priors import CountPrior
from leakgauge.strategies.rate_curves import RateCurves

RNG = np.random.default_rng(1)
NOISE = laplace.Mechanism(scale=1.0)
CHAINS = [
    Chain(noise=NOISE, group_size=200),
    Chain(noise=NOISE, group_size=200, round=True, clamp=True, suppress=2),
]
RATES = np.exp(RNG.uniform(np.log(1e-5), np.log(0.9), (2, 20)))
COINS = RNG.integers(0, 2, 20)


@pytest.mark.parametrize("chain", CHAINS)
def test_what_is_read_off_is_what_would_be_worked_out(chain):
    law = ChainCuts(chain)
    read = RateCurves.of_moments(law, 150, 151, COINS).moments(RATES, COINS)
    for row, rates in enumerate(RATES):
        exact = moments(law, CountPrior(rates, 150, 151, COINS))
        for fact in ("mean", "variance"):
            for world in ("out", "there", "away"):
                wanted = getattr(getattr(exact, fact), world)
                found = getattr(getattr(read, fact), world)[row]
                np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fpr", [None, 0.2])
def test_cuts_and_votes_are_read_off_where_they_run_smoothly(fpr):
    law = ChainCuts(CHAINS[0])
    read = RateCurves.of_votes(law, 150, 151, COINS, fpr).votes(RATES, COINS)
    for row, rates in enumerate(RATES):
        exact = votes(law, CountPrior(rates, 150, 151, COINS), fpr)
        np.testing.assert_allclose(read.cut[row], exact.cut, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(read.chance.there[row], exact.chance.there, atol=2e-3)


def test_votes_of_whole_outputs_are_right_on_average():
    """Where a cut passes a whole number its chances jump, and what is read off lies between the two."""
    law = ChainCuts(CHAINS[1])
    read = RateCurves.of_votes(law, 150, 151, COINS, None).votes(RATES, COINS)
    exact = [votes(law, CountPrior(rates, 150, 151, COINS), None).chance for rates in RATES]
    off = np.array([read.chance.out[row] - chance.out for row, chance in enumerate(exact)])
    assert np.abs(off).max() < 0.1
    assert np.abs(off).mean() < 0.01
    assert abs(off.mean()) < 0.003


def test_rates_beyond_the_ends_are_taken_as_the_ends():
    curves = RateCurves.of_moments(ChainCuts(CHAINS[0]), 100, 100, np.zeros(2, dtype=int))
    found = curves.moments(np.array([[0.0, 1.0]]), np.zeros(2, dtype=int)).mean
    np.testing.assert_allclose(found.out, [[0.0, 100.0]], atol=2e-4)
    np.testing.assert_allclose(found.there, [[1.0, 101.0]], atol=2e-4)
