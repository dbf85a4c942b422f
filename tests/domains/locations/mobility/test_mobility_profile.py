import numpy as np
import pytest

from domains.locations.small_town import town
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.mobility.mobility_profile import (
    MobilityProfile,
    MobilityProfiles,
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
