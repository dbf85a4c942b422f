from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare

from domains.locations.small_town import town, traces
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap, Traces, bound_contributions

MAP = CellMap(2, 4, np.array([0, 0, 1, 1]))


def traces_of(*rows):
    matrix = np.zeros((len(rows), 8), dtype=np.uint8)
    for person, cells in enumerate(rows):
        matrix[person, cells] = 1
    return Traces(csr_array(matrix), MAP, np.array([f"p{i}" for i in range(len(rows))]))


def test_cell_index_combines_place_and_epoch():
    assert MAP.n_cells == 8
    assert MAP.places(np.array([0, 3, 4, 7])).tolist() == [0, 0, 1, 1]
    assert MAP.epochs(np.array([0, 3, 4, 7])).tolist() == [0, 3, 0, 3]


def test_visits_days_and_visitors_are_counted():
    found = traces_of([0, 4], [1, 2, 7], [])
    assert found.n_visits.tolist() == [2, 3, 0]
    assert found.n_days.tolist() == [1, 2, 0]
    assert found.visitors().tolist() == [1, 1, 1, 0, 1, 0, 0, 1]
    assert found.cells(1).tolist() == [1, 2, 7]


def test_empty_traces_have_no_days():
    assert traces_of([], []).n_days.tolist() == [0, 0]


def test_subset_keeps_order_and_names():
    found = traces_of([0], [1], [2, 3]).of(np.array([2, 0]))
    assert found.n_visits.tolist() == [2, 1]
    assert found.names.tolist() == ["p2", "p0"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: CellMap(0, 4, np.zeros(4, dtype=int)),
        lambda: CellMap(2, 4, np.zeros(3, dtype=int)),
        lambda: CellMap(2, 4, np.zeros(4, dtype=int), np.zeros((3, 2))),
        lambda: Traces(csr_array(np.zeros((1, 9), dtype=np.uint8)), MAP),
    ],
)
def test_rejects_inconsistent_arrays(make):
    with pytest.raises(BadInput):
        make()


def rows(people):
    return people.visits.toarray()


def per_slot(people, slots):
    """How many visits each person has in each slot of epochs."""
    epochs = people.map.epochs(np.arange(people.map.n_cells))
    return np.stack([rows(people)[:, slots[epochs] == slot].sum(axis=1) for slot in np.unique(slots)], axis=1)


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_cap_is_kept_and_drops_no_more_than_needed(cap):
    people = town(n_people=200, n_places=6, n_epochs=8, density=0.5)
    epochs, days = np.arange(8), people.map.days
    for name, slots in (("per_epoch", epochs), ("per_day", days), ("per_user", np.zeros(8))):
        thinned = bound_contributions(people, **{name: cap}, rng=np.random.default_rng(1))
        assert (rows(thinned) <= rows(people)).all()
        np.testing.assert_array_equal(per_slot(thinned, slots), np.minimum(per_slot(people, slots), cap))
        assert thinned.visits.has_sorted_indices
        assert thinned.visits.dtype == np.uint8


def test_all_caps_hold_together():
    people = town(n_people=300, n_places=6, n_epochs=8, density=0.6)
    thinned = bound_contributions(people, per_epoch=2, per_day=3, per_user=7, rng=np.random.default_rng(1))
    assert per_slot(thinned, np.arange(8)).max() == 2
    assert per_slot(thinned, people.map.days).max() == 3
    assert thinned.n_visits.max() == 7


def test_every_subset_is_equally_likely():
    people = traces(np.tile([1, 1, 0, 1, 1, 1], (60_000, 1)), n_epochs=1)
    kept = bound_contributions(people, per_user=2, rng=np.random.default_rng(2))
    seen = Counter(map(tuple, kept.visits.indices.reshape(-1, 2).tolist()))
    assert set(seen) == set(combinations([0, 1, 3, 4, 5], 2))
    assert chisquare(list(seen.values())).pvalue > 1e-3


def test_later_cap_is_independent_of_earlier_one():
    # Epoch 0 has five visits of which one stays, epoch 1 has one: of the two, each survives half the time.
    visits = np.zeros((40_000, 5, 2), dtype=int)
    visits[:, :, 0] = 1
    visits[:, 0, 1] = 1
    people = traces(visits.reshape(-1, 10), n_epochs=2)
    kept = bound_contributions(people, per_epoch=1, per_user=1, rng=np.random.default_rng(3))
    assert (kept.n_visits == 1).all()
    late = people.map.epochs(kept.visits.indices).mean()
    assert abs(late - 0.5) < 4 * 0.5 / np.sqrt(40_000)


def test_sampling_is_reproducible_and_no_cap_keeps_all():
    people = town(density=0.5)
    first, again = (bound_contributions(people, per_day=2, rng=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(rows(first), rows(again))
    assert bound_contributions(people, rng=np.random.default_rng(4)) is people


def test_people_without_visits_are_kept():
    people = traces(np.zeros((3, 4), dtype=int), n_epochs=2)
    assert (
        bound_contributions(
            people, per_epoch=1, per_day=1, per_user=1, rng=np.random.default_rng(1)
        ).visits.nnz
        == 0
    )


def test_rejects_cap_below_one():
    with pytest.raises(BadInput, match=r"challenger.per_day must be >= 1, got 0"):
        bound_contributions(town(), per_day=0, rng=np.random.default_rng(1))
