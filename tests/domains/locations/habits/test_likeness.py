import numpy as np

from leakgauge.domains.locations.habits.likeness import alike_epochs


def test_hours_are_like_their_neighbours_and_the_same_hour_of_the_next_day():
    weights = alike_epochs(np.arange(72) // 24).toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights[30, [29, 31, 28, 32, 6, 54]], np.array([2, 2, 1, 1, 2, 2]) / 10)
    assert np.count_nonzero(weights[30]) == 6
    assert not weights.diagonal().any()


def test_a_single_epoch_is_like_nothing():
    assert alike_epochs(np.zeros(1, dtype=np.int64)).nnz == 0


def test_days_of_unequal_length_have_no_pair_where_an_hour_is_missing():
    weights = alike_epochs(np.array([0, 0, 0, 1, 1, 3])).toarray()
    assert weights[2, 5] == 0
    assert weights[1, 4] > 0
    assert weights[3, 5] > 0  # the next but one
    np.testing.assert_allclose(weights.sum(axis=1), 1)
