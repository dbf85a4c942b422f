"""Groups drawn class by class: people who visit the same of the cells are exchangeable."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array, vstack

from leakgauge.domains.locations.drawing.chosen import Counts
from leakgauge.domains.locations.traces import Ints

MOST_COLUMNS = 64  # a pattern of visits is a whole number of so many bits
NANOSECONDS = 100.0  # about how long it takes to draw how many of one class are in one group
_AT_ONCE = 1 << 20  # rounds x classes


@dataclass(frozen=True, eq=False)
class Classes:
    """The visitors of a crowd of ``n_people``, by the columns that they visit."""

    n_people: int
    sizes: Ints  # how many visitors there are of each class; the last class is everybody else
    patterns: csr_array  # the visits of each class; none in the last

    @classmethod
    def of(cls, n_people: int, visits: csr_array) -> "Classes":
        """Sort visitors into classes; there can be at most 64 columns."""
        powers = np.left_shift(np.uint64(1), np.arange(visits.shape[1], dtype=np.uint64))
        _, first, sizes = np.unique(visits @ powers, return_index=True, return_counts=True)
        nothing = csr_array((1, visits.shape[1]), dtype=visits.dtype)
        return cls(
            n_people,
            np.append(sizes, n_people - visits.shape[0]).astype(np.int64),
            vstack([visits[first], nothing], format="csr"),
        )

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
        most = max(1, _AT_ONCE // self.sizes.size)
        for first in range(0, n_rounds, most):
            n = min(most, n_rounds - first)
            yield (
                slice(first, first + n),
                rng.multivariate_hypergeometric(self.sizes, size, n, method="marginals"),
            )
