"""The releases of a block of rounds: published counts, computed when an attacker first reads them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.group_sampling.fixed_group import FixedGroup

Result = TypeVar("Result")

Counts = npt.NDArray[np.int32]


class AnyReleaseChain(Protocol):
    """Turns true counts into published numbers."""

    def sample(self, counts: Any, rng: Generator) -> Reals: ...


@dataclass(frozen=True, eq=False)
class RoundGroups:
    """The group of each round: the others, the replacements (-1: none), and the targets by membership bit."""

    crowd: Crowd
    people: npt.NDArray[np.int32]  # rounds x others, in random order
    spares: npt.NDArray[np.int32]  # rounds x targets: the replacement of a target that is not a member
    members: Bits
    targets: csr_array  # their traces

    def counts(self, columns: Ints | None = None) -> Counts:
        """The true counts of the whole group."""
        total = self.crowd.counts(self.people, columns)
        visits = self.targets if columns is None else self.targets[:, columns]
        total += (csr_array(self.members.astype(np.int32)) @ visits.astype(np.int32)).toarray()
        if self.spares.size:
            total += self.crowd.counts(self.spares, columns)
        return total

    def known(self, n_known: int, columns: Ints) -> Counts:
        """The true counts of the first ``n_known`` others, which are a random part of them."""
        if n_known == 0:
            return np.zeros((len(self.people), columns.size), dtype=np.int32)
        return self.crowd.counts(self.people[:, :n_known], columns)


@dataclass(frozen=True, eq=False)
class WholeTables:
    """The true table of everyone in each round: the same others, and the targets by membership bit."""

    others: FixedGroup
    members: Bits
    targets: csr_array  # their traces

    def counts(self, columns: Ints | None = None) -> Counts:
        """The true counts of everyone but the targets that are not members."""
        visits, others = self.targets, self.others.counts
        if columns is not None:
            visits, others = visits[:, columns], others[columns]
        return (csr_array(self.members.astype(np.int32)) @ visits.astype(np.int32)).toarray() + others

    def known(self, n_known: int, columns: Ints) -> Counts:
        """The true counts of ``n_known`` of the others, the same in every round."""
        counts = self.others.first(n_known)[columns]
        return np.broadcast_to(counts, (len(self.members), columns.size))


@dataclass(frozen=True, eq=False)
class LocationsBlock:
    """The releases of a block. The noise of ``near`` cells, those of the targets, has its own random stream.

    If all attackers of an audit use the targets' cells only, the other cells are never drawn. The numbers in
    the targets' cells are the same in both cases.
    """

    rounds: RoundGroups | WholeTables
    chain: AnyReleaseChain
    near: Ints  # sorted
    streams: tuple[Generator, Generator]  # of the noise in near cells and in all other cells
    n_cells: int
    independent_cells: bool  # whether cells are published independently of one another
    split_numbers: Ints  # of each round: which random division of the people it uses
    memory: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result of ``make``, computed once per block and key."""
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    def known(self, n_known: int, columns: Ints, rows: Ints | None = None) -> Counts:
        """The true counts of the first ``n_known`` others in some cells, of some rounds or all."""
        if not np.isin(columns, self.near).all():
            return _part(self.rounds.known(n_known, columns), rows, None)
        near = self.once(("known", n_known), lambda: self.rounds.known(n_known, self.near))
        return _part(near, rows, np.searchsorted(self.near, columns))

    def at(self, columns: Ints, rows: Ints | None = None) -> Reals:
        """The published counts of some cells, of some rounds or all."""
        if not self.independent_cells or not np.isin(columns, self.near).all():
            return _part(self.whole, rows, columns)
        return _part(self._near, rows, np.searchsorted(self.near, columns))

    @cached_property
    def whole(self) -> Reals:
        """The published counts of all cells."""
        if not self.independent_cells:
            return _read_only(self.chain.sample(self.rounds.counts(), self.streams[0]))
        far = np.setdiff1d(np.arange(self.n_cells), self.near, assume_unique=True)
        published = np.empty((len(self.rounds.members), self.n_cells))
        published[:, self.near] = self._near
        published[:, far] = self.chain.sample(self.rounds.counts()[:, far], self.streams[1])
        return _read_only(published)

    @cached_property
    def _near(self) -> Reals:
        return self.chain.sample(self.rounds.counts(self.near), self.streams[0])


def _read_only(published: Reals) -> Reals:
    """The same numbers, which no attack can change for the others."""
    published.setflags(write=False)
    return published


def _part(table: npt.NDArray[Any], rows: Ints | None, columns: Ints | None) -> npt.NDArray[Any]:
    """Some rows and columns of a table; all where none are given."""
    if rows is None:
        return table if columns is None else table[:, columns]
    return table[rows] if columns is None else table[np.ix_(rows, columns)]


@dataclass(frozen=True, eq=False)
class LocationsView:
    """What an attacker sees of a block: the published counts, and the counts of the members it knows.

    ``rows`` are the rounds of the block that it sees; nothing where it sees all.
    """

    _block: LocationsBlock = field(repr=False)
    n_known: int
    rows: Ints | None = None

    def of_rounds(self, rows: Ints) -> Self:
        """The same view of some rounds of the block only."""
        return replace(self, rows=rows)

    def at(self, columns: Ints) -> Reals:
        """The published counts of some cells, a row for each round."""
        return self._block.at(columns, self.rows)

    def known(self, columns: Ints) -> Reals:
        """How many of the known members are in these cells."""
        return self._block.known(self.n_known, columns, self.rows).astype(np.float64)

    @property
    def whole(self) -> Reals:
        """Everything published, a row for each round."""
        return _part(self._block.whole, self.rows, None)

    def once(self, key: Hashable, make: Callable[[Reals], Result]) -> Result:
        """The result of ``make`` on all published counts, computed once per block, key and rounds."""
        rows = None if self.rows is None else self.rows.tobytes()
        return self._block.once((key, rows), lambda: make(self.whole))
