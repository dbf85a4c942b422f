"""Which places are next to each other, and connected pieces of the map where somebody moves about."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.data.traces import Ints

_ENTRIES = 2**20  # of the table of who has seen which place


@dataclass(frozen=True, eq=False)
class PlaceGraph:
    """A graph of places: the neighbours of place p are ``neighbours[starts[p] : starts[p + 1]]``."""

    starts: Ints
    neighbours: Ints

    @property
    def n_places(self) -> int:
        return self.starts.size - 1

    def pieces(self, origins: Ints, size: int, rng: Generator) -> Ints:
        """For each origin a connected piece of ``size`` places, or of all there are; the origin comes first.

        A piece grows by a place drawn evenly from all that touch it (Guan et al. 2024, after Farzanehfar et
        al. 2021). Where none does, it goes on from any other place, drawn evenly.
        """
        size = min(size, self.n_places)
        luck = rng.random((origins.size, size))
        block = max(1, _ENTRIES // self.n_places)
        parts = [
            _grow(self, origins[first : first + block], luck[first : first + block])
            for first in range(0, origins.size, block)
        ]
        return np.concatenate(parts) if parts else np.empty((0, size), dtype=np.int64)


def delaunay_graph(positions: Reals) -> PlaceGraph:
    """The Delaunay triangulation of places (Delaunay 1934); places on one line are neighbours along it."""
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
        found = Delaunay(positions)
    except QhullError:
        return _along_a_line(positions)
    corners = found.simplices
    sides = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]
    twins = found.coplanar[:, [0, 2]]  # left out, for they lie on another place: that one is their neighbour
    return np.concatenate([*sides, twins]).astype(np.int64)


def _along_a_line(positions: Reals) -> Ints:
    away = positions - positions.mean(axis=0)
    direction = np.linalg.svd(away, full_matrices=False)[2][0]
    order = np.argsort(away @ direction, kind="stable")
    return np.column_stack([order[:-1], order[1:]]).astype(np.int64)


def _grow(graph: PlaceGraph, origins: Ints, luck: Reals) -> Ints:
    """Grow all pieces together; ``luck`` decides which of the touching places comes next."""
    n, size = luck.shape
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
            places = (luck[:, step] * n_touching).astype(np.int64)
            chosen = touching[rows, places]
            _jump(chosen, n_touching == 0, pieces[:, :step], luck[:, step], graph.n_places)
            touching[rows, places] = touching[rows, np.maximum(n_touching - 1, 0)]
            n_touching = np.maximum(n_touching - 1, 0)
        pieces[:, step] = chosen
        seen[rows, chosen] = True
        owners, news = _neighbours(graph, chosen, degrees)
        fresh = ~seen[owners, news]
        owners, news = owners[fresh], news[fresh]
        seen[owners, news] = True
        added = np.bincount(owners, minlength=n)
        rank = np.arange(owners.size) - np.repeat(np.cumsum(added) - added, added)
        touching[owners, n_touching[owners] + rank] = news
        n_touching += added
    return pieces


def _neighbours(graph: PlaceGraph, chosen: Ints, degrees: Ints) -> tuple[Ints, Ints]:
    """The neighbours of the place chosen in every row, and their rows."""
    n = degrees[chosen]
    owners = np.repeat(np.arange(chosen.size), n)
    within = np.arange(owners.size) - np.repeat(np.cumsum(n) - n, n)
    return owners, graph.neighbours[graph.starts[chosen][owners] + within]


def _jump(chosen: Ints, stuck: Bits, pieces: Ints, luck: Reals, n_places: int) -> None:
    """Where nothing touches a piece any more, choose any place outside it."""
    for row in np.flatnonzero(stuck):
        outside = np.setdiff1d(np.arange(n_places), pieces[row])
        chosen[row] = outside[int(luck[row] * outside.size)]
