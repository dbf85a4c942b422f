import numpy as np
import pytest

from domains.locations.mobility_ground_truth import chain_of, distances, group_counts, homely
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.mobility.marginals import (
    _release,
    estimate_from_marginals,
    log_compress,
    marginal_shares,
    matching_mean,
    matching_power,
    power_transform,
    published_mean,
)
from leakgauge.domains.locations.mobility.mobility_profile import (
    MobilityProfile,
    total_variation,
    true_profile,
)
from leakgauge.domains.locations.mobility.synthetic_traces import TraceSampler, draw_traces
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import laplace

PEOPLE = homely()
TRUE = true_profile(PEOPLE)
COUNTS = group_counts(PEOPLE, 1, 800)[0]


def released(setting, seed=2):
    chain = chain_of(setting, 800)
    return chain.sample(COUNTS, np.random.default_rng(seed)), chain


def test_totals_match_equations_5_and_6():
    table = np.array([[3.0, 1.0, -2.0], [0.0, 4.0, 0.0]])
    np.testing.assert_allclose(marginal_shares(table, 1), [0.5, 0.5])
    np.testing.assert_allclose(marginal_shares(table, 0), [3 / 8, 5 / 8, 0])


def test_empty_release_has_uniform_marginals():
    np.testing.assert_allclose(marginal_shares(np.zeros((2, 4)), 0), np.full(4, 0.25))
    cells = CellMap(2, 4, np.zeros(4, dtype=np.int64))
    found = estimate_from_marginals(np.zeros(8), chain_of("suppress 5", 10), 10, cells)
    np.testing.assert_allclose(found.space, 0.5)
    assert found.mean > 0


def test_log_compression_matches_equations_7_and_8():
    shares = np.array([0.1, 0.2, 0.7, 0.0])
    exact = np.log(1 + np.array([1.0, 2.0, 7.0, 0.0]))
    np.testing.assert_allclose(log_compress(shares), exact / exact.sum())


def test_normalised_uniform_numbers_have_target_variance():
    numbers = np.random.default_rng(3).random((20_000, 100))
    shares = numbers / numbers.sum(axis=1, keepdims=True)
    assert shares.var(axis=1).mean() == pytest.approx(1 / (3 * 100**2), rel=0.02)


def test_power_reaches_target_variance():
    shares = np.random.default_rng(4).dirichlet(np.full(100, 400.0))
    power = matching_power(shares)
    assert power > 1
    assert power_transform(shares).var() == pytest.approx(1 / (3 * 100**2), rel=1e-6)
    exact = shares**power / (shares**power).sum()
    np.testing.assert_allclose(power_transform(shares), exact)


def test_sufficiently_varied_shares_are_unchanged():
    shares = np.random.default_rng(5).dirichlet(np.full(100, 0.5))
    assert matching_power(shares) == 1
    np.testing.assert_allclose(power_transform(shares), shares)


def test_variance_grows_with_power():
    shares = np.random.default_rng(6).dirichlet(np.ones(30))
    powers = [shares**p / (shares**p).sum() for p in np.linspace(1, 20, 60)]
    assert (np.diff([p.var() for p in powers]) >= 0).all()


@pytest.mark.parametrize("shares", [np.full(10, 0.1), np.append(np.full(9, 0.11), 0.01)])
def test_power_search_terminates_without_solution(shares):
    assert np.isfinite(matching_power(shares))
    np.testing.assert_allclose(power_transform(shares).sum(), 1)


def test_noise_on_sparse_counts_flattens_marginals():
    """Theorem A.2: clamped noise drives the marginals to the uniform law, here as one over root of epochs."""
    chain = ReleaseChain(noise=laplace.Mechanism(scale=3.0), group_size=1000, clamp=True)
    rng = np.random.default_rng(7)
    far = []
    for n_epochs in (100, 1_600, 25_600):
        counts = np.zeros((20, n_epochs), dtype=np.int64)
        counts[rng.integers(0, 20, 300), rng.integers(0, n_epochs, 300)] += 1  # few, however many epochs
        shares = marginal_shares(chain.sample(counts, rng), 1)
        far.append(total_variation(shares, np.full(20, 0.05)))
    assert far[0] > 2.5 * far[1] > 6 * far[2]
    assert far[2] < 0.005
    counts = np.zeros((25_600, 20), dtype=np.int64)
    counts[rng.integers(0, 25_600, 300), rng.integers(0, 20, 300)] += 1
    shares = marginal_shares(chain.sample(counts, rng), 0)
    assert total_variation(shares, np.full(20, 0.05)) < 0.005


@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0])
def test_clamped_noise_has_mean_of_lemma_a3(scale):
    """E[max(L, 0)] = b / 2; rounded down it is 1 / (2 (e^(1/b) - 1)), .291 for b = 1."""
    n = 400_000
    noise = laplace.Mechanism(scale=scale)
    zeros, rng = np.zeros(n, dtype=np.int64), np.random.default_rng(8)
    plain = ReleaseChain(noise=noise, group_size=10**6, clamp=True).sample(zeros, rng)
    rounded = ReleaseChain(noise=noise, group_size=10**6, clamp=True, round=True).sample(zeros, rng)
    assert plain.mean() == pytest.approx(scale / 2, abs=5 * plain.std() / np.sqrt(n))
    assert rounded.mean() == pytest.approx(0.5 / np.expm1(1 / scale), abs=5 * rounded.std() / np.sqrt(n))


def test_method_follows_chain_as_in_algorithm_2():
    for setting, same in (("raw", "raw"), ("suppress 2", "log"), ("event 1, suppress 1", "power")):
        release, chain = released(setting)
        found, named = (estimate_from_marginals(release, chain, 800, PEOPLE.map, m) for m in ("guan24", same))
        np.testing.assert_array_equal(found.space, named.space)
        assert found.mean == named.mean


@pytest.mark.parametrize(
    ("setting", "method", "closer"), [("event 0.1", "power", "space"), ("suppress 7", "log", "time")]
)
def test_corrections_bring_totals_closer_to_truth(setting, method, closer):
    release, chain = released(setting)
    plain, corrected = (estimate_from_marginals(release, chain, 800, PEOPLE.map, m) for m in ("raw", method))
    which = {"space": 0, "time": 1}[closer]
    assert distances(corrected, TRUE)[which] < 0.9 * distances(plain, TRUE)[which]


@pytest.mark.parametrize("setting", ["suppress 1", "event 1", "event 0.5", "user-day 10"])
def test_mean_is_corrected(setting):
    release, chain = released(setting)
    assert abs(distances(estimate_from_marginals(release, chain, 800, PEOPLE.map), TRUE)[2]) < 0.15


def test_published_method_flattens_noisy_and_compresses_raw_counts():
    release, chain = released("event 1")
    found = estimate_from_marginals(release, chain, 800, PEOPLE.map, "published")
    np.testing.assert_allclose(found.space, 1 / 36)
    np.testing.assert_allclose(found.time, 1 / 72)
    release, chain = released("raw")
    found = estimate_from_marginals(release, chain, 800, PEOPLE.map, "published")
    np.testing.assert_allclose(found.space, log_compress(marginal_shares(release.reshape(36, 72), 1)))
    assert found.mean == pytest.approx(COUNTS.sum() / 800)


def test_rejects_unknown_method():
    release, chain = released("raw")
    with pytest.raises(
        BadInput, match="marginals must be one of raw, log, power, guan24, published, got 'odd'"
    ):
        estimate_from_marginals(release, chain, 800, PEOPLE.map, "odd")


HABITS = true_profile(PEOPLE)
SIZE = 1_000


def model_release(setting, mean, seed=5):
    """A release of people who move exactly as the method believes."""
    chain, rng = chain_of(setting, SIZE), np.random.default_rng(seed)
    people = draw_traces(MobilityProfile(mean, HABITS.space, HABITS.time), SIZE, PEOPLE.map, rng)
    return chain.sample(people.visitors(), rng), chain


def found(method, setting, mean, seed=5):
    release, chain = model_release(setting, mean, seed)
    start = MobilityProfile(max(release.sum(), 0.5) / SIZE, HABITS.space, HABITS.time)
    return method(release.reshape(36, 72), chain, SIZE, start, PEOPLE.map, 0)


@pytest.mark.parametrize("mean", [4.0, 15.0])
@pytest.mark.parametrize(
    "setting", ["suppress 1", "suppress 3", "event 0.5", "event 1", "event 1, suppress 1"]
)
def test_recovers_mean_of_model_people(setting, mean):
    assert found(matching_mean, setting, mean) == pytest.approx(mean, rel=0.12)


def test_search_ends_when_sums_agree():
    release, chain = model_release("event 1", 10.0)
    mean = found(matching_mean, "event 1", 10.0)
    made_up = _release(
        TraceSampler(PEOPLE.map), MobilityProfile(mean, HABITS.space, HABITS.time), chain, SIZE, 0
    )
    assert abs(made_up.sum() - release.sum()) / SIZE < 0.05


def test_double_steps_oscillate_around_the_mean():
    errors = [abs(found(published_mean, "event 0.5", 10.0, seed) - 10.0) for seed in range(4)]
    corrected = [abs(found(matching_mean, "event 0.5", 10.0, seed) - 10.0) for seed in range(4)]
    assert np.mean(corrected) < np.mean(errors)


def test_release_below_noise_level_has_small_positive_mean():
    chain = chain_of("event 0.1", SIZE)
    start = MobilityProfile(1.0, HABITS.space, HABITS.time)
    mean = matching_mean(np.zeros((36, 72)), chain, SIZE, start, PEOPLE.map, 0)
    assert 0 < mean < 0.1


def test_mean_is_reproducible():
    assert found(matching_mean, "event 1", 10.0) == found(matching_mean, "event 1", 10.0)
