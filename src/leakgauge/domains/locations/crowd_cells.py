"""The cells of all people, sorted into kinds: by how many others visit them, and by an attacker's belief."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.mobility.cell_rates import ReferenceRates
from leakgauge.domains.locations.score_distributions import round_counts, round_rates

PLACES = TARGET, POOL, REFERENCE = range(3)  # the part of the population that a person belongs to


@dataclass(frozen=True)
class CellMerging:
    """Which numbers of others, and which assumed rates, are taken as equal, so that there are fewer kinds."""

    counts: Callable[[Ints], Ints]
    rates: Callable[[Reals], Reals]


SIMILAR_CELLS = CellMerging(round_counts, round_rates)
EQUAL_CELLS = CellMerging(lambda counts: counts, lambda rates: rates)


@dataclass(frozen=True, eq=False)
class CellKinds:
    """Kinds of cells by number of other visitors and assumed rate, and how many of each kind people visit."""

    visitors: Ints  # of each kind
    rates: Reals | None  # assumed by the attacker, of each kind
    cells: csr_array  # people x kinds


@dataclass(frozen=True, eq=False)
class CrowdCells:
    """The cells of all people, and how many others of the pool visit them."""

    traces: Traces
    places: npt.NDArray[np.int8]  # of the people: target, pool or reference
    in_pool: Ints  # how many of the pool visit each cell
    in_pool_itself: tuple[bool, ...] = (False, True, False)  # whether people of a place are in the pool
    merging: CellMerging = SIMILAR_CELLS

    @classmethod
    def of_everyone(cls, traces: Traces, reference: Ints) -> "CrowdCells":
        """All people are counted, those of the reference too."""
        places = np.full(traces.n_people, POOL, dtype=np.int8)
        places[reference] = REFERENCE
        return cls(traces, places, traces.visitors(), (True, True, True))

    @classmethod
    def of(cls, traces: Traces, people: PopulationSplit) -> "CrowdCells":
        places = np.full(traces.n_people, TARGET, dtype=np.int8)
        places[people.pool], places[people.reference] = POOL, REFERENCE
        in_pool = traces.visits.indices[np.repeat(places == POOL, traces.n_visits)]
        return cls(traces, places, np.bincount(in_pool, minlength=traces.map.n_cells).astype(np.int64))

    def only(self, people: Ints) -> "CrowdCells":
        """The same pool, with the cells of some people only, and no two different ones merged."""
        return replace(self, traces=self.traces.of(people), places=self.places[people], merging=EQUAL_CELLS)

    @property
    def others(self) -> Ints:
        """How many of the pool visit each cell, without the person itself: places x cells."""
        return np.stack([np.maximum(self.in_pool - itself, 0) for itself in self.in_pool_itself])

    def by_count(self) -> CellKinds:
        """Kinds by the number of others only."""
        counts = self.merging.counts(self.others)
        kinds, cells = self._kinds(counts.astype(np.float64))
        return CellKinds(kinds.astype(np.int64), None, cells)

    def by_belief(self, rates: Reals) -> CellKinds:
        """Kinds by the number of others and by the rate that an attacker assumes: places x cells."""
        kinds, cells = self._kinds(self.merging.counts(self.others) + 1j * self.merging.rates(rates))
        return CellKinds(kinds.real.astype(np.int64), kinds.imag, cells)

    def believed(self, rates: ReferenceRates) -> Reals:
        """The rates from the reference without the person itself: places x cells."""
        cells = np.arange(self.in_pool.size)
        return np.stack([rates(cells, weight) for weight in (1.0, 1.0, 0.0)])

    def _kinds(self, keys: npt.NDArray[np.inexact[Any]]) -> tuple[npt.NDArray[Any], csr_array]:
        """The distinct keys (places x cells) of visited cells, and the matrix people x keys."""
        visits, n_cells = self.traces.visits, keys.shape[1]
        owners = np.repeat(self.places, self.traces.n_visits)
        seen = np.zeros(keys.shape, dtype=bool)
        for place in PLACES:
            seen[place, visits.indices[owners == place]] = True
        distinct, kind = np.unique(keys[seen], return_inverse=True)
        kinds = np.zeros(keys.size, dtype=np.int32)
        kinds[np.flatnonzero(seen)] = kind
        kind_of_visit = kinds[owners.astype(np.int64) * n_cells + visits.indices]
        ones = np.ones(kind_of_visit.size, dtype=np.uint8)
        return distinct, csr_array(
            (ones, kind_of_visit, visits.indptr), shape=(self.traces.n_people, distinct.size)
        )
