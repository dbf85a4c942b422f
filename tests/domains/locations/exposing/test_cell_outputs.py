import numpy as np
import pytest

from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.exposing.cell_outputs import published
from leakgauge.domains.locations.exposing.visitors_drawn import Draw, Masses
from leakgauge.mechanisms import gaussian, geometric, laplace

NOISES = {
    "raw": None,
    "laplace": laplace.Mechanism(scale=1.0),
    "sharp laplace": laplace.Mechanism(scale=0.2),
    "wide laplace": laplace.Mechanism(scale=10.0),
    "gaussian": gaussian.Mechanism(sigma=3.0, delta=1e-5),
    "geometric": geometric.Mechanism(scale=1.5),
}
STEPS = [{}, {"round": True}, {"clamp": True}, {"round": True, "clamp": True, "suppress": 2}, {"suppress": 3}]
COMPANY, OTHERS = Draw(700, 299).of(6), Draw(700, 300).of(6)


def simulated(chain: Chain, masses: Masses, more: int, n: int, rng: np.random.Generator) -> np.ndarray:
    counts = masses.first + rng.choice(masses.chances.size, size=n, p=masses.chances)
    return chain.sample(counts + more, rng)


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_outputs_have_the_laws_that_releases_have(noise, steps):
    chain = Chain(noise=NOISES[noise], group_size=300, **steps)
    law = published(chain, COMPANY, OTHERS)
    rng, n = np.random.default_rng(1), 100_000
    for masses, members, more in ((COMPANY, law.members, 1), (OTHERS, law.others, 0)):
        assert members.sum() == pytest.approx(1, abs=1e-9)
        drawn = simulated(chain, masses, more, n, rng)
        for cut in (0.0, 0.5, 1.5, 3.5, 6.5):  # no output lies there, or many do
            exact = members[law.outputs <= cut].sum()
            slack = 0.0 if chain.whole else 0.02  # a piece of the line may lie on both sides
            assert np.mean(drawn <= cut) == pytest.approx(exact, abs=0.006 + slack)


@pytest.mark.parametrize("noise", ["laplace", "wide laplace", "gaussian"])
def test_the_ratio_of_densities_is_exact_at_every_output(noise):
    from scipy.stats import laplace as laplace_law
    from scipy.stats import norm

    chain = Chain(noise=NOISES[noise], group_size=300)
    law = published(chain, COMPANY, OTHERS)
    density = norm(scale=3.0).pdf if noise == "gaussian" else laplace_law(scale=chain.noise.noise_scale).pdf
    worlds = [
        density(law.outputs[:, None] - masses.first - np.arange(masses.chances.size) - more) @ masses.chances
        for masses, more in ((COMPANY, 1), (OTHERS, 0))
    ]
    np.testing.assert_allclose(law.members / law.others, worlds[0] / worlds[1], rtol=1e-9)


def test_where_everything_is_suppressed_there_is_one_output():
    chain = Chain(noise=NOISES["laplace"], group_size=5, clamp=True, suppress=9)
    law = published(chain, COMPANY, OTHERS)
    assert (law.outputs.tolist(), law.members.tolist(), law.others.tolist()) == ([0.0], [1.0], [1.0])
