"""Traces that an adversary makes up from the habits of a crowd (Guan et al. 2024, algorithm 1).

After the unicity model of Farzanehfar, Houssiau and de Montjoye (2021): a person moves about a connected
piece of the map.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.generating.mobility import pick
from leakgauge.domains.locations.habits.activity import Activity, Rounding, draw_visits
from leakgauge.domains.locations.habits.neighbourhoods import Neighbourhoods, neighbourhoods
from leakgauge.domains.locations.habits.rates import Estimate
from leakgauge.domains.locations.traces import Ints, Map, Traces

PIECE = 10  # places that one person may visit (Farzanehfar et al. 2021)
_AT_ONCE = 2**17  # visits drawn together


@dataclass(frozen=True, eq=False)
class Roaming:
    """Draws traces on a map. Where positions are not known, people may go anywhere."""

    cells: Map

    def draw(
        self,
        habits: Estimate,
        n: int,
        rng: Generator,
        activity: Activity = Activity.EXPONENTIAL,
        skew: float = 6.0,
        rounding: Rounding = Rounding.FAIR,
    ) -> Traces:
        """Traces of ``n`` people: as many visits as their activity says, repeated cells counted once.

        Each has an origin drawn from the space marginal and a piece of the map about it. Places come, with
        replacement, from the space marginal restricted to the piece, and epochs from the time marginal.
        """
        if habits.space.size != self.cells.n_places or habits.time.size != self.cells.n_epochs:
            raise BadInput(
                f"habits of {habits.space.size} places and {habits.time.size} epochs do not fit a map of "
                f"{self.cells.n_places} x {self.cells.n_epochs}"
            )
        visits = draw_visits(habits.mean, n, Activity(activity), skew, Rounding(rounding), rng)
        pieces = self._pieces(habits.space, n, rng)
        columns, sizes = [], []
        for people in _blocks(visits):
            own = None if pieces is None else pieces[people]
            cells, found = self._visit(habits, visits[people], own, rng)
            columns.append(cells)
            sizes.append(found)
        ends = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        indices = np.concatenate(columns)
        ones = np.ones(indices.size, dtype=np.uint8)
        return Traces(csr_array((ones, indices, ends), shape=(n, self.cells.n_cells)), self.cells)

    @cached_property
    def _graph(self) -> Neighbourhoods | None:
        return None if self.cells.positions is None else neighbourhoods(self.cells.positions)

    def _pieces(self, space: Reals, n: int, rng: Generator) -> Ints | None:
        if self._graph is None:
            return None
        return self._graph.pieces(pick(np.cumsum(space), rng.random(n)), PIECE, rng)

    def _visit(
        self, habits: Estimate, visits: Ints, pieces: Ints | None, rng: Generator
    ) -> tuple[Ints, Ints]:
        """The distinct cells of people, person after person and in order, and how many each has."""
        people = np.repeat(np.arange(visits.size), visits)
        if pieces is None:
            places = pick(np.cumsum(habits.space), rng.random(people.size))
        else:
            weights = np.cumsum(habits.space[pieces], axis=1)
            luck = rng.random(people.size) * weights[people, -1]
            within = (weights[people] <= luck[:, None]).sum(axis=1)
            places = pieces[people, np.minimum(within, pieces.shape[1] - 1)]
        epochs = pick(np.cumsum(habits.time), rng.random(people.size))
        keys = np.sort((people * self.cells.n_places + places) * self.cells.n_epochs + epochs)
        distinct = keys[np.diff(keys, prepend=-1) > 0]
        owners, cells = np.divmod(distinct, self.cells.n_cells)
        return cells, np.bincount(owners, minlength=visits.size)


def draw(
    habits: Estimate,
    n: int,
    cells: Map,
    rng: Generator,
    activity: Activity = Activity.EXPONENTIAL,
    skew: float = 6.0,
    rounding: Rounding = Rounding.FAIR,
) -> Traces:
    """Traces of ``n`` people of given habits."""
    return Roaming(cells).draw(habits, n, rng, activity, skew, rounding)


def _blocks(visits: Ints) -> list[slice]:
    """People in turns, so that about as many visits are drawn together."""
    turns = np.cumsum(visits) // _AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(turns)) + 1).tolist(), visits.size]
    return [slice(first, last) for first, last in pairwise(edges)]
