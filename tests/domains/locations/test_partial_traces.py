from itertools import pairwise

import numpy as np
import pytest

from domains.locations.small_town import traces
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations import partial_traces
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.partial_traces import PartialTrace

CELLS = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
MAP = CellMap(4, 10, np.zeros(10, dtype=np.int64))  # cell 23 is place 2 in epoch 3


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("fraction", "n"), [(0.1, 1), (0.11, 2), (0.25, 3), (0.3, 3), (0.5, 5), (1.0, 10)])
def test_part_of_trace_is_rounded_up(fraction, n):
    part = partial_traces.random_fraction(CELLS, fraction, rng())
    assert part.cells.size == n
    assert set(part.cells) <= set(CELLS)
    assert (np.diff(part.cells) > 0).all()
    assert part.certain
    assert part.complete == (fraction == 1)


def test_partial_traces_are_nested():
    parts = [
        set(partial_traces.random_fraction(CELLS, fraction, rng()).cells)
        for fraction in (0.1, 0.25, 0.5, 0.75, 1.0)
    ]
    assert all(small <= large for small, large in pairwise(parts))


def test_all_cells_are_equally_likely_to_be_known():
    times = np.zeros(30)
    for seed in range(2_000):
        times[partial_traces.random_fraction(CELLS, 0.3, rng(seed)).cells] += 1
    assert np.abs(times[CELLS] - 600).max() < 5 * np.sqrt(2_000 * 0.3 * 0.7)


def test_number_of_observations_is_drawn():
    assert partial_traces.random_observations(CELLS, 4, rng()).cells.size == 4
    assert not partial_traces.random_observations(CELLS, 4, rng()).complete
    assert partial_traces.random_observations(CELLS, 10, rng()).complete
    with pytest.raises(BadInput, match=r"observations = 11, but a target has 10 cells; raise .*min_visits"):
        partial_traces.random_observations(CELLS, 11, rng())


def test_rejects_empty_partial_trace():
    with pytest.raises(BadInput, match="needs at least one cell"):
        PartialTrace(np.empty(0, dtype=np.int64), np.empty(0))


def test_most_visited_places_come_first():
    """Places of the cells: 0 0 0 0 1 1 1 1 2 2."""
    assert partial_traces.top_places(CELLS, MAP, None).tolist() == [0, 1, 2]
    assert partial_traces.top_places(np.array([1, 21, 22, 31]), MAP, 1).tolist() == [2]


def test_greedy_observation_covers_all_epochs_of_a_place():
    everywhere = partial_traces.every_epoch(np.array([2, 0]), MAP)
    assert everywhere.cells.tolist() == [*range(10), *range(20, 30)]
    assert everywhere.certain
    assert not everywhere.complete


def test_random_sampling_uses_time_marginal():
    time = np.array([0.5, 0.5, *[0.0] * 8])
    drawn = [
        partial_traces.sampled_epochs(np.array([0, 3]), MAP, 4.4, time, rng(seed)) for seed in range(200)
    ]
    assert all(set(sketch.cells) <= {0, 1, 30, 31} for sketch in drawn)
    sizes = [sketch.cells.size for sketch in drawn]  # two draws at each of two places, repeats collapse
    assert min(sizes) == 2
    assert max(sizes) == 4
    assert np.mean(sizes) == pytest.approx(3.0, abs=0.25)


def test_weights_are_visit_probabilities():
    time = np.array([0.25, 0.75, *[0.0] * 8])
    sketch = partial_traces.weighted_epochs(np.array([3, 1]), MAP, 2.0, time)
    assert sketch.cells.tolist() == [10, 11, 30, 31]
    expected = 1 - np.exp(-2.0 / 2 * np.array([0.25, 0.75]))
    np.testing.assert_allclose(sketch.weights, np.tile(expected, 2))
    assert not sketch.certain


def test_friend_traces_give_visit_frequencies():
    friends = traces([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1]])
    sketch = partial_traces.average_of_friends(friends)
    assert sketch.cells.tolist() == [0, 1, 3]
    assert sketch.weights.tolist() == [0.75, 0.25, 0.5]


def test_similarity_is_normalised_by_size():
    people = traces(
        [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 1]]
    )
    # cosine with person 0: 3 / sqrt(18) = .71, 2 / sqrt(6) = .82, 0, 3 / sqrt(12) = .87
    assert partial_traces.most_similar(people, 0, np.array([1, 2, 3, 4]), 3).tolist() == [4, 2, 1]


def test_sampled_traces_follow_weights():
    sketch = PartialTrace(np.array([1, 4]), np.array([0.2, 1.0]))
    drawn = sketch.draw(4_000, rng())
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert drawn[:, 1].all()
    assert drawn[:, 0].mean() == pytest.approx(0.2, abs=0.03)
    assert partial_traces.known_cells(CELLS).draw(3, rng()).tolist() == [[1.0] * 10] * 3
