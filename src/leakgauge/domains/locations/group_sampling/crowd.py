"""The people that groups are drawn from: random groups of them, and their counts per cell."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.group_sampling.count_kernels import count_visits, ranges
from leakgauge.domains.locations.group_sampling.shadow_groups import (
    PairedGroups,
    VisitorSampler,
    require_enough_people,
)

Counts = npt.NDArray[np.int32]
Drawn = npt.NDArray[np.int32]

_AT_ONCE = 1 << 22  # people drawn per block of rounds


@dataclass(frozen=True, eq=False)
class Crowd:
    """The people that groups are drawn from, all of them equally likely.

    With numba installed, counting and shadows are faster; the groups are the same.
    """

    traces: Traces

    def __getstate__(self) -> dict[str, Any]:
        return {"traces": self.traces}  # cached values are not pickled

    @property
    def n_people(self) -> int:
        return self.traces.n_people

    @property
    def visits(self) -> csr_array:
        return self.traces.visits

    def people(self, n_rounds: int, size: int, rng: Generator) -> Drawn:
        """Draw groups without replacement, one per row; any first part of a row is a random part of it."""
        require_enough_people(n_rounds, size, self.n_people)
        people = np.empty((n_rounds, size), np.int32)
        for group in people:
            group[:] = rng.choice(self.n_people, size, replace=False)
        return people

    def counts(
        self, people: Drawn, columns: Ints | None = None, dtype: type[np.integer[Any]] = np.int32
    ) -> npt.NDArray[Any]:
        """How many of each row's people visit each cell, or each of ``columns``; -1 stands for no person."""
        visits = self.visits if columns is None else self._on(columns)
        return count_visits(people, visits, dtype)

    def on(self, columns: Ints) -> VisitorSampler:
        """The people who visit one of these cells, for repeated draws of shadow groups."""
        visits = self._on(columns)
        return VisitorSampler(self.n_people, visits[np.flatnonzero(np.diff(visits.indptr))])

    def shadow_counts(self, n_rounds: int, size: int, columns: Ints | None, rng: Generator) -> Counts:
        """The counts of random groups; for some cells, only their visitors are drawn."""
        if columns is not None:
            return self.on(columns).counts(n_rounds, size, rng)
        return self._whole(n_rounds, size, 0, rng)[0]

    def shadow_pairs(self, n_rounds: int, size: int, columns: Ints | None, rng: Generator) -> PairedGroups:
        """The counts of random groups, and for each group one further person of the crowd."""
        if columns is not None:
            return self.on(columns).pairs(n_rounds, size, rng)
        counts, extra = self._whole(n_rounds, size, 1, rng)
        return PairedGroups(counts, self.visits[extra.ravel()])

    def _whole(self, n_rounds: int, size: int, extra: int, rng: Generator) -> tuple[Counts, Drawn]:
        require_enough_people(n_rounds, size + extra, self.n_people)
        counts = np.empty((n_rounds, self.visits.shape[1]), np.int32)
        further = np.empty((n_rounds, extra), np.int32)
        most = max(1, _AT_ONCE // (size + 1))
        for first in range(0, n_rounds, most):
            rows = slice(first, min(first + most, n_rounds))
            people = self.people(rows.stop - first, size + extra, rng)
            counts[rows] = self.counts(people[:, :size])
            further[rows] = people[:, size:]
        return counts, further

    def _on(self, columns: Ints) -> csr_array:
        """The visits of all people to some cells."""
        starts, people = self._by_cell
        columns = np.asarray(columns)
        if columns.size and not (columns.min() >= 0 and columns.max() < starts.size - 1):
            raise BadInput(
                f"cells are numbered 0 to {starts.size - 2}, got {columns.min()} to {columns.max()}"
            )
        lengths = starts[columns + 1] - starts[columns]
        visitors = people[ranges(starts[columns], lengths)]
        ones, which = np.ones(visitors.size, np.uint8), np.repeat(np.arange(columns.size), lengths)
        return csr_array((ones, (visitors, which)), shape=(self.n_people, columns.size))

    @cached_property
    def _by_cell(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """(starts, people): the visitors of cell c are ``people[starts[c]:starts[c + 1]]``."""
        by_cell = self.visits.tocsc()
        return by_cell.indptr, by_cell.indices
