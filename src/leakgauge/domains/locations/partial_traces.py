"""Partial traces: the cells that an attacker believes a target visited, and the probability of each."""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap, Traces


@dataclass(frozen=True, eq=False)
class PartialTrace:
    """Cells in rising order, and for each the probability that the target visited it; 1 if that is known.

    ``complete``: the target visited no other cell. ``guessed``: the cells are guesses, even with weight 1.
    ``values`` is what the target, if there, adds to the count of each cell: 1 where None.
    """

    cells: Ints
    weights: Reals
    complete: bool = False
    guessed: bool = False
    values: Ints | None = None

    def __post_init__(self) -> None:
        if not self.cells.size:
            raise BadInput("a partial trace needs at least one cell; raise challenger.targets.min_visits")

    @property
    def certain(self) -> bool:
        """Whether it is known of every cell whether the target visited it."""
        return bool(((self.weights == 1) | (self.weights == 0)).all())

    @property
    def added(self) -> Ints:
        """What the target, if there, adds to the count of each cell."""
        return np.ones(self.cells.size, dtype=np.int64) if self.values is None else self.values

    @property
    def visits(self) -> Ints:
        """The cells that the target is known to have visited, each as often as its value."""
        known = self.weights == 1
        return self.cells[:0] if self.guessed else np.repeat(self.cells[known], self.added[known])

    def draw(self, n: int, rng: Generator) -> Reals:
        """Draw n traces of the target from the weights: rows over the cells, zero or the target's value."""
        if self.certain:
            return np.tile(self.weights * self.added, (n, 1))
        return np.where(rng.random((n, self.cells.size)) < self.weights, self.added, 0).astype(np.float64)

    def with_values_of(self, cells: Ints, values: Ints) -> "PartialTrace":
        """The same with the target's values in these cells, which include all of its own."""
        if (values == 1).all():
            return self
        return replace(self, values=values[np.searchsorted(cells, self.cells)])


def known_cells(cells: Ints, *, complete: bool = False) -> PartialTrace:
    """A partial trace of cells that are certain."""
    return PartialTrace(np.sort(cells), np.ones(cells.size), complete)


def random_fraction(cells: Ints, fraction: float, rng: Generator) -> PartialTrace:
    """A random part of a trace, its size rounded up (Guan et al. 2024); larger parts contain smaller ones."""
    return known_cells(rng.permutation(cells)[: ceil(fraction * cells.size - 1e-9)], complete=fraction == 1)


def random_observations(cells: Ints, n: int, rng: Generator) -> PartialTrace:
    """A number of random cells of a trace: the observations of Liu et al. (2024)."""
    if n > cells.size:
        raise BadInput(
            f"knowledge.observations = {n}, but a target has {cells.size} cells; "
            "raise challenger.targets.min_visits"
        )
    return known_cells(rng.permutation(cells)[:n], complete=n == cells.size)


def top_places(cells: Ints, on: CellMap, n: int | None) -> Ints:
    """The places a target visited most, or all of them."""
    places, visits = np.unique(on.places(cells), return_counts=True)
    order = np.argsort(-visits, kind="stable")
    return places[order if n is None else order[:n]]


def every_epoch(places: Ints, on: CellMap) -> PartialTrace:
    """Guess that the target visits each of the places in every epoch ("greedy", Guan et al. 2024)."""
    return _guessed_cells((places[:, None] * on.n_epochs + np.arange(on.n_epochs)).ravel())


def sampled_epochs(places: Ints, on: CellMap, mean: float, time: Reals, rng: Generator) -> PartialTrace:
    """Spread the mean number of visits evenly over the places, at epochs drawn from the time marginal.

    This is "random sampling" of Guan et al. (2024).
    """
    each = max(1, round(mean / places.size))
    epochs = rng.choice(on.n_epochs, size=(places.size, each), p=time)
    return _guessed_cells(np.unique(places[:, None] * on.n_epochs + epochs))


def weighted_epochs(places: Ints, on: CellMap, mean: float, time: Reals) -> PartialTrace:
    """Give each epoch at each place the probability that follows from the time marginal; nothing is drawn."""
    chance = -np.expm1(-mean / places.size * time)  # of at least one visit
    cells = (np.sort(places)[:, None] * on.n_epochs + np.arange(on.n_epochs)).ravel()
    weights = np.tile(chance, places.size)
    return PartialTrace(cells[weights > 0], weights[weights > 0], guessed=True)


def average_of_friends(friends: Traces) -> PartialTrace:
    """The cells that friends visited, weighted by the share of friends (LocMIA, Zhang et al. 2020)."""
    visitors = friends.visitors()
    cells = np.flatnonzero(visitors)
    return PartialTrace(cells, visitors[cells] / friends.n_people, guessed=True)


def most_similar(traces: Traces, person: int, among: Ints, n: int) -> Ints:
    """The ``n`` people whose traces are most similar to a person's (cosine similarity)."""
    overlap = traces.visits[among].astype(np.float64) @ traces.visits[[person]].toarray().ravel().astype(
        float
    )
    size = np.sqrt(np.maximum(traces.n_visits[among], 1))
    return among[np.argsort(-overlap / size, kind="stable")[:n]]


def _guessed_cells(cells: Ints) -> PartialTrace:
    return PartialTrace(np.sort(cells), np.ones(cells.size), guessed=True)
