"""Traces of people: which cells (a place in an epoch) each person visited, and people by name.

Contribution bounds are caps on how many visits of one person are counted.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_matrix import (
    Whole,
    count_columns,
    keep_entries,
    ones_matrix,
    row_blocks,
    rows_of_block,
    select_rows,
    shared_ones,
)
from leakgauge.support.target_choice import rows_by_name

Ints = npt.NDArray[np.int64]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class CellMap:
    """The cells of a release: every place in every epoch. Cell ``place * n_epochs + epoch`` is a column.

    ``days`` is the day of each epoch. ``positions`` of places are metres east and north of some point, if
    known. A person adds at most ``max_value`` to the count of a cell. A table of people and cells without
    times is not ``timed``: its rows take the part of places, and its columns that of epochs. ``releases`` is
    the number of the release of each epoch, in rising order, if there are several releases.
    """

    n_places: int
    n_epochs: int
    days: Ints
    positions: Reals | None = None
    max_value: int = 1
    timed: bool = True
    releases: Ints | None = None

    def __post_init__(self) -> None:
        if self.n_places < 1 or self.n_epochs < 1:
            raise BadInput(
                f"a map needs at least one place and one epoch, got {self.n_places} x {self.n_epochs}"
            )
        if self.days.shape != (self.n_epochs,):
            raise BadInput(f"days: needs one for each of {self.n_epochs} epochs, got {self.days.size}")
        if self.positions is not None and self.positions.shape != (self.n_places, 2):
            raise BadInput(f"positions: needs two numbers for each of {self.n_places} places")

    @property
    def n_cells(self) -> int:
        return self.n_places * self.n_epochs

    @property
    def n_releases(self) -> int:
        return 1 if self.releases is None else int(self.releases[-1]) + 1

    def release_of(self, cells: Ints) -> Ints:
        """The release of each cell."""
        return np.zeros_like(cells) if self.releases is None else self.releases[self.epochs(cells)]

    def phrase(self, text: str) -> str:
        """A text about traces, for a table without times: it speaks of cells instead.

        >>> CellMap(1, 1, np.zeros(1, dtype=np.int64), timed=False).phrase("knows the trace of a person")
        'knows the cells of a person'
        """
        return text if self.timed else re.sub(r"\btraces?\b", "cells", text)

    @property
    def entries(self) -> str:
        """What people have in the data, as a word for messages."""
        if self.timed:
            return "visits"
        return "cells" if self.max_value == 1 else "values (summed over cells)"

    def places(self, cells: Ints) -> Ints:
        """The place of each cell."""
        return cells // self.n_epochs

    def epochs(self, cells: Ints) -> Ints:
        """The epoch of each cell."""
        return cells - self.n_epochs * self.places(cells)  # much faster than the remainder


@dataclass(frozen=True, eq=False)
class Traces:
    """A sparse matrix of ones: a row for each person, a column for each cell they visited.

    Where people have values above one, a cell is listed as often as its value. ``names`` are the names of
    people in the data; they stay private to the owner of the data. A visit takes four bytes.
    """

    visits: csr_array  # uint8 ones, sorted column indices; repeated only where values are above one
    map: CellMap
    names: npt.NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        if self.visits.shape[1] != self.map.n_cells:
            raise BadInput(f"traces over {self.visits.shape[1]} cells on a map of {self.map.n_cells}")
        object.__setattr__(self, "visits", shared_ones(self.visits))

    def __reduce__(self) -> tuple[Any, ...]:
        return _traces_of, (self.visits.indices, self.visits.indptr, self.map, self.names)

    def once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result of ``make``, computed once for these traces and this key; it is not pickled."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    @cached_property
    def _memory(self) -> dict[Hashable, Any]:
        return {}

    @property
    def n_people(self) -> int:
        return int(self.visits.shape[0])

    @cached_property
    def n_visits(self) -> Ints:
        """How many cells each person visited; the sum of a person's values where they may exceed one."""
        return np.diff(self.visits.indptr).astype(np.int64)

    @cached_property
    def visits_per_release(self) -> Ints:
        """How many cells of each release a person visited: people x releases."""
        n = self.map.n_releases
        if n == 1:
            return self.n_visits[:, None]
        counts = np.empty((self.n_people, n), dtype=np.int64)
        for rows, entries in row_blocks(self.visits):
            releases = self.map.release_of(self.visits.indices[entries])
            keys = rows_of_block(self.visits, rows) * n + releases
            counts[rows] = np.bincount(keys, minlength=counts[rows].size).reshape(-1, n)
        return counts

    @cached_property
    def value_counts(self) -> Ints:
        """How many cells of each person have the values 1, 2 and so on: people x values."""
        most = self.map.max_value
        if most == 1:
            return self.n_visits[:, None]
        counts = np.empty((self.n_people, most), dtype=np.int64)
        for rows, entries in row_blocks(self.visits):
            people = rows_of_block(self.visits, rows)
            first, values = distinct_entries(people, self.visits.indices[entries])
            keys = people[first] * most + values - 1
            counts[rows] = np.bincount(keys, minlength=counts[rows].size).reshape(-1, most)
        return counts

    @cached_property
    def n_days(self) -> Ints:
        """On how many days each person has a visit."""
        n_days = int(self.map.days.max()) + 1
        counts = np.empty(self.n_people, dtype=np.int64)
        for rows, entries in row_blocks(self.visits):
            days = self.map.days[self.map.epochs(self.visits.indices[entries])]
            keys = np.sort(rows_of_block(self.visits, rows) * n_days + days)  # much faster than np.unique
            first = np.append(True, np.diff(keys) > 0)[: keys.size]
            counts[rows] = np.bincount(keys[first] // n_days, minlength=rows.stop - rows.start)
        return counts

    def cells(self, person: int) -> Ints:
        """The cells that a person visited, in order."""
        return np.unique(self._listed(person))

    def values(self, person: int) -> Ints:
        """What a person adds to the count of each of their cells, in the order of the cells."""
        return np.unique(self._listed(person), return_counts=True)[1].astype(np.int64)

    def _listed(self, person: int) -> Ints:
        first, last = self.visits.indptr[person : person + 2]
        return self.visits.indices[first:last].astype(np.int64)

    def in_release(self, release: int) -> "Traces":
        """The same people with their visits in one release only."""

        def keep(_: slice, entries: slice) -> Bits:
            return np.asarray(self.map.release_of(self.visits.indices[entries]) == release)

        return replace(self, visits=keep_entries(self.visits, keep))

    def of(self, people: Ints) -> "Traces":
        """The traces of some people, in the order given."""
        names = None if self.names is None else self.names[people]
        return replace(self, visits=select_rows(self.visits, people), names=names)

    def visitors(self, chosen: Bits | None = None) -> Ints:
        """How many people visited each cell, of all or of the chosen ones.

        Where values may exceed one, it is the sum of theirs.
        """
        return count_columns(self.visits, chosen)


def _traces_of(columns: Whole, starts: Whole, cells: CellMap, names: npt.NDArray[np.str_] | None) -> Traces:
    return Traces(ones_matrix(columns, starts, cells.n_cells), cells, names)


def distinct_entries(people: Ints, cells: Whole) -> tuple[Bits, Ints]:
    """Mark the first entry of each cell of each person, and count how often each is listed: its value.

    The entries of a person follow one another, and so do those of a cell.
    """
    changes = (np.diff(people) != 0) | (np.diff(cells) != 0)
    first = np.append(True, changes)[: people.size]
    return first, np.diff(np.append(np.flatnonzero(first), people.size))


def find_people(names: Sequence[str | int], traces: Traces, where: str) -> Ints:
    """The rows of people in the order of their names; nobody may be named twice.

    In a generated city the names are the numbers of people from 0.
    """
    return rows_by_name(names, people_by_name(traces), where, unknown_person_message)


def people_by_name(traces: Traces) -> dict[str, int]:
    """The row of each person, by name."""
    names = map(str, range(traces.n_people)) if traces.names is None else traces.names.tolist()
    return {name: person for person, name in enumerate(names)}


NOT_IN_DATA = "is not in the data (or has too few visits for data.min_visits); fix or remove it"


def unknown_person_message(name: str) -> str:
    """The error message for a name in a plan that is not in the data."""
    return f"{name!r} {NOT_IN_DATA}"


def bound_contributions(
    traces: Traces,
    *,
    per_epoch: int | None = None,
    per_day: int | None = None,
    per_user: int | None = None,
    rng: Generator,
) -> Traces:
    """Cap the visits of each person per epoch, then per day, then in total in each release.

    The kept visits are drawn once. Each cap draws a uniform random subset of the visits that the caps before
    it kept.
    """
    for name, cap in (("per_epoch", per_epoch), ("per_day", per_day), ("per_user", per_user)):
        if cap is not None and not cap >= 1:
            raise BadInput(f"challenger.{name} must be >= 1, got {cap}; leave it out for no cap")
    cells = traces.map
    if per_epoch is not None:
        traces = _keep_at_most(traces, cells.epochs, cells.n_epochs, per_epoch, rng)
    if per_day is not None:
        n_days = int(cells.days.max()) + 1
        traces = _keep_at_most(traces, lambda those: cells.days[cells.epochs(those)], n_days, per_day, rng)
    if per_user is not None:
        traces = _keep_at_most(traces, cells.release_of, cells.n_releases, per_user, rng)
    return traces


def _keep_at_most(
    traces: Traces, slot_of: Callable[[Ints], Ints], n_slots: int, cap: int, rng: Generator
) -> Traces:
    """Keep at most ``cap`` visits of every person in every slot: those that come first in a random order."""
    visits = traces.visits

    def groups(rows: slice, entries: slice) -> Ints:
        return rows_of_block(visits, rows) * n_slots + slot_of(visits.indices[entries])

    many = np.empty(visits.nnz, dtype=bool)  # visits in slots with more than the cap
    for block in row_blocks(visits):
        many[block[1]] = _in_groups_above(groups(*block), cap)
    n = int(np.count_nonzero(many))
    if n == 0:
        return traces
    order = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
    rng.shuffle(order)
    ranks = np.empty_like(order)  # of those visits, in the random order
    ranks[order] = np.arange(n, dtype=order.dtype)
    done = 0

    def keep(rows: slice, entries: slice) -> Bits:
        nonlocal done
        some = np.flatnonzero(many[entries])
        own = groups(rows, entries)[some]
        by_rank = np.lexsort((ranks[done : done + some.size], own))
        kept = ~many[entries]
        if some.size:
            kept[some[by_rank]] = _ranks(own[by_rank]) < cap
        done += some.size
        return kept

    return replace(traces, visits=keep_entries(visits, keep))


def _in_groups_above(groups: Ints, cap: int) -> Bits:
    """Mark the elements of groups with more than ``cap`` elements."""
    large = _groups_above(groups, cap)
    if large.size == 0:
        return np.zeros(groups.size, dtype=bool)
    positions = np.minimum(np.searchsorted(large, groups), large.size - 1)
    return np.asarray(large[positions] == groups)


def _groups_above(groups: Ints, cap: int) -> Ints:
    """The groups with more than ``cap`` elements, in order: sorted, they repeat ``cap`` positions later."""
    ordered = np.sort(groups)
    repeated = ordered[cap:][ordered[cap:] == ordered[:-cap]]
    return repeated[np.flatnonzero(np.diff(repeated, prepend=-1))]


def _ranks(groups: Ints) -> Ints:
    """The position of each element in its group; groups are contiguous and there is at least one."""
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))
