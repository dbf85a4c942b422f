import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import poisson

from leakgauge.domains.locations.mobility.rate_likelihood import output_range, rate_likelihood
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import gaussian, geometric, laplace

CHAINS = {
    "raw": ReleaseChain(noise=None, group_size=300),
    "suppressed": ReleaseChain(noise=None, group_size=300, suppress=3),
    "published": ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=300, round=True, clamp=True),
    "all steps": ReleaseChain(
        noise=laplace.Mechanism(epsilon=0.5), group_size=300, round=True, clamp=True, suppress=2
    ),
    "no clamp": ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=300, round=True),
    "little noise": ReleaseChain(
        noise=laplace.Mechanism(epsilon=10.0), group_size=300, round=True, clamp=True
    ),
    "much noise": ReleaseChain(noise=laplace.Mechanism(epsilon=0.05), group_size=300, round=True, clamp=True),
    "geometric": ReleaseChain(noise=geometric.Mechanism(epsilon=1.0), group_size=300),
    "laplace": ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=300),
    "laplace, clamped": ReleaseChain(noise=laplace.Mechanism(epsilon=0.5), group_size=300, clamp=True),
    "gaussian": ReleaseChain(noise=gaussian.Mechanism(delta=1e-5, sigma=2.0), group_size=300),
}


def log_likelihood(output, rates, chain):
    """Of a cell's expected visits, summing over every count there can be."""
    counts = np.arange(400)
    law = chain.log_law(np.full(counts.size, output), counts)
    return logsumexp(poisson.logpmf(counts, rates[:, None]) + law, axis=1)


@pytest.mark.parametrize("name", CHAINS)
def test_few_coefficients_represent_the_likelihood(name):
    chain = CHAINS[name]
    rng = np.random.default_rng(1)
    true = rng.poisson(np.exp(rng.normal(0.0, 1.2, 400)))
    outputs = chain.sample(true, rng)
    evidence = rate_likelihood(outputs, chain, chain.group_size)
    rates = np.exp(np.linspace(np.log(1e-3), np.log(20), 40))
    found = evidence.of(outputs) @ evidence.at(np.log(rates)).T
    exact = np.array([log_likelihood(output, rates, chain) for output in outputs])
    near = exact > exact.max(axis=1, keepdims=True) - 8
    errors = (found - found.mean(axis=1, keepdims=True)) - (exact - exact.mean(axis=1, keepdims=True))
    errors -= np.array([row[keep].mean() for row, keep in zip(errors, near)])[:, None]  # up to a constant
    assert np.abs(errors[near]).max() < 0.1
    assert np.abs(errors[near]).mean() < 0.01
    assert evidence.numbers.shape[1] <= 10


def test_three_coefficients_suffice_for_suppression():
    outputs = np.array([0.0, 4.0, 9.0])
    assert rate_likelihood(outputs, CHAINS["suppressed"], 300).numbers.shape[1] == 3


def test_table_is_shared_by_equal_distributions():
    chain = CHAINS["published"]
    first = rate_likelihood(np.array([0.0, 25.0]), chain, 300)
    assert rate_likelihood(np.array([0.0, 27.0]), chain, 300) is first
    assert rate_likelihood(np.array([0.0, 27.0]), chain, 299) is not first


def test_large_count_is_used_directly():
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=100_000, round=True, clamp=True)
    outputs = np.array([3.0, 40_000.0])
    evidence = rate_likelihood(outputs, chain, 100_000)
    rates = np.linspace(39_000.0, 41_000.0, 41)
    found = evidence.of(outputs)[1] @ evidence.at(np.log(rates)).T
    exact = poisson.logpmf(40_000, rates)
    np.testing.assert_allclose(found - found.max(), exact - exact.max(), rtol=0.02, atol=0.01)
    low = np.exp(np.linspace(-3, 3, 20))
    few = evidence.of(outputs)[0] @ evidence.at(np.log(low)).T
    assert low[few.argmax()] == low[log_likelihood(3.0, low, chain).argmax()]


@pytest.mark.parametrize("least", [-1030.0, -3.0, 0.0, 19.0, 1030.0])
def test_output_range_holds_all_outputs(least):
    low, high, _ = output_range(np.array([least, 1500.0]), ReleaseChain(noise=None, group_size=2000))
    assert low <= least
    assert high >= 1500
