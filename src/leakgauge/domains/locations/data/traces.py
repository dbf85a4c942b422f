"""Traces of people: which cells (a place in an epoch) each person visited, and people by name.

Contribution bounds are caps on how many visits of one person are counted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.support.target_choice import rows_by_name

Ints = npt.NDArray[np.int64]


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
        return cells % self.n_epochs


@dataclass(frozen=True, eq=False)
class Traces:
    """A sparse matrix of ones: a row for each person, a column for each cell they visited.

    Where people have values above one, a cell is listed as often as its value. ``names`` are the names of
    people in the data; they stay private to the owner of the data.
    """

    visits: csr_array  # uint8 ones, sorted column indices; repeated only where values are above one
    map: CellMap
    names: npt.NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        if self.visits.shape[1] != self.map.n_cells:
            raise BadInput(f"traces over {self.visits.shape[1]} cells on a map of {self.map.n_cells}")

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
        releases = self.map.release_of(self.visits.indices.astype(np.int64))
        rows = np.repeat(np.arange(self.n_people), self.n_visits)
        return np.bincount(rows * n + releases, minlength=self.n_people * n).reshape(self.n_people, n)

    @cached_property
    def value_counts(self) -> Ints:
        """How many cells of each person have the values 1, 2 and so on: people x values."""
        if self.map.max_value == 1:
            return self.n_visits[:, None]
        rows = np.repeat(np.arange(self.n_people), self.n_visits)
        first = np.append(True, np.diff(rows * self.map.n_cells + self.visits.indices) > 0)[: rows.size]
        values = np.diff(np.append(np.flatnonzero(first), rows.size))
        keys = rows[first] * self.map.max_value + values - 1
        counts = np.bincount(keys, minlength=self.n_people * self.map.max_value)
        return counts.reshape(self.n_people, self.map.max_value).astype(np.int64)

    @cached_property
    def n_days(self) -> Ints:
        """On how many days each person has a visit."""
        n_days = int(self.map.days.max()) + 1
        rows = np.repeat(np.arange(self.n_people), self.n_visits)
        days = self.map.days[self.map.epochs(self.visits.indices.astype(np.int64))]
        keys = np.sort(rows * n_days + days)  # much faster than np.unique
        first = np.append(True, np.diff(keys) > 0)[: keys.size]
        return np.bincount(keys[first] // n_days, minlength=self.n_people).astype(np.int64)

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
        keep = self.map.release_of(self.visits.indices.astype(np.int64)) == release
        left = np.concatenate([[0], np.cumsum(keep)])[self.visits.indptr]
        kept = csr_array((self.visits.data[keep], self.visits.indices[keep], left), shape=self.visits.shape)
        return replace(self, visits=kept)

    def of(self, people: Ints) -> "Traces":
        """The traces of some people, in the order given."""
        names = None if self.names is None else self.names[people]
        return replace(self, visits=self.visits[people], names=names)

    def visitors(self) -> Ints:
        """How many people visited each cell; the sum of their values where they may exceed one."""
        return np.bincount(self.visits.indices, minlength=self.map.n_cells).astype(np.int64)


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
    if per_epoch is not None:
        traces = _keep_at_most(traces, traces.map.epochs(_cells(traces)), traces.map.n_epochs, per_epoch, rng)
    if per_day is not None:
        days = traces.map.days[traces.map.epochs(_cells(traces))]
        traces = _keep_at_most(traces, days, int(traces.map.days.max()) + 1, per_day, rng)
    if per_user is not None:
        releases = traces.map.release_of(_cells(traces))
        traces = _keep_at_most(traces, releases, traces.map.n_releases, per_user, rng)
    return traces


def _keep_at_most(traces: Traces, slots: Ints, n_slots: int, cap: int, rng: Generator) -> Traces:
    """Keep at most ``cap`` visits of every person in every slot."""
    people = np.repeat(np.arange(traces.n_people), traces.n_visits)
    keep = _random_subset(people * n_slots + slots, cap, rng)
    visits = traces.visits
    left = np.concatenate([[0], np.cumsum(keep)])
    thinned = type(visits)((visits.data[keep], visits.indices[keep], left[visits.indptr]), shape=visits.shape)
    return replace(traces, visits=thinned)


def _random_subset(groups: Ints, cap: int, rng: Generator) -> Bits:
    """Mark a uniform random subset of at most ``cap`` elements of each group."""
    keep = np.ones(groups.size, dtype=bool)
    large = _groups_above(groups, cap)
    if large.size == 0:
        return keep
    positions = np.minimum(np.searchsorted(large, groups), large.size - 1)
    shuffled = rng.permutation(np.flatnonzero(large[positions] == groups))
    ordered = shuffled[np.argsort(groups[shuffled], kind="stable")]
    keep[ordered] = _ranks(groups[ordered]) < cap
    return keep


def _groups_above(groups: Ints, cap: int) -> Ints:
    """The groups with more than ``cap`` elements, in order: sorted, they repeat ``cap`` positions later."""
    ordered = np.sort(groups)
    repeated = ordered[cap:][ordered[cap:] == ordered[:-cap]]
    return repeated[np.flatnonzero(np.diff(repeated, prepend=-1))]


def _ranks(groups: Ints) -> Ints:
    """The position of each element in its group; groups are contiguous and there is at least one."""
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))


def _cells(traces: Traces) -> Ints:
    return traces.visits.indices.astype(np.int64)
