"""The graph of neighbouring places, and random connected sets of places for synthetic people."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.data.traces import Ints

_ENTRIES = 2**20  # of the table that marks the places already reached


@dataclass(frozen=True, eq=False)
class PlaceGraph:
    """A graph of places: the neighbours of place p are ``neighbours[starts[p] : starts[p + 1]]``."""

    starts: Ints
    neighbours: Ints

    @property
    def n_places(self) -> int:
        return self.starts.size - 1

    def pieces(self, origins: Ints, size: int, rng: Generator) -> Ints:
        """Return for each origin a connected set of ``size`` places (at most all), the origin first.

        A set grows by a place drawn uniformly from its neighbours (Guan et al. 2024, after Farzanehfar et al.
        2021). If it has no neighbours, it continues with any other place, drawn uniformly.
        """
        size = min(size, self.n_places)
        uniforms = rng.random((origins.size, size))
        block = max(1, _ENTRIES // self.n_places)
        parts = [
            _grow(self, origins[first : first + block], uniforms[first : first + block])
            for first in range(0, origins.size, block)
        ]
        return np.concatenate(parts) if parts else np.empty((0, size), dtype=np.int64)


def delaunay_graph(positions: Reals) -> PlaceGraph:
    """Return the Delaunay triangulation of places (Delaunay 1934); on one line, neighbours along it."""
    n = len(positions)
    edges = _edges(positions)
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    starts = np.searchsorted(edges[:, 0], np.arange(n + 1))
    return PlaceGraph(starts.astype(np.int64), np.ascontiguousarray(edges[:, 1], dtype=np.int64))


def _edges(positions: Reals) -> Ints:
    from scipy.spatial import Delaunay, QhullError

    if len(positions) < 3:
        return _along_a_line(positions)
    try:
        triangulation = Delaunay(positions)
    except QhullError:
        return _along_a_line(positions)
    corners = triangulation.simplices
    sides = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]
    twins = triangulation.coplanar[
        :, [0, 2]
    ]  # places at the same position as another, which becomes their neighbour
    return np.concatenate([*sides, twins]).astype(np.int64)


def _along_a_line(positions: Reals) -> Ints:
    away = positions - positions.mean(axis=0)
    direction = np.linalg.svd(away, full_matrices=False)[2][0]
    order = np.argsort(away @ direction, kind="stable")
    return np.column_stack([order[:-1], order[1:]]).astype(np.int64)


def _grow(graph: PlaceGraph, origins: Ints, uniforms: Reals) -> Ints:
    """Grow all sets together; ``uniforms`` selects the next of the neighbouring places."""
    n, size = uniforms.shape
    degrees = np.diff(graph.starts)
    most = int(np.sort(degrees)[-size:].sum()) + 1
    touching = np.empty((n, min(most, graph.n_places)), dtype=np.int64)
    n_touching = np.zeros(n, dtype=np.int64)
    seen = np.zeros((n, graph.n_places), dtype=bool)
    pieces = np.empty((n, size), dtype=np.int64)
    rows = np.arange(n)
    chosen = origins
    for step in range(size):
        if step:
            places = (uniforms[:, step] * n_touching).astype(np.int64)
            chosen = touching[rows, places]
            _jump(chosen, n_touching == 0, pieces[:, :step], uniforms[:, step], graph.n_places)
            touching[rows, places] = touching[rows, np.maximum(n_touching - 1, 0)]
            n_touching = np.maximum(n_touching - 1, 0)
        pieces[:, step] = chosen
        seen[rows, chosen] = True
        owners, neighbours = _neighbours(graph, chosen, degrees)
        unseen = ~seen[owners, neighbours]
        owners, neighbours = owners[unseen], neighbours[unseen]
        seen[owners, neighbours] = True
        added = np.bincount(owners, minlength=n)
        rank = np.arange(owners.size) - np.repeat(np.cumsum(added) - added, added)
        touching[owners, n_touching[owners] + rank] = neighbours
        n_touching += added
    return pieces


def _neighbours(graph: PlaceGraph, chosen: Ints, degrees: Ints) -> tuple[Ints, Ints]:
    """Return the rows and the neighbours of the place chosen in every row."""
    n = degrees[chosen]
    owners = np.repeat(np.arange(chosen.size), n)
    within = np.arange(owners.size) - np.repeat(np.cumsum(n) - n, n)
    return owners, graph.neighbours[graph.starts[chosen][owners] + within]


def _jump(chosen: Ints, isolated: Bits, pieces: Ints, uniforms: Reals, n_places: int) -> None:
    """Choose any place outside a set that has no neighbours left."""
    for row in np.flatnonzero(isolated):
        outside = np.setdiff1d(np.arange(n_places), pieces[row])
        chosen[row] = outside[int(uniforms[row] * outside.size)]
