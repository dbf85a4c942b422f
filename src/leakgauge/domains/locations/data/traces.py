"""Traces of people: which cells (a place in an epoch) each person visited, and people by name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.support.target_choice import rows_by_name

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellMap:
    """The cells of a release: every place in every epoch. Cell ``place * n_epochs + epoch`` is a column.

    ``days`` is the day of each epoch. ``positions`` of places are metres east and north of some point, if
    known.
    """

    n_places: int
    n_epochs: int
    days: Ints
    positions: Reals | None = None

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

    def places(self, cells: Ints) -> Ints:
        """The place of each cell."""
        return cells // self.n_epochs

    def epochs(self, cells: Ints) -> Ints:
        """The epoch of each cell."""
        return cells % self.n_epochs


@dataclass(frozen=True, eq=False)
class Traces:
    """A sparse matrix of ones: a row for each person, a column for each cell they visited.

    ``names`` are the names of people in the data; they stay private to the owner of the data.
    """

    visits: csr_array  # uint8 ones, sorted column indices without duplicates
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
        """How many cells each person visited."""
        return np.diff(self.visits.indptr).astype(np.int64)

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
        first, last = self.visits.indptr[person : person + 2]
        return self.visits.indices[first:last].astype(np.int64)

    def of(self, people: Ints) -> "Traces":
        """The traces of some people, in the order given."""
        names = None if self.names is None else self.names[people]
        return replace(self, visits=self.visits[people], names=names)

    def visitors(self) -> Ints:
        """How many people visited each cell."""
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


def unknown_person_message(name: str) -> str:
    """The error message for a name that is not in the data."""
    return f"{name!r} is not in the data (or has too few visits for data.min_visits); fix or remove it"
