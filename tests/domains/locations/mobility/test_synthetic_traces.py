from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.mobility import synthetic_traces
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile
from leakgauge.domains.locations.mobility.synthetic_traces import (
    Activity,
    PlaceGraph,
    VisitRounding,
    delaunay_graph,
    draw_traces,
    draw_visits,
    log_variance,
)


def edges(graph):
    return {
        (place, int(other))
        for place in range(graph.n_places)
        for other in graph.neighbours[graph.starts[place] : graph.starts[place + 1]]
    }


def both_ways(pairs):
    return {pair for a, b in pairs for pair in ((a, b), (b, a))}


def of_edges(n, pairs):
    ordered = np.array(sorted(both_ways(pairs)), dtype=np.int64).reshape(-1, 2)
    return PlaceGraph(np.searchsorted(ordered[:, 0], np.arange(n + 1)), ordered[:, 1].copy())


def connected(graph, piece):
    reached, waiting = set(), [piece[0]]
    while waiting:
        place = waiting.pop()
        reached.add(place)
        waiting += [b for a, b in edges(graph) if a == place and b in set(piece) - reached]
    return reached == set(piece)


def test_edges_are_delaunay():
    points = np.random.default_rng(3).random((14, 2))
    found = set()
    for corners in combinations(range(14), 3):
        a, b, c = points[list(corners)]
        matrix = 2 * np.array([b - a, c - a])
        centre = np.linalg.solve(matrix, [b @ b - a @ a, c @ c - a @ a])
        others = np.delete(points, corners, axis=0)
        if (np.hypot(*(others - centre).T) > np.hypot(*(a - centre))).all():
            found |= both_ways(combinations(corners, 2))
    assert edges(delaunay_graph(points)) == found


def test_collinear_places_are_linked_in_order():
    points = np.array([[0.0, 0.0], [30.0, 60.0], [10.0, 20.0], [20.0, 40.0]])
    assert edges(delaunay_graph(points)) == both_ways([(0, 2), (2, 3), (3, 1)])


@pytest.mark.parametrize(
    ("points", "pairs"),
    [
        ([[1.0, 2.0]], []),
        ([[1.0, 2.0], [3.0, 2.0]], [(0, 1)]),
        ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [(0, 1), (1, 2), (0, 2)]),
        ([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [(0, 1), (1, 2)]),
    ],
)
def test_few_or_coincident_places_have_a_graph(points, pairs):
    assert edges(delaunay_graph(np.array(points))) == both_ways(pairs)


def test_coincident_places_are_neighbours():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.1], [1.0, 0.0]])
    graph = delaunay_graph(points)
    assert (4, 1) in edges(graph)
    assert all(np.diff(graph.starts) > 0)


def test_regions_are_connected_and_start_at_origin():
    rng = np.random.default_rng(5)
    graph = delaunay_graph(rng.random((40, 2)))
    origins = rng.integers(0, 40, 60)
    pieces = graph.pieces(origins, 10, rng)
    np.testing.assert_array_equal(pieces[:, 0], origins)
    for piece in pieces.tolist():
        assert len(set(piece)) == 10
        assert connected(graph, piece)


def law_of_pieces(graph, origin, size):
    """The chance of every set of places, going through all ways in which a piece can grow."""
    law = Counter()

    def grow(piece, chance):
        if len(piece) == size:
            law[frozenset(piece)] += chance
            return
        touching = {b for a, b in edges(graph) if a in piece and b not in piece}
        outside = touching or set(range(graph.n_places)) - set(piece)
        for place in outside:
            grow((*piece, place), chance / len(outside))

    grow((origin,), 1.0)
    return law


@pytest.mark.parametrize(
    "graph",
    [
        of_edges(7, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (1, 5), (5, 6), (4, 6)]),
        of_edges(7, [(0, 1), (2, 3), (3, 4), (4, 5), (5, 6)]),  # in two parts
    ],
    ids=["one part", "two parts"],
)
def test_regions_grow_uniformly_over_adjacent_places(graph):
    n = 10_000
    pieces = graph.pieces(np.zeros(n, dtype=np.int64), 4, np.random.default_rng(6))
    found = Counter(frozenset(piece) for piece in pieces.tolist())
    exact = law_of_pieces(graph, 0, 4)
    assert set(found) <= set(exact)
    distance = sum((found[s] - n * p) ** 2 / (n * p) for s, p in exact.items())
    freedom = len(exact) - 1
    assert distance < freedom + 5 * np.sqrt(2 * freedom)


def test_small_map_is_one_region():
    pieces = of_edges(3, [(0, 1), (1, 2)]).pieces(np.array([2, 0]), 10, np.random.default_rng(0))
    assert [sorted(piece) for piece in pieces.tolist()] == [[0, 1, 2]] * 2


def test_regions_do_not_depend_on_batch_size(monkeypatch):
    graph = delaunay_graph(np.random.default_rng(7).random((30, 2)))
    origins = np.arange(30)
    whole = graph.pieces(origins, 10, np.random.default_rng(8))
    monkeypatch.setattr(synthetic_traces, "_ENTRIES", 90)
    np.testing.assert_array_equal(graph.pieces(origins, 10, np.random.default_rng(8)), whole)


N = 60_000
TIME = np.array([0.5, 0.3, 0.2])


def line(n_places):
    """Places in a row."""
    return CellMap(
        n_places, 3, np.zeros(3, dtype=np.int64), np.column_stack([np.arange(n_places), np.zeros(n_places)])
    )


def habits(n_places, mean=4.0):
    space = np.arange(1.0, n_places + 1)
    return MobilityProfile(mean, space / space.sum(), TIME)


def chance_of_a_visit(mean, chances):
    """That one of n visits falls into a cell, n an exponential number rounded fairly: E[1 - (1 - p)^n]."""
    grid = (np.arange(4_000) + 0.5) / 4_000
    exact = -mean * np.log1p(-grid)
    rest = exact - np.floor(exact)
    misses = (1 - np.asarray(chances)[..., None]) ** np.floor(exact)
    return 1 - (misses * (1 - rest * np.asarray(chances)[..., None])).mean(axis=-1)


def pieces_of_a_line(n_places, origin, size):
    """The law of the first place of a piece on a line: it grows by a place on either end, evenly."""
    law = {(origin, origin): 1.0}
    for _ in range(size - 1):
        longer = {}
        for (first, last), chance in law.items():
            ends = [(first - 1, last)] * (first > 0) + [(first, last + 1)] * (last < n_places - 1)
            for end in ends:
                longer[end] = longer.get(end, 0.0) + chance / len(ends)
        law = longer
    return law


def visited(people):
    return people.visitors() / people.n_people


def assert_rates(found, exact):
    errors = 5 * np.sqrt(exact * (1 - exact) / N) + 2e-4
    assert (np.abs(found - exact) < errors).all()


def test_people_move_in_regions_around_popular_places():
    cells, crowd = line(12), habits(12)
    exact = np.zeros((12, 3))
    for origin in range(12):
        for (first, last), chance in pieces_of_a_line(12, origin, 10).items():
            inside = np.zeros(12)
            inside[first : last + 1] = crowd.space[first : last + 1]
            shares = np.outer(inside / inside.sum(), crowd.time)
            exact += crowd.space[origin] * chance * chance_of_a_visit(crowd.mean, shares)
    assert_rates(visited(draw_traces(crowd, N, cells, np.random.default_rng(1))), exact.ravel())


def test_unknown_positions_allow_all_places():
    cells, crowd = CellMap(15, 3, np.zeros(3, dtype=np.int64)), habits(15)
    exact = chance_of_a_visit(crowd.mean, np.outer(crowd.space, crowd.time))
    assert_rates(visited(draw_traces(crowd, N, cells, np.random.default_rng(2))), exact.ravel())


def test_person_stays_in_ten_connected_places():
    rng = np.random.default_rng(3)
    cells = CellMap(60, 3, np.zeros(3, dtype=np.int64), rng.random((60, 2)))
    people = draw_traces(
        MobilityProfile(400.0, np.full(60, 1 / 60), TIME), 100, cells, rng, activity="constant"
    )
    graph = delaunay_graph(cells.positions)
    for person in range(100):
        places = set((people.cells(person) // 3).tolist())
        assert len(places) == 10
        reached = {min(places)}
        for _ in range(10):
            ends = [graph.neighbours[graph.starts[p] : graph.starts[p + 1]].tolist() for p in reached]
            reached |= places & {place for end in ends for place in end}
        assert reached == places


def test_number_of_visits_excludes_repetitions():
    cells = CellMap(400, 300, np.zeros(300, dtype=np.int64))
    crowd = MobilityProfile(6.0, np.full(400, 1 / 400), np.full(300, 1 / 300))
    people = draw_traces(crowd, N, cells, np.random.default_rng(4))
    assert people.n_visits.mean() == pytest.approx(6.0, abs=0.15)
    assert (people.n_visits == 0).any()
    constant = draw_traces(crowd, 1_000, cells, np.random.default_rng(4), activity="constant")
    assert set(constant.n_visits) <= {5, 6}
    down = draw_traces(crowd, N, cells, np.random.default_rng(4), rounding="down")
    assert down.n_visits.mean() == pytest.approx(1 / np.expm1(1 / 6.0), abs=0.15)
    uneven = draw_traces(crowd, N, cells, np.random.default_rng(4), activity="lognormal", skew=4.0)
    assert uneven.n_visits.mean() == pytest.approx(6.0, rel=0.03)


def test_traces_are_sorted_without_duplicates():
    people = draw_traces(habits(12, 30.0), 500, line(12), np.random.default_rng(5))
    assert people.visits.dtype == np.uint8
    assert (people.visits.data == 1).all()
    for person in range(500):
        assert (np.diff(people.cells(person)) > 0).all()


def test_chunked_sampling_has_same_distribution(monkeypatch):
    cells, crowd = CellMap(15, 3, np.zeros(3, dtype=np.int64)), habits(15)
    monkeypatch.setattr(synthetic_traces, "_AT_ONCE", 1_000)
    people = draw_traces(crowd, N, cells, np.random.default_rng(6))
    assert people.n_people == N
    assert_rates(visited(people), chance_of_a_visit(crowd.mean, np.outer(crowd.space, crowd.time)).ravel())


def test_same_stream_gives_same_people():
    first, again = (draw_traces(habits(12), 50, line(12), np.random.default_rng(7)) for _ in range(2))
    assert (first.visits != again.visits).nnz == 0


def test_zero_people_can_be_drawn():
    assert draw_traces(habits(12), 0, line(12), np.random.default_rng(8)).n_people == 0


def test_rejects_habits_of_another_map():
    with pytest.raises(BadInput, match="habits of 12 places and 3 epochs do not fit a map of 11 x 3"):
        draw_traces(habits(12), 5, line(11), np.random.default_rng(9))


N_DRAWS = 400_000


def drawn(mean, law, rounding, skew=6.0):
    return draw_visits(mean, N_DRAWS, law, skew, rounding, np.random.default_rng(1))


@pytest.mark.parametrize("law", [Activity.EXPONENTIAL, Activity.CONSTANT])
@pytest.mark.parametrize("mean", [0.3, 5.6, 21.5])
def test_stochastic_rounding_keeps_mean(law, mean):
    visits = drawn(mean, law, VisitRounding.FAIR)
    assert visits.mean() == pytest.approx(mean, abs=5 * visits.std() / np.sqrt(N_DRAWS) + 1e-12)


@pytest.mark.parametrize("mean", [0.3, 5.6, 21.5])
def test_floored_exponential_is_geometric(mean):
    visits = drawn(mean, Activity.EXPONENTIAL, VisitRounding.DOWN)
    assert visits.mean() == pytest.approx(1 / np.expm1(1 / mean), abs=5 * visits.std() / np.sqrt(N_DRAWS))
    least = np.mean(visits == 0)
    assert least == pytest.approx(1 - np.exp(-1 / mean), abs=5 * np.sqrt(least / N_DRAWS))


@pytest.mark.parametrize("variance", [0.01, 0.25, 1.0, 2.0])
def test_skewness_of_log_normal_gives_its_variance(variance):
    growth = np.exp(variance)
    assert log_variance((growth + 2) * np.sqrt(growth - 1)) == pytest.approx(variance)


def test_log_normal_has_requested_mean_and_skewness():
    visits = drawn(200.0, Activity.LOGNORMAL, VisitRounding.FAIR, skew=1.5)
    assert visits.mean() == pytest.approx(200.0, rel=0.01)
    standard = (visits - visits.mean()) / visits.std()
    assert np.mean(standard**3) == pytest.approx(1.5, rel=0.1)


@pytest.mark.parametrize("skew", [0.0, -1.0, np.nan, np.inf])
def test_rejects_skewness_impossible_for_log_normal(skew):
    with pytest.raises(BadInput, match="skew must be above 0"):
        log_variance(skew)
