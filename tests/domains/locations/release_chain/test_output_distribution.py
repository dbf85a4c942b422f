import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.release_chain.output_distribution import OutputDistribution
from leakgauge.mechanisms import gaussian, geometric, laplace

NOISES = {
    "raw": None,
    "laplace": laplace.Mechanism(scale=2.0),
    "gaussian": gaussian.Mechanism(sigma=3.0, delta=1e-5),
    "geometric": geometric.Mechanism(scale=1.5),
}
CHAINS = [
    pytest.param(
        ReleaseChain(noise=noise, group_size=12, round=down, clamp=clamp, suppress=k),
        id=f"{name}-{down}-{clamp}-{k}",
    )
    for (name, noise), down, clamp, k in itertools.product(
        NOISES.items(), (False, True), (False, True), (0, 2)
    )
]
COUNTS = np.arange(13)
CUTS = [-3.5, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.3, 12.0, 12.5, 14.0]


@pytest.mark.parametrize("chain", CHAINS)
def test_exceedance_and_moments_match_samples(chain):
    law, n = OutputDistribution(chain), 40_000
    drawn = chain.sample(np.tile(COUNTS, (n, 1)), np.random.default_rng(20240501))
    mean, variance = law.moments(COUNTS)
    assert (np.abs(drawn.mean(axis=0) - mean) <= 5 * np.sqrt(variance / n) + 1e-9).all()
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.1, atol=1e-9)
    for cut in CUTS:
        chances = law.at_least(np.array(cut), COUNTS)
        deviation = np.sqrt(chances * (1 - chances) / n)
        assert (np.abs((drawn >= cut).mean(axis=0) - chances) <= 5 * deviation + 1e-9).all()


@pytest.mark.parametrize("chain", [chain for chain in CHAINS if not chain.values[0].shift_free])
def test_mean_is_integral_of_exceedance(chain):
    law, edges = OutputDistribution(chain), np.arange(91.0)
    for count in (0, 1, 5, 12):
        one = np.array([count])
        if chain.whole:
            area = sum(law.at_least(np.array(cut), one)[0] for cut in edges[1:])
        else:
            area = sum(
                quad(lambda cut, one=one: law.at_least(np.array(cut), one)[0], low, low + 1)[0]
                for low in edges
            )
        assert law.moments(one)[0][0] == pytest.approx(area, abs=1e-7)


def test_arguments_broadcast():
    law = OutputDistribution(ReleaseChain(noise=NOISES["laplace"], group_size=12, clamp=True))
    table = law.at_least(np.array([[1.0], [13.0], [0.0]]), np.array([[0, 5], [0, 5], [0, 5]]))
    assert table.shape == (3, 2)
    assert table[1].tolist() == [0.0, 0.0]
    assert table[2].tolist() == [1.0, 1.0]
    assert 0 < table[0, 0] < table[0, 1] < 1


def test_full_suppression_publishes_nothing():
    law = OutputDistribution(ReleaseChain(noise=NOISES["laplace"], group_size=5, clamp=True, suppress=5))
    assert law.at_least(np.array(0.1), COUNTS).tolist() == [0.0] * 13
    assert law.at_least(np.array(0.0), COUNTS).tolist() == [1.0] * 13
    assert law.moments(COUNTS)[0].tolist() == [0.0] * 13


def test_large_counts_are_tabulated_in_chunks():
    law = OutputDistribution(ReleaseChain(noise=NOISES["geometric"], group_size=2_000, clamp=True))
    mean, variance = law.moments(np.arange(1_000))
    np.testing.assert_allclose(mean[100:], np.arange(100, 1_000), atol=1e-9)
    assert np.ptp(variance[100:]) < 1e-6
