import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.cell_exposure.cell_outputs import (
    CountProbabilities,
    HypergeometricDraw,
    outputs_of_cell,
)
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms import gaussian, geometric, laplace


@pytest.mark.parametrize("visitors", [0, 1, 7, 200, 4_999, 5_000])
@pytest.mark.parametrize("size", [0, 1, 1_000, 5_000])
def test_count_distribution_is_hypergeometric(visitors, size):
    from scipy.stats import hypergeom

    found = HypergeometricDraw(5_000, size).of(visitors)
    counts = found.first + np.arange(found.chances.size)
    np.testing.assert_allclose(found.chances, hypergeom.pmf(counts, 5_000, visitors, size), atol=1e-10)
    assert found.chances.sum() == pytest.approx(1)


def test_distribution_over_wider_range_is_the_same():
    masses = CountProbabilities(3, np.array([0.25, 0.75]))
    np.testing.assert_array_equal(masses.over(1, 6), [0, 0, 0.25, 0.75, 0, 0])
    assert masses.last == 4


@pytest.mark.parametrize("size", [-1, 11])
def test_rejects_group_larger_than_crowd(size):
    with pytest.raises(BadInput, match="cannot be drawn from 10 people"):
        HypergeometricDraw(10, size)


NOISES = {
    "raw": None,
    "laplace": laplace.Mechanism(scale=1.0),
    "sharp laplace": laplace.Mechanism(scale=0.2),
    "wide laplace": laplace.Mechanism(scale=10.0),
    "gaussian": gaussian.Mechanism(sigma=3.0, delta=1e-5),
    "geometric": geometric.Mechanism(scale=1.5),
}
STEPS = [{}, {"round": True}, {"clamp": True}, {"round": True, "clamp": True, "suppress": 2}, {"suppress": 3}]
COMPANY, OTHERS = HypergeometricDraw(700, 299).of(6), HypergeometricDraw(700, 300).of(6)


def simulated(
    chain: ReleaseChain, masses: CountProbabilities, more: int, n: int, rng: np.random.Generator
) -> np.ndarray:
    counts = masses.first + rng.choice(masses.chances.size, size=n, p=masses.chances)
    return chain.sample(counts + more, rng)


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_output_distributions_match_releases(noise, steps):
    chain = ReleaseChain(noise=NOISES[noise], group_size=300, **steps)
    law = outputs_of_cell(chain, COMPANY, OTHERS)
    rng, n = np.random.default_rng(1), 100_000
    for masses, members, more in ((COMPANY, law.members, 1), (OTHERS, law.others, 0)):
        assert members.sum() == pytest.approx(1, abs=1e-9)
        drawn = simulated(chain, masses, more, n, rng)
        for cut in (0.0, 0.5, 1.5, 3.5, 6.5):  # no output lies there, or many do
            exact = members[law.outputs <= cut].sum()
            slack = 0.0 if chain.whole else 0.02  # a piece of the line may lie on both sides
            assert np.mean(drawn <= cut) == pytest.approx(exact, abs=0.006 + slack)


@pytest.mark.parametrize("noise", ["laplace", "wide laplace", "gaussian"])
def test_ratio_of_densities_is_exact_at_every_output(noise):
    from scipy.stats import laplace as laplace_law
    from scipy.stats import norm

    chain = ReleaseChain(noise=NOISES[noise], group_size=300)
    law = outputs_of_cell(chain, COMPANY, OTHERS)
    density = norm(scale=3.0).pdf if noise == "gaussian" else laplace_law(scale=chain.noise.noise_scale).pdf
    worlds = [
        density(law.outputs[:, None] - masses.first - np.arange(masses.chances.size) - more) @ masses.chances
        for masses, more in ((COMPANY, 1), (OTHERS, 0))
    ]
    np.testing.assert_allclose(law.members / law.others, worlds[0] / worlds[1], rtol=1e-9)


def test_full_suppression_has_one_output():
    chain = ReleaseChain(noise=NOISES["laplace"], group_size=5, clamp=True, suppress=9)
    law = outputs_of_cell(chain, COMPANY, OTHERS)
    assert (law.outputs.tolist(), law.members.tolist(), law.others.tolist()) == ([0.0], [1.0], [1.0])
