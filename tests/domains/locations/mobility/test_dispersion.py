import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from leakgauge.domains.locations.mobility.dispersion import SHAPES, _tabulate, estimate_shapes
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import laplace

SIZE = 500
CHAINS = {
    "raw": ReleaseChain(noise=None, group_size=SIZE),
    "suppressed": ReleaseChain(noise=None, group_size=SIZE, suppress=2),
    "rounded": ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=SIZE, round=True, clamp=True),
    "continuous": ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=SIZE, clamp=True),
}


def expected_counts(n=20_000, seed=1):
    return np.random.default_rng(seed).lognormal(0.0, 1.0, n)


def released(chain, shape, expected, seed=2):
    """Negative binomial counts, drawn by SciPy, and published."""
    rng = np.random.default_rng(seed)
    if np.isinf(shape):
        return chain.sample(poisson.rvs(expected, random_state=rng), rng)
    return chain.sample(nbinom.rvs(shape, shape / (shape + expected), random_state=rng), rng)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("shape", [0.5, 3.0, 12.0])
def test_recovers_shape_through_noise(name, shape):
    """Shapes are a quarter apart in logs."""
    expected = expected_counts()
    outputs = released(CHAINS[name], shape, expected)
    (found,) = estimate_shapes(outputs[None], [expected], CHAINS[name], SIZE)
    assert abs(np.log(found / shape)) < 0.4


@pytest.mark.parametrize("name", CHAINS)
def test_poisson_counts_have_large_shape(name):
    expected = expected_counts()
    outputs = released(CHAINS[name], np.inf, expected)
    (found,) = estimate_shapes(outputs[None], [expected], CHAINS[name], SIZE)
    assert found > 50


def test_likelihood_is_that_of_negative_binomial_counts():
    """The table holds log sum_c P(c) P(output | c), here for suppressed counts, by SciPy."""
    table = _tabulate(CHAINS["suppressed"], SIZE, 0, 12, ())
    assert table.outputs.tolist() == [0.0, *range(3, 13)]
    means = 1e-5 * np.exp(0.1 * np.arange(table.table.shape[1] // table.outputs.size))
    for row in (0, 8, 25, 40):
        found = table.table[row].reshape(means.size, -1)
        chances = nbinom.pmf(np.arange(13)[:, None], SHAPES[row], SHAPES[row] / (SHAPES[row] + means)).T
        expected = np.column_stack([chances[:, :3].sum(axis=1), chances[:, 3:]])
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-6, atol=1e-200)


def test_strong_noise_leaves_the_prior():
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=0.01), group_size=SIZE, round=True)
    expected = expected_counts(500)
    (found,) = estimate_shapes(released(chain, 0.5, expected)[None], [expected], chain, SIZE)
    assert 0.5 < found < 30


def test_releases_are_estimated_separately():
    expected = expected_counts(5_000)
    chain = CHAINS["suppressed"]
    both = np.stack([released(chain, shape, expected) for shape in (1.0, 10.0)])
    found = estimate_shapes(both, [expected, expected], chain, SIZE)
    assert found[0] < 2 < 5 < found[1]


def test_crowded_cells_are_left_out():
    chain = CHAINS["raw"]
    expected = np.append(expected_counts(2_000), np.full(50, 400.0))
    outputs = released(chain, 3.0, expected)
    (found,) = estimate_shapes(outputs[None], [expected], chain, SIZE)
    assert abs(np.log(found / 3.0)) < 0.5
