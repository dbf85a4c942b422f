from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from leakgauge.domains.locations.mobility import place_graph as module
from leakgauge.domains.locations.mobility.place_graph import PlaceGraph, delaunay_graph


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
    monkeypatch.setattr(module, "_ENTRIES", 90)
    np.testing.assert_array_equal(graph.pieces(origins, 10, np.random.default_rng(8)), whole)
