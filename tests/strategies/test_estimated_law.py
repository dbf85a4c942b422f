import pickle

import numpy as np
import pytest
from scipy.stats import rankdata

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.mechanisms import gaussian, laplace
from leakgauge.strategies import estimated_law
from leakgauge.strategies.count_ratios import CountPrior, log_ratios, total
from leakgauge.strategies.estimated_law import EstimatedLaw

CHAINS = {
    "raw-suppress": Chain(noise=None, group_size=1000, suppress=2),
    "laplace": Chain(noise=laplace.Mechanism(epsilon=1.0), group_size=1000),
    "laplace-clamp-suppress": Chain(
        noise=laplace.Mechanism(epsilon=1.0), group_size=1000, clamp=True, suppress=1
    ),
    "laplace-round": Chain(noise=laplace.Mechanism(epsilon=0.5), group_size=1000, round=True, clamp=True),
    "laplace-round-suppress": Chain(
        noise=laplace.Mechanism(epsilon=1.0), group_size=1000, round=True, clamp=True, suppress=1
    ),
    "gaussian-round": Chain(noise=gaussian.Mechanism(sigma=3.0, delta=1e-5), group_size=1000, round=True),
}


def counts_of(density: float, n_rounds: int, rng) -> tuple[np.ndarray, np.ndarray]:
    rates = np.exp(rng.normal(np.log(density), 1.0, 30)).clip(0, 0.5)
    return rates, rng.binomial(999, rates, size=(n_rounds, 30))


def auc(scores: np.ndarray, members: np.ndarray) -> float:
    n, ranks = members.sum(), rankdata(scores)
    return (ranks[members].sum() - n * (n + 1) / 2) / (n * (~members).sum())


@pytest.mark.parametrize("density", [0.0008, 0.01])
@pytest.mark.parametrize("name", CHAINS)
def test_four_hundred_shadows_teach_nearly_all_that_the_law_is_worth(name, density):
    chain, rng = CHAINS[name], np.random.default_rng(1)
    rates, counts = counts_of(density, 400, rng)
    law = EstimatedLaw.of(counts, chain.sample(counts, rng))
    assert law.whole == chain.whole
    members = np.arange(2000) % 2 == 0
    outputs = chain.sample(rng.binomial(999, rates, size=(2000, 30)) + members[:, None], rng)
    prior = CountPrior(rates, 999, 999, np.zeros(30, dtype=np.int64))
    best, found = (auc(total(log_ratios(each, outputs, 0, prior)), members) for each in (chain, law))
    assert best > 0.7
    assert found > best - 0.01


@pytest.mark.parametrize("name", ["laplace-round-suppress", "gaussian-round", "raw-suppress"])
def test_probabilities_are_those_of_the_chain(name):
    chain, rng = CHAINS[name], np.random.default_rng(1)
    counts = rng.poisson(5, size=(2000, 30))
    law = EstimatedLaw.of(counts, chain.sample(counts, rng))
    outputs, exact = chain.table(np.arange(12))
    found = np.exp(law.log_law(outputs, np.arange(12)[:, None]))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=0.02)
    assert (np.abs(found - exact).sum(axis=1) / 2 < 0.03).all()


def test_counts_no_shadow_had_get_the_law_of_the_nearest_moved():
    chain, rng = CHAINS["gaussian-round"], np.random.default_rng(1)
    counts = rng.integers(0, 10, size=(500, 30))
    law = EstimatedLaw.of(counts, chain.sample(counts, rng))
    outputs, exact = chain.table(np.array([25]))
    found = np.exp(law.log_law(outputs, 25))
    assert np.abs(found - exact[0]).sum() / 2 < 0.05
    assert np.isfinite(law.log_law(np.array([-1000.0, 1000.0]), 5)).all()


def test_thousands_of_counts_and_strong_noise_fit_into_a_table(monkeypatch):
    monkeypatch.setattr(estimated_law, "_ENTRIES", 2**19)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4000, size=(1000, 30))
    for epsilon in (0.01, 1.0):
        chain = Chain(noise=laplace.Mechanism(epsilon=epsilon), group_size=5000, clamp=True)
        law = EstimatedLaw.of(counts, chain.sample(counts, rng))
        assert law.table.size < 2**20
        for count in (700, 3500):
            outputs = np.linspace(count - 2 / epsilon, count + 2 / epsilon, 41) + 0.01
            np.testing.assert_allclose(law.log_law(outputs, count), chain.log_law(outputs, count), atol=0.5)


def test_a_pipeline_that_rounds_to_fives_is_learned():
    """No output moves with the count, and most never occur."""
    rng = np.random.default_rng(1)

    def release(counts):
        return np.maximum(5 * np.round((counts + rng.laplace(scale=1.0, size=counts.shape)) / 5), 0.0)

    counts = rng.poisson(7, size=(2000, 30))
    law = EstimatedLaw.of(counts, release(counts))
    outputs = np.arange(0.0, 31.0, 5)
    for count, off in ((0, 0.1), (3, 0.02), (8, 0.02), (12, 0.02)):  # of 60,000 shadows, 50 have no visitor
        seen = np.array([(release(np.full(100_000, count)) == o).mean() for o in outputs])
        np.testing.assert_allclose(np.exp(law.log_law(outputs, count)), seen, atol=off)


def test_noise_that_grows_with_the_count_is_learned():
    rng = np.random.default_rng(1)

    def release(counts):
        return np.floor(counts + rng.normal(scale=0.5 + counts / 4))

    counts = rng.poisson(7, size=(2000, 30))
    law = EstimatedLaw.of(counts, release(counts))
    outputs = np.arange(-20.0, 40.0)
    for count in (3, 8, 12):
        seen = np.array([(release(np.full(100_000, count)) == o).mean() for o in outputs])
        assert np.abs(np.exp(law.log_law(outputs, count)) - seen).sum() / 2 < 0.06


def test_outputs_that_the_law_does_not_tell_apart_are_one():
    chain, rng = CHAINS["laplace-clamp-suppress"], np.random.default_rng(1)
    counts = rng.poisson(5, size=(500, 30))
    outputs = chain.sample(counts, rng)
    law = EstimatedLaw.of(counts, outputs)
    coarse = law.coarse(outputs)
    np.testing.assert_array_equal(law.log_law(coarse, counts), law.log_law(outputs, counts))
    assert np.unique(coarse).size < np.unique(outputs).size / 5
    assert (coarse[outputs == 0] == 0).all()


def test_densities_integrate_to_one():
    chain, rng = CHAINS["laplace-clamp-suppress"], np.random.default_rng(1)
    counts = rng.poisson(5, size=(500, 30))
    law = EstimatedLaw.of(counts, chain.sample(counts, rng))
    grid = np.linspace(-10, 40, 500_001)[:-1] + 5e-5
    for count in (0, 4, 9):
        density = np.exp(law.log_law(grid, count)).sum() * 1e-4
        assert density + np.exp(law.log_law(0.0, count)) == pytest.approx(1, abs=0.02)


def test_it_travels_to_workers_and_gives_the_same_again():
    rng = np.random.default_rng(1)
    counts = rng.poisson(5, size=(50, 30))
    outputs = CHAINS["laplace"].sample(counts, rng)
    law, again = EstimatedLaw.of(counts, outputs), EstimatedLaw.of(counts, outputs)
    travelled = pickle.loads(pickle.dumps(law))
    for other in (again, travelled):
        np.testing.assert_array_equal(other.log_law(outputs, counts), law.log_law(outputs, counts))


@pytest.mark.parametrize("outputs", [np.zeros(99), np.zeros((100, 2)), np.append(np.zeros(99), np.nan)])
def test_too_few_pairs_or_odd_ones_are_refused(outputs):
    with pytest.raises(BadInput, match="100 finite outputs or more"):
        EstimatedLaw.of(np.zeros(min(outputs.size, 100), dtype=np.int64), outputs)
