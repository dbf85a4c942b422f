"""The people that groups are drawn from: random groups of them, and their counts per cell.

Shadow groups on some cells sample only the people who visit one of these cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csc_array, csr_array, vstack

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.group_sampling.count_kernels import count_visits, ranges
from leakgauge.domains.locations.group_sampling.subset_sampler import Counts, SubsetSampler, fastest_entry

PATTERN_BITS = 64  # a pattern of visits is a 64-bit integer
NANOSECONDS = 100.0  # approximate time to draw the members of one class in one group
_CLASSES_AT_ONCE = 1 << 20  # rounds x classes drawn together
_PLACES = 1 << 21  # positions drawn together

Drawn = npt.NDArray[np.int32]

_PEOPLE_AT_ONCE = 1 << 22  # people drawn per block of rounds


def most_columns(max_value: int) -> int:
    """How many columns fit into one pattern, a digit each.

    >>> most_columns(1), most_columns(2)
    (64, 40)
    """
    return int(PATTERN_BITS / log2(max_value + 1))


@dataclass(frozen=True, eq=False)
class VisitorClasses:
    """The visitors of a crowd of ``n_people``, grouped into classes with the same visited columns."""

    n_people: int
    sizes: Ints  # visitors in each class; the last class is all other people
    visits: csr_array  # of all visitors
    first: Ints  # one visitor of each class but the last

    @classmethod
    def of(cls, n_people: int, visits: csr_array, max_value: int = 1) -> "VisitorClasses":
        """Group visitors into classes; at most ``most_columns`` columns."""
        powers = np.uint64(max_value + 1) ** np.arange(visits.shape[1], dtype=np.uint64)
        _, first, sizes = np.unique(visits @ powers, return_index=True, return_counts=True)
        return cls(n_people, np.append(sizes, n_people - visits.shape[0]).astype(np.int64), visits, first)

    @cached_property
    def patterns(self) -> csr_array:
        """The visits of each class; none in the last."""
        nothing = csr_array((1, self.visits.shape[1]), dtype=self.visits.dtype)
        return vstack([self.visits[self.first], nothing], format="csr")

    def groups(self, n_rounds: int, size: int, rng: Generator) -> Counts:
        """Counts of random groups."""
        counts = np.empty((n_rounds, self.patterns.shape[1]), np.int32)
        for rows, members in self._blocks(n_rounds, size, rng):
            counts[rows] = members @ self.patterns
        return counts

    def pairs(self, n_rounds: int, size: int, rng: Generator) -> tuple[Counts, csr_array]:
        """Counts of random groups, and the visits of one further person for each."""
        counts = np.empty((n_rounds, self.patterns.shape[1]), np.int32)
        classes = np.empty(n_rounds, np.int64)
        for rows, members in self._blocks(n_rounds, size, rng):
            counts[rows] = members @ self.patterns
            left = np.cumsum(self.sizes - members, axis=1)
            classes[rows] = (rng.integers(0, self.n_people - size, (len(members), 1)) >= left).sum(axis=1)
        return counts, self.patterns[classes]

    def _blocks(self, n_rounds: int, size: int, rng: Generator) -> Iterator[tuple[slice, Ints]]:
        most = max(1, _CLASSES_AT_ONCE // self.sizes.size)
        for first in range(0, n_rounds, most):
            n = min(most, n_rounds - first)
            yield (
                slice(first, first + n),
                rng.multivariate_hypergeometric(self.sizes, size, n, method="marginals"),
            )


@dataclass(frozen=True, eq=False)
class PairedGroups:
    """Random groups, and for each of them one further person who is not in it.

    The group with the target and the group with the further person instead differ in one person only: the
    paired sampling of Guan et al. (2024).
    """

    common: Counts  # a row for each group
    extra: csr_array  # the visits of the further person, a row for each group

    def completed(self) -> Counts:
        """The counts of the groups with the further person added."""
        return self.common + self.extra.toarray().astype(self.common.dtype)


@dataclass(frozen=True, eq=False)
class VisitorSampler:
    """The people of a crowd who visit one of some cells, for repeated draws of shadow groups."""

    n_people: int  # of the crowd that groups are drawn from
    visits: csr_array  # a row for each visitor, a column for each cell
    max_value: int = 1  # of a visitor in a cell

    def counts(self, n_rounds: int, size: int, rng: Generator) -> Counts:
        """How many of a random group visit each cell: a row for each of the groups."""
        require_enough_people(n_rounds, size, self.n_people)
        if self.visits.nnz * n_rounds == 0:
            return np.zeros((n_rounds, self.visits.shape[1]), np.int32)
        return self._sampler(size).groups(n_rounds, size, rng)

    def pairs(self, n_rounds: int, size: int, rng: Generator) -> PairedGroups:
        """The counts of random groups, and for each group one further person of the crowd."""
        require_enough_people(n_rounds, size + 1, self.n_people)
        if self.visits.nnz * n_rounds == 0:
            shape = (n_rounds, self.visits.shape[1])
            return PairedGroups(np.zeros(shape, np.int32), csr_array(shape, dtype=np.uint8))
        return PairedGroups(*self._sampler(size).pairs(n_rounds, size, rng))

    def parts(self, bounds: npt.NDArray[np.int64], rng: Generator) -> list[Counts]:
        """Shuffle all people and split them: how many people of each part visit each cell.

        A row of ``bounds`` holds the positions in one round at which parts begin and the last ends. Positions
        are drawn for visitors only.
        """
        n_rounds, n_parts = len(bounds), bounds.shape[1] - 1
        n, by_column = self.visits.shape[0], csr_array(self.visits.T, dtype=np.int32)
        parts = [np.empty((n_rounds, self.visits.shape[1]), np.int32) for _ in range(n_parts)]
        for first in range(0, n_rounds, most := max(1, _PLACES // max(n, 1))):
            rows = slice(first, first + most)
            places = np.array([rng.choice(self.n_people, n, replace=False) for _ in bounds[rows]])
            for i, part in enumerate(parts):
                within = (places >= bounds[rows, i, None]) & (places < bounds[rows, i + 1, None])
                part[rows] = (by_column @ within.T.astype(np.int32)).T
        return parts

    def _sampler(self, size: int) -> VisitorClasses | SubsetSampler:
        """Sample class by class if that is faster, else visitor by visitor."""
        n, share = self.visits.shape[0], size / self.n_people
        if self._classes and NANOSECONDS * self._classes.sizes.size < fastest_entry(n, share).nanoseconds(
            n, share
        ):
            return self._classes
        return self._subsets

    @cached_property
    def _subsets(self) -> SubsetSampler:
        return SubsetSampler(self.n_people, self.visits)

    @cached_property
    def _classes(self) -> VisitorClasses | None:
        if self.visits.shape[1] > most_columns(self.max_value):
            return None
        return VisitorClasses.of(self.n_people, self.visits, self.max_value)


def require_enough_people(n_rounds: int, size: int, n_people: int) -> None:
    """Refuse to draw more people than there are."""
    if n_rounds < 0 or size < 0:
        raise BadInput(
            f"groups: {n_rounds} groups of {size} people requested; neither number may be negative"
        )
    if size > n_people:
        raise BadInput(f"groups: {size} people cannot be drawn from {n_people}; lower the group size")


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
        visitors = visits[np.flatnonzero(np.diff(visits.indptr))]
        return VisitorSampler(self.n_people, visitors, self.traces.map.max_value)

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

    def counts_with_repeats(self, sizes: Ints, columns: Ints | None, rng: Generator) -> Counts:
        """The counts of groups drawn with replacement, a row for each size; they may exceed the crowd.

        For some cells, only their visitors are drawn.
        """
        visits = self.visits if columns is None else self.on(columns).visits
        counts = np.zeros((sizes.size, visits.shape[1]), np.int32)
        n = visits.shape[0]
        if n == 0:
            return counts
        drawn = rng.binomial(sizes, n / self.n_people) if n < self.n_people else sizes
        most = max(1, _PEOPLE_AT_ONCE // max(int(drawn.max(initial=1)), 1))
        for first in range(0, sizes.size, most):
            each = drawn[first : first + most, None]
            people = rng.integers(0, n, (len(each), int(each.max())), dtype=np.int32)
            people[np.arange(people.shape[1]) >= each] = -1
            counts[first : first + most] = count_visits(people, visits, np.int32)
        return counts

    def _whole(self, n_rounds: int, size: int, extra: int, rng: Generator) -> tuple[Counts, Drawn]:
        require_enough_people(n_rounds, size + extra, self.n_people)
        counts = np.empty((n_rounds, self.visits.shape[1]), np.int32)
        further = np.empty((n_rounds, extra), np.int32)
        most = max(1, _PEOPLE_AT_ONCE // (size + 1))
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
        by_column = csc_array(
            (np.ones(visitors.size, np.uint8), visitors, np.append(0, np.cumsum(lengths))),
            shape=(self.n_people, columns.size),
        )
        return by_column.tocsr()  # keeps cells that are listed twice

    @cached_property
    def _by_cell(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """(starts, people): the visitors of cell c are ``people[starts[c]:starts[c + 1]]``."""
        by_cell = self.visits.tocsc()
        return by_cell.indptr, by_cell.indices
