"""The cells of all people, sorted into kinds: by how many others visit them, and by an attacker's belief."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.traces import Traces, distinct_entries
from leakgauge.domains.locations.data.visit_matrix import ones_matrix, row_blocks, rows_of_block
from leakgauge.domains.locations.mobility.cell_rates import ReferenceRates
from leakgauge.domains.locations.score_distributions import round_counts, round_rates

PLACES = TARGET, POOL, REFERENCE = range(3)  # the part of the population that a person belongs to


@dataclass(frozen=True)
class CellMerging:
    """Which numbers of others, and which assumed rates, are taken as equal, so that there are fewer kinds."""

    counts: Callable[[Ints], Ints]
    rates: Callable[[Reals], Reals]


EQUAL_CELLS = CellMerging(lambda counts: counts, lambda rates: rates)


def similar_cells(most: int) -> CellMerging:
    """Similar numbers of others, who are ``most`` in all, and similar rates are taken as equal."""
    return CellMerging(partial(round_counts, n_people=most), round_rates)


class CellBelief(NamedTuple):
    """The rates that an attacker assumes, and how well it knows them: ``shapes`` as in ``CountPrior``."""

    rates: Reals
    shapes: Reals


@dataclass(frozen=True, eq=False)
class CellKinds:
    """Kinds of cells by number of other visitors and assumed rate, and how many of each kind people visit."""

    visitors: Ints  # of each kind: the count without the person
    belief: "CellBelief | None"  # of the attacker, of each kind
    values: Ints  # of each kind: what the person adds
    cells: csr_array  # people x kinds


@dataclass(frozen=True, eq=False)
class CrowdCells:
    """The cells of all people, and how many others of the pool visit them.

    What people add to their cells may be 1 or more. A ``share`` is a place and a value, in this order.
    """

    traces: Traces
    places: npt.NDArray[np.int8]  # of the people: target, pool or reference
    in_pool: Ints  # the count of the pool in each cell
    in_pool_itself: tuple[bool, ...] = (False, True, False)  # whether people of a place are in the pool
    merging: CellMerging = EQUAL_CELLS

    @classmethod
    def of_everyone(cls, traces: Traces, reference: Ints) -> "CrowdCells":
        """All people are counted, those of the reference too."""
        places = np.full(traces.n_people, POOL, dtype=np.int8)
        places[reference] = REFERENCE
        merging = similar_cells(traces.map.max_value * (traces.n_people - 1))
        return cls(traces, places, traces.visitors(), (True, True, True), merging)

    @classmethod
    def of(cls, traces: Traces, people: PopulationSplit) -> "CrowdCells":
        places = np.full(traces.n_people, TARGET, dtype=np.int8)
        places[people.pool], places[people.reference] = POOL, REFERENCE
        merging = similar_cells(traces.map.max_value * people.pool.size)
        return cls(traces, places, traces.visitors(places == POOL), merging=merging)

    def only(self, people: Ints) -> "CrowdCells":
        """The same pool, with the cells of some people only, and no two different ones merged."""
        return replace(self, traces=self.traces.of(people), places=self.places[people], merging=EQUAL_CELLS)

    @property
    def n_values(self) -> int:
        return self.traces.map.max_value

    @property
    def others(self) -> Ints:
        """The count of the pool in each cell, without the person itself: shares x cells."""
        return np.stack(
            [
                np.maximum(self.in_pool - itself * value, 0)
                for itself in self.in_pool_itself
                for value in range(1, self.n_values + 1)
            ]
        )

    def by_count(self) -> CellKinds:
        """Kinds by the number of others only."""
        return self._kinds(self.merging.counts(self.others).astype(np.float64), None)

    def by_belief(self, belief: CellBelief) -> CellKinds:
        """Kinds by the number of others and by what an attacker assumes: shares x cells."""
        shapes, shape_numbers = np.unique(belief.shapes, return_inverse=True)
        keys = self.merging.rates(belief.rates) + 1j * shape_numbers.reshape(belief.rates.shape)
        distinct, numbers = np.unique(keys, return_inverse=True)
        beliefs = CellBelief(distinct.real, shapes[distinct.imag.astype(np.intp)])
        return self._kinds(self.merging.counts(self.others) + 1j * numbers.reshape(keys.shape), beliefs)

    def believed(self, rates: ReferenceRates) -> CellBelief:
        """What an attacker assumes by the reference, without the person itself: shares x cells."""
        cells, values = np.arange(self.in_pool.size), range(1, self.n_values + 1)
        added = [weight * value for weight in (1.0, 1.0, 0.0) for value in values]
        return CellBelief(
            np.stack([rates(cells, more) for more in added]),
            np.stack([rates.shapes(cells, more) for more in added]),
        )

    def same_for_all(self, belief: CellBelief) -> CellBelief:
        """What an attacker assumes of cells whoever the target is: shares x cells."""
        rates, shapes = (np.tile(part, (len(PLACES) * self.n_values, 1)) for part in belief)
        return CellBelief(rates, shapes)

    def _kinds(self, keys: npt.NDArray[np.inexact[Any]], beliefs: CellBelief | None) -> CellKinds:
        """The kinds of visited cells, by distinct keys (shares x cells) and by values.

        A key is a number of others, and as its imaginary part the number of a belief.
        """
        seen = np.zeros(keys.shape, dtype=bool)
        for _, shares, cells in self._blocks():
            seen[shares, cells] = True
        values = np.broadcast_to((np.arange(len(keys)) % self.n_values + 1)[:, None], keys.shape)[seen]
        kinds = np.zeros(keys.shape, dtype=np.int32)
        distinct, value_of, first = [], [], 0
        for value in range(1, self.n_values + 1):
            here, kind = np.unique(keys[seen][values == value], return_inverse=True)
            kinds.reshape(-1)[np.flatnonzero(seen)[values == value]] = first + kind
            distinct.append(here)
            value_of.append(np.full(here.size, value))
            first += here.size
        starts = np.append(0, np.cumsum(self.traces.value_counts.sum(axis=1)))
        kind_of_cell = np.empty(int(starts[-1]), dtype=np.int32)
        for rows, shares, cells in self._blocks():
            kind_of_cell[starts[rows.start] : starts[rows.stop]] = kinds[shares, cells]
        found = np.concatenate(distinct)
        own = None
        if beliefs is not None:
            numbers = found.imag.astype(np.intp)
            own = CellBelief(beliefs.rates[numbers], beliefs.shapes[numbers])
        people = ones_matrix(kind_of_cell, starts, found.size)
        return CellKinds(found.real.astype(np.int64), own, np.concatenate(value_of), people)

    def _blocks(self) -> Iterator[tuple[slice, npt.NDArray[Any], npt.NDArray[Any]]]:
        """Every cell of every person once, with its share, for some people at a time."""
        visits, n = self.traces.visits, self.n_values
        for rows, entries in row_blocks(visits):
            people, cells = rows_of_block(visits, rows), visits.indices[entries]
            shares = self.places[rows][people]
            if n == 1:
                yield rows, shares, cells
                continue
            first, values = distinct_entries(people, cells)
            yield rows, shares[first].astype(np.int64) * n + values - 1, cells[first]
