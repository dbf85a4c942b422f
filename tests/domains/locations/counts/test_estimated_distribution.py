import pickle

import numpy as np
import pytest
from scipy.stats import rankdata

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts import estimated_distribution
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import log_ratios, total_log_ratio
from leakgauge.domains.locations.counts.estimated_distribution import (
    EstimatedDistribution,
    GeometricTail,
    OutputBins,
    OutputFrequencies,
    fit_per_count,
    fit_shift_distribution,
)
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import gaussian, laplace


def test_integer_outputs_are_their_own_bins():
    outputs = np.array([3.0, -2.0, 5.0, 5.0])
    symbols = OutputBins.of(outputs, np.zeros(4, dtype=np.int64))
    assert symbols.whole
    assert (symbols.step, symbols.first, symbols.n, symbols.per_count) == (1.0, -2, 8, 1)
    assert symbols.columns(outputs).tolist() == [5, 0, 7, 7]


def test_real_outputs_get_bins_aligned_with_counts():
    rng = np.random.default_rng(1)
    counts = rng.poisson(4, 5000)
    symbols = OutputBins.of(counts + rng.laplace(scale=0.7, size=5000), counts)
    assert not symbols.whole
    assert symbols.per_count * symbols.step == 1
    assert 0.7 / 32 < symbols.step < 0.7 / 8
    outputs = np.array([2.3, 3.3])
    assert np.diff(symbols.columns(outputs)).tolist() == [symbols.per_count]


def test_recurring_values_get_own_bins():
    rng = np.random.default_rng(1)
    outputs = np.maximum(rng.laplace(scale=2.0, size=5000), 0.0)
    outputs = np.where(outputs > 7, 7.0, outputs)
    symbols = OutputBins.of(outputs, np.zeros(5000, dtype=np.int64))
    assert symbols.atoms.tolist() == [0.0, 7.0]
    assert symbols.columns(np.array([0.0, 7.0])).tolist() == [symbols.n_bins, symbols.n_bins + 1]
    assert symbols.atom(np.array([0.01, 3.0])).tolist() == [-1, -1]


NONE = np.empty(0, dtype=np.int64)


def tally_of(release, counts) -> OutputFrequencies:
    outputs = release(counts)
    return OutputFrequencies.of(
        OutputBins.of(outputs, counts), counts, outputs, (int(counts.min()), int(counts.max()))
    )


def test_tally_counts_pairs():
    counts = np.array([2, 3, 3, 3])
    tally = tally_of(lambda c: c - np.array([0.0, 1.0, 0.0, 0.0]), counts)
    assert tally.times.tolist() == [[1, 0], [1, 2]]
    assert tally.distances.tolist() == [[0, 1], [-1, 0]]


def test_tail_matches_observed_mean_and_spread():
    distances = (
        np.random.default_rng(1).geometric(0.3, 4000) * np.random.default_rng(2).choice([-1, 1], 4000) + 5.0
    )
    tail = GeometricTail.of(distances, np.ones(4000))
    assert abs(tail.middle - 5) <= 1
    assert np.exp(tail.log_at(np.arange(-400.0, 400.0))).sum() == pytest.approx(1)


def test_every_output_has_positive_probability():
    tally = tally_of(lambda c: c.astype(float), np.repeat([1, 2, 9], 50))
    law = tally.safe(fit_shift_distribution(tally, NONE), np.full(9, 150.0))
    assert (law > 0).all()
    np.testing.assert_array_less(law.sum(axis=1), 1 + 1e-9)
    assert law[0, 0] > 0.98


def shares(tally: OutputFrequencies, law: np.ndarray, release, count: int, n: int = 200_000) -> float:
    """How far (total variation) a row lies from what comes out at its count."""
    columns = tally.symbols.columns(release(np.full(n, count)))
    seen = np.bincount(columns[(columns >= 0) & (columns < tally.symbols.n)], minlength=tally.symbols.n) / n
    return np.abs(seen - law[count - tally.first_count]).sum() / 2


@pytest.mark.parametrize("lumps", [NONE, np.array([0])], ids=["none", "zero"])
def test_clamping_and_suppression_are_detected(lumps):
    rng = np.random.default_rng(1)

    def release(counts):
        noisy = np.maximum(np.floor(counts + rng.laplace(scale=1.5, size=counts.shape)), 0)
        return np.where(noisy <= 2, 0.0, noisy)

    tally = tally_of(release, rng.poisson(6, 60_000))
    law = fit_shift_distribution(tally, lumps)
    np.testing.assert_allclose(law.sum(axis=1), 1)
    assert (law[:, 1:3] == 0).all()  # never published
    for count in (0, 3, 6, 10):
        assert shares(tally, law, release, count) < 0.02


def test_estimate_is_smoothed_over_neighbouring_counts():
    """Noise that grows with the count moves with nothing."""
    rng = np.random.default_rng(1)

    def release(counts):
        return np.floor(counts + rng.normal(scale=0.5 + counts / 4))

    tally = tally_of(release, rng.poisson(6, 60_000))
    for share in (0.0, 0.5, 1.0):
        law = fit_per_count(tally, share)
        np.testing.assert_allclose(law.sum(axis=1), 1)
        assert max(shares(tally, law, release, count) for count in (3, 6, 9)) < 0.04
    assert (
        max(shares(tally, fit_shift_distribution(tally, NONE), release, count) for count in (3, 6, 9)) > 0.1
    )


CHAINS = {
    "raw-suppress": ReleaseChain(noise=None, group_size=1000, suppress=2),
    "laplace": ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=1000),
    "laplace-clamp-suppress": ReleaseChain(
        noise=laplace.Mechanism(epsilon=1.0), group_size=1000, clamp=True, suppress=1
    ),
    "laplace-round": ReleaseChain(
        noise=laplace.Mechanism(epsilon=0.5), group_size=1000, round=True, clamp=True
    ),
    "laplace-round-suppress": ReleaseChain(
        noise=laplace.Mechanism(epsilon=1.0), group_size=1000, round=True, clamp=True, suppress=1
    ),
    "gaussian-round": ReleaseChain(
        noise=gaussian.Mechanism(sigma=3.0, delta=1e-5), group_size=1000, round=True
    ),
}


def counts_of(density: float, n_rounds: int, rng) -> tuple[np.ndarray, np.ndarray]:
    rates = np.exp(rng.normal(np.log(density), 1.0, 30)).clip(0, 0.5)
    return rates, rng.binomial(999, rates, size=(n_rounds, 30))


def auc(scores: np.ndarray, members: np.ndarray) -> float:
    n, ranks = members.sum(), rankdata(scores)
    return (ranks[members].sum() - n * (n + 1) / 2) / (n * (~members).sum())


@pytest.mark.parametrize("density", [0.0008, 0.01])
@pytest.mark.parametrize("name", CHAINS)
def test_four_hundred_shadows_reach_nearly_full_auc(name, density):
    chain, rng = CHAINS[name], np.random.default_rng(1)
    rates, counts = counts_of(density, 400, rng)
    law = EstimatedDistribution.of(counts, chain.sample(counts, rng))
    assert law.whole == chain.whole
    members = np.arange(2000) % 2 == 0
    outputs = chain.sample(rng.binomial(999, rates, size=(2000, 30)) + members[:, None], rng)
    prior = CountPrior(rates, 999, 999, np.zeros(30, dtype=np.int64))
    best, found = (
        auc(total_log_ratio(log_ratios(each, outputs, 0, prior)), members) for each in (chain, law)
    )
    assert best > 0.7
    assert found > best - 0.01


@pytest.mark.parametrize("name", ["laplace-round-suppress", "gaussian-round", "raw-suppress"])
def test_probabilities_match_chain(name):
    chain, rng = CHAINS[name], np.random.default_rng(1)
    counts = rng.poisson(5, size=(2000, 30))
    law = EstimatedDistribution.of(counts, chain.sample(counts, rng))
    outputs, exact = chain.table(np.arange(12))
    found = np.exp(law.log_law(outputs, np.arange(12)[:, None]))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=0.02)
    assert (np.abs(found - exact).sum(axis=1) / 2 < 0.03).all()


def test_unseen_counts_use_shifted_nearest_estimate():
    chain, rng = CHAINS["gaussian-round"], np.random.default_rng(1)
    counts = rng.integers(0, 10, size=(500, 30))
    law = EstimatedDistribution.of(counts, chain.sample(counts, rng))
    outputs, exact = chain.table(np.array([25]))
    found = np.exp(law.log_law(outputs, 25))
    assert np.abs(found - exact[0]).sum() / 2 < 0.05
    assert np.isfinite(law.log_law(np.array([-1000.0, 1000.0]), 5)).all()


def test_large_counts_with_strong_noise_fit_into_table(monkeypatch):
    monkeypatch.setattr(estimated_distribution, "_MAX_ENTRIES", 2**19)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4000, size=(1000, 30))
    for epsilon in (0.01, 1.0):
        chain = ReleaseChain(noise=laplace.Mechanism(epsilon=epsilon), group_size=5000, clamp=True)
        law = EstimatedDistribution.of(counts, chain.sample(counts, rng))
        assert law.table.size < 2**20
        for count in (700, 3500):
            outputs = np.linspace(count - 2 / epsilon, count + 2 / epsilon, 41) + 0.01
            np.testing.assert_allclose(law.log_law(outputs, count), chain.log_law(outputs, count), atol=0.5)


def test_learns_rounding_to_fives():
    """No output moves with the count, and most never occur."""
    rng = np.random.default_rng(1)

    def release(counts):
        return np.maximum(5 * np.round((counts + rng.laplace(scale=1.0, size=counts.shape)) / 5), 0.0)

    counts = rng.poisson(7, size=(2000, 30))
    law = EstimatedDistribution.of(counts, release(counts))
    outputs = np.arange(0.0, 31.0, 5)
    for count, off in ((0, 0.1), (3, 0.02), (8, 0.02), (12, 0.02)):  # of 60,000 shadows, 50 have no visitor
        seen = np.array([(release(np.full(100_000, count)) == o).mean() for o in outputs])
        np.testing.assert_allclose(np.exp(law.log_law(outputs, count)), seen, atol=off)


def test_learns_noise_growing_with_count():
    rng = np.random.default_rng(1)

    def release(counts):
        return np.floor(counts + rng.normal(scale=0.5 + counts / 4))

    counts = rng.poisson(7, size=(2000, 30))
    law = EstimatedDistribution.of(counts, release(counts))
    outputs = np.arange(-20.0, 40.0)
    for count in (3, 8, 12):
        seen = np.array([(release(np.full(100_000, count)) == o).mean() for o in outputs])
        assert np.abs(np.exp(law.log_law(outputs, count)) - seen).sum() / 2 < 0.06


def test_indistinguishable_outputs_are_merged():
    chain, rng = CHAINS["laplace-clamp-suppress"], np.random.default_rng(1)
    counts = rng.poisson(5, size=(500, 30))
    outputs = chain.sample(counts, rng)
    law = EstimatedDistribution.of(counts, outputs)
    coarse = law.coarse(outputs)
    np.testing.assert_array_equal(law.log_law(coarse, counts), law.log_law(outputs, counts))
    assert np.unique(coarse).size < np.unique(outputs).size / 5
    assert (coarse[outputs == 0] == 0).all()


def test_densities_integrate_to_one():
    chain, rng = CHAINS["laplace-clamp-suppress"], np.random.default_rng(1)
    counts = rng.poisson(5, size=(500, 30))
    law = EstimatedDistribution.of(counts, chain.sample(counts, rng))
    grid = np.linspace(-10, 40, 500_001)[:-1] + 5e-5
    for count in (0, 4, 9):
        density = np.exp(law.log_law(grid, count)).sum() * 1e-4
        assert density + np.exp(law.log_law(0.0, count)) == pytest.approx(1, abs=0.02)


def test_can_be_pickled_and_is_reproducible():
    rng = np.random.default_rng(1)
    counts = rng.poisson(5, size=(50, 30))
    outputs = CHAINS["laplace"].sample(counts, rng)
    law, again = EstimatedDistribution.of(counts, outputs), EstimatedDistribution.of(counts, outputs)
    travelled = pickle.loads(pickle.dumps(law))
    for other in (again, travelled):
        np.testing.assert_array_equal(other.log_law(outputs, counts), law.log_law(outputs, counts))


@pytest.mark.parametrize("outputs", [np.zeros(99), np.zeros((100, 2)), np.append(np.zeros(99), np.nan)])
def test_rejects_too_few_or_invalid_pairs(outputs):
    with pytest.raises(BadInput, match="100 finite outputs or more"):
        EstimatedDistribution.of(np.zeros(min(outputs.size, 100), dtype=np.int64), outputs)
