import numpy as np
import pytest
from scipy.sparse import csr_array

from domains.locations.small_town import town
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.mobility.mobility_profile import (
    MobilityProfile,
    MobilityProfiles,
    PopularityPrior,
    popularity_of,
    similar_epochs,
    total_variation,
    true_profile,
)


def test_true_profile_is_plain_average():
    people = town()
    dense = people.visits.toarray().reshape(people.n_people, 4, 6).astype(float)
    habits = true_profile(people)
    assert habits.mean == pytest.approx(dense.sum() / people.n_people)
    np.testing.assert_allclose(habits.space, dense.sum(axis=(0, 2)) / dense.sum())
    np.testing.assert_allclose(habits.time, dense.sum(axis=(0, 1)) / dense.sum())


def test_cell_rate_is_mean_times_shares_capped_at_one():
    habits = MobilityProfile(3.0, np.array([0.9, 0.1]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(habits.rates, [1.0, 1.0, 0.15, 0.15])


def test_batch_rates_match_single_rates():
    rng = np.random.default_rng(1)
    spaces, times = rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(5), 3)
    estimates = MobilityProfiles(np.array([1.0, 20.0, 90.0]), spaces, times)
    cells = np.array([0, 7, 19])
    np.testing.assert_allclose(estimates.rates(cells), [one.rates[cells] for one in estimates])


def test_total_variation_is_largest_difference_over_all_sets():
    rng = np.random.default_rng(2)
    first, second = rng.dirichlet(np.ones(6), 2)
    sets = [np.array([(i >> j) & 1 for j in range(6)], dtype=bool) for i in range(64)]
    assert total_variation(first, second) == pytest.approx(max((first - second)[s].sum() for s in sets))


@pytest.mark.parametrize("mean", [0.0, -1.0, np.nan, np.inf])
def test_rejects_invalid_mean(mean):
    with pytest.raises(BadInput, match="visits per person must be above 0"):
        MobilityProfile(mean, np.ones(1), np.ones(1))


def test_rejects_shares_that_do_not_sum_to_one():
    with pytest.raises(BadInput, match="shares of time must be >= 0 and sum to 1"):
        MobilityProfile(1.0, np.ones(1), np.array([0.5, np.nan]))


def test_hours_are_linked_to_adjacent_hours_and_days():
    weights = similar_epochs(np.arange(72) // 24).toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights[30, [29, 31, 28, 32, 6, 54]], np.array([2, 2, 1, 1, 2, 2]) / 10)
    assert np.count_nonzero(weights[30]) == 6
    assert not weights.diagonal().any()


def test_single_epoch_has_no_links():
    assert similar_epochs(np.zeros(1, dtype=np.int64)).nnz == 0


def test_unequal_days_link_only_common_hours():
    weights = similar_epochs(np.array([0, 0, 0, 1, 1, 3])).toarray()
    assert weights[2, 5] == 0
    assert weights[1, 4] > 0
    assert weights[3, 5] > 0  # the next but one
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def measured(grid, logs, error):
    """Log-likelihoods on the coarse grid of popularities measured with a normal error."""
    return -((grid.coarse - logs[:, None]) ** 2) / (2 * error**2)


def test_precise_measurements_are_kept():
    grid = popularity_of(100, PopularityPrior())
    logs = np.random.default_rng(1).normal(0, 0.7, 100)
    likelihood = grid.likelihood(measured(grid, logs, 0.1))
    found = grid.means(grid.belief(likelihood, grid.law(likelihood)))
    np.testing.assert_allclose(np.log(found), logs, atol=0.1)


def test_useless_measurements_give_uniform_popularity():
    grid = popularity_of(100, PopularityPrior())
    logs = np.random.default_rng(1).normal(0, 30.0, 100)
    likelihood = grid.likelihood(measured(grid, logs, 100.0))
    found = grid.means(grid.belief(likelihood, grid.law(likelihood)))
    assert found.std() / found.mean() < 0.1


@pytest.mark.parametrize("spread", [0.2, 0.6, 1.3])
def test_fitted_spread_matches_truth(spread):
    grid = popularity_of(400, PopularityPrior())
    logs = np.random.default_rng(2).normal(-(spread**2) / 2, spread, 400)
    likelihood = grid.likelihood(measured(grid, logs, 0.3))
    law = grid.law(likelihood)
    centre = law @ grid.fine
    assert np.sqrt(law @ (grid.fine - centre) ** 2) == pytest.approx(spread, rel=0.3)


def test_posterior_is_closer_to_truth_than_measurements():
    rng = np.random.default_rng(3)
    grid = popularity_of(200, PopularityPrior())
    logs = rng.normal(0, 0.5, 200)
    seen = logs + rng.normal(0, 0.5, 200)
    likelihood = grid.likelihood(measured(grid, seen, 0.5))
    found = np.log(grid.means(grid.belief(likelihood, grid.law(likelihood))))
    assert np.mean((found - logs) ** 2) < 0.6 * np.mean((seen - logs) ** 2)  # one half at best


def test_similar_epochs_share_information():
    rng = np.random.default_rng(4)
    n = 200
    logs = np.sin(np.arange(n) / 10)
    seen = logs + rng.normal(0, 1.0, n)
    pairs = csr_array(np.eye(n, k=1) + np.eye(n, k=-1))
    pairs = csr_array(pairs.multiply(1 / pairs.sum(axis=1)[:, None]))
    alone = popularity_of(n, PopularityPrior())
    errors = []
    for grid in (alone, alone.with_alike(pairs)):
        likelihood = grid.likelihood(measured(grid, seen, 1.0))
        found = np.log(grid.means(grid.belief(likelihood, grid.law(likelihood))))
        errors.append(np.mean((found - logs) ** 2))
    assert errors[1] < 0.85 * errors[0]


def test_group_popularity_keeps_mean_and_cluster_variance():
    grid = popularity_of(100, PopularityPrior(clustering=0.1)).in_groups(100, 20_000, 1000)
    there = np.exp(grid.fine)
    for at in (np.abs(grid.fine).argmin(), np.abs(grid.fine - 1).argmin()):
        law = grid.sampling[:, at]
        assert law @ there == pytest.approx(there[at], rel=0.01)
        logs = law @ (grid.fine - law @ grid.fine) ** 2
        assert logs == pytest.approx(2 * 0.1 * 100 / (1000 * there[at]), rel=0.05)


def test_cluster_size_is_capped():
    few, many = (
        popularity_of(100, PopularityPrior(clustered=6.0)).in_groups(100, n, 1000) for n in (60_000, 600_000)
    )
    at = np.abs(few.fine + 2).argmin()  # clusters of six either way, among ten times the visits
    wide, narrow = (
        grid.sampling[:, at] @ (grid.fine - grid.sampling[:, at] @ grid.fine) ** 2 for grid in (few, many)
    )
    assert wide == pytest.approx(10 * narrow, rel=0.05)


@pytest.mark.parametrize("wrong", [{"visits": 0.0}, {"spread": np.nan}, {"alike": -1.0}])
def test_rejects_impossible_prior(wrong):
    with pytest.raises(BadInput, match=f"prior: {next(iter(wrong))} must be above 0"):
        PopularityPrior(**wrong)
