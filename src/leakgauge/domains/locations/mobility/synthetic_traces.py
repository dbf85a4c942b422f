"""Synthetic traces of people with a given mobility profile (Guan et al. 2024, algorithm 1).

The places of a person are a random connected set in the graph of neighbouring places.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.synthetic_city import draw_by_cumulated_weights
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile

_ENTRIES = 2**20  # of the table that marks the places already reached
PLACES_PER_PERSON = 10  # places that one person may visit (Farzanehfar et al. 2021)
_AT_ONCE = 2**17  # visits drawn together


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


class Activity(StrEnum):
    """The distribution of the number of visits (Guan et al. 2024, section 4.3.2)."""

    EXPONENTIAL = "exponential"
    CONSTANT = "constant"
    LOGNORMAL = "lognormal"


class VisitRounding(StrEnum):
    """How a number of visits becomes whole."""

    FAIR = "fair"  # up or down at random, so that the mean stays
    DOWN = "down"  # as published: an exponential of mean m then has the mean 1 / (e^(1/m) - 1), about m - 1/2


def draw_visits(
    mean: float, n: int, law: Activity, skew: float, rounding: VisitRounding, rng: Generator
) -> Ints:
    """Draw the number of visits of ``n`` people; ``skew`` is the skewness of a log-normal distribution."""
    luck = rng.random(n)
    match law:
        case Activity.EXPONENTIAL:
            exact = mean * rng.standard_exponential(n)
        case Activity.CONSTANT:
            exact = np.full(n, mean)
        case Activity.LOGNORMAL:
            exact = mean * _log_normal(skew, n, rng)
        case _:
            raise BadInput(f"activity must be one of {', '.join(Activity)}, got {law!r}")
    return np.floor(exact + luck if rounding is VisitRounding.FAIR else exact).astype(np.int64)


def log_variance(skew: float) -> float:
    """The variance of the log of a log-normal variable of given skewness.

    With w = e^variance the skewness is (w + 2) sqrt(w - 1), so that w^3 + 3 w^2 - 4 is its square: one real
    root, by Cardano's formula.

    >>> round(log_variance(6.184877), 5)
    1.0
    """
    if not 0 < skew < 1e6:
        raise BadInput(f"skew must be above 0 and below a million, got {skew}")
    half = 1 + skew**2 / 2
    root = np.cbrt(half + np.sqrt(half**2 - 1))
    return float(np.log(root + 1 / root - 1))


def _log_normal(skew: float, n: int, rng: Generator) -> Reals:
    variance = log_variance(skew)
    return np.exp(np.sqrt(variance) * rng.standard_normal(n) - variance / 2)


@dataclass(frozen=True, eq=False)
class TraceSampler:
    """Draws traces on a map. If positions are not known, people may visit any place."""

    cells: CellMap

    def draw(
        self,
        habits: MobilityProfile,
        n: int,
        rng: Generator,
        activity: Activity = Activity.EXPONENTIAL,
        skew: float = 6.0,
        rounding: VisitRounding = VisitRounding.FAIR,
    ) -> Traces:
        """Draw traces of ``n`` people; their activity sets the number of visits, repeated cells count once.

        Each person has an origin drawn from the space marginal and a connected set of places around it.
        Places are drawn with replacement from the space marginal restricted to that set, and epochs from the
        time marginal.
        """
        if habits.space.size != self.cells.n_places or habits.time.size != self.cells.n_epochs:
            raise BadInput(
                f"habits of {habits.space.size} places and {habits.time.size} epochs do not fit a map of "
                f"{self.cells.n_places} x {self.cells.n_epochs}"
            )
        visits = draw_visits(habits.mean, n, Activity(activity), skew, VisitRounding(rounding), rng)
        pieces = self._pieces(habits.space, n, rng)
        columns, sizes = [], []
        for people in _people_blocks(visits):
            own = None if pieces is None else pieces[people]
            cells, visited = self._visit(habits, visits[people], own, rng)
            columns.append(cells)
            sizes.append(visited)
        ends = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        indices = np.concatenate(columns)
        ones = np.ones(indices.size, dtype=np.uint8)
        return Traces(csr_array((ones, indices, ends), shape=(n, self.cells.n_cells)), self.cells)

    @cached_property
    def _graph(self) -> PlaceGraph | None:
        return None if self.cells.positions is None else delaunay_graph(self.cells.positions)

    def _pieces(self, space: Reals, n: int, rng: Generator) -> Ints | None:
        if self._graph is None:
            return None
        return self._graph.pieces(
            draw_by_cumulated_weights(np.cumsum(space), rng.random(n)), PLACES_PER_PERSON, rng
        )

    def _visit(
        self, habits: MobilityProfile, visits: Ints, pieces: Ints | None, rng: Generator
    ) -> tuple[Ints, Ints]:
        """Return the distinct cells of people, ordered by person and cell, and how many each has."""
        people = np.repeat(np.arange(visits.size), visits)
        if pieces is None:
            places = draw_by_cumulated_weights(np.cumsum(habits.space), rng.random(people.size))
        else:
            weights = np.cumsum(habits.space[pieces], axis=1)
            luck = rng.random(people.size) * weights[people, -1]
            within = (weights[people] <= luck[:, None]).sum(axis=1)
            places = pieces[people, np.minimum(within, pieces.shape[1] - 1)]
        epochs = draw_by_cumulated_weights(np.cumsum(habits.time), rng.random(people.size))
        keys = np.sort((people * self.cells.n_places + places) * self.cells.n_epochs + epochs)
        distinct = keys[np.diff(keys, prepend=-1) > 0]
        owners, cells = np.divmod(distinct, self.cells.n_cells)
        return cells, np.bincount(owners, minlength=visits.size)


def draw_traces(
    habits: MobilityProfile,
    n: int,
    cells: CellMap,
    rng: Generator,
    activity: Activity = Activity.EXPONENTIAL,
    skew: float = 6.0,
    rounding: VisitRounding = VisitRounding.FAIR,
) -> Traces:
    """Draw traces of ``n`` people with a given mobility profile."""
    return TraceSampler(cells).draw(habits, n, rng, activity, skew, rounding)


def _people_blocks(visits: Ints) -> list[slice]:
    """Split the people into blocks with about the same number of visits."""
    turns = np.cumsum(visits) // _AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(turns)) + 1).tolist(), visits.size]
    return [slice(first, last) for first, last in pairwise(edges)]
