"""Disjoint sets of known people, each selected by a predicate over attributes and by nothing else.

The people whom an attacker knows are divided on ranges of their attributes until no part has anybody else in
it. Parts are joined until a set is large enough for the service to answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.domains.queries.attributes import AttributeCodes, encode
from leakgauge.domains.queries.knowledge import KnownAttributes


@dataclass(frozen=True, eq=False)
class KnownSet:
    """Some of the known people, and the predicates of the boxes that hold them and nobody else."""

    boxes: tuple[str, ...]
    rows: Ints  # of the known people


@dataclass(frozen=True, eq=False)
class TargetCell:
    """All people with exactly the attributes of a target."""

    box: str
    known: Ints  # rows of known people with the same attributes
    n_strangers: int  # people whom the attacker does not know, and other targets
    unusable: bool  # no predicate can name its values

    @property
    def isolated(self) -> bool:
        """Whether a predicate selects the target and otherwise known people only."""
        return self.n_strangers == 0 and not self.unusable

    @property
    def obstacle(self) -> str:
        """Why no predicate isolates the target."""
        if self.unusable:
            return "a value of it is not a number"
        if self.n_strangers == 1:
            return "1 person whom the attacker does not know has the same values"
        return f"{self.n_strangers} people whom the attacker does not know have the same values"


@dataclass(frozen=True, eq=False)
class AttributeSets:
    """The known people by their attributes, with the targets and strangers that predicates must avoid."""

    knowledge: KnownAttributes

    @cached_property
    def _codes(self) -> AttributeCodes:
        known = self.knowledge
        tables = [known.people, known.target_attributes]
        if known.strangers is None:
            return encode(tables, complete=False)
        return encode([*tables, known.strangers], complete=True)

    @cached_property
    def _cells(self) -> tuple[Ints, Ints]:
        """Different combinations of values, and the one of each person: known, targets, strangers."""
        cells, cell_of = np.unique(np.concatenate(self._codes.codes), axis=0, return_inverse=True)
        return cells, cell_of.reshape(-1).astype(np.int64)

    @cached_property
    def _cell_parts(self) -> list[Ints]:
        sizes = np.cumsum([len(codes) for codes in self._codes.codes])[:-1]
        return np.split(self._cells[1], sizes)

    def target_cells(self) -> tuple[TargetCell, ...]:
        """Return who has the attributes of each target."""
        cells, n_cells = self._cells[0], len(self._cells[0])
        known, targets, *strangers = self._cell_parts
        foreign = np.bincount(np.concatenate([targets, *strangers]), minlength=n_cells)
        return tuple(
            TargetCell(
                self._codes.predicate(cells[cell], cells[cell]),
                np.flatnonzero(known == cell),
                int(foreign[cell]) - 1,
                bool(unusable),
            )
            for cell, unusable in zip(targets.tolist(), self._codes.unusable[1].tolist())
        )

    def disjoint_sets(self, size: int, most: int) -> list[KnownSet]:
        """Return disjoint sets of at least ``size`` known people, and at most ``most`` such sets."""
        sets: list[KnownSet] = []
        boxes, cells, n_people = [], [], 0
        for box, part, n in self._boxes(size):
            boxes.append(box)
            cells.append(part)
            n_people += n
            if n_people < size:
                continue
            sets.append(KnownSet(tuple(boxes), self._people(np.concatenate(cells))))
            boxes, cells, n_people = [], [], 0
            if len(sets) == most:
                break
        return sets

    def exact_set(self, size: int) -> KnownSet | None:
        """Return a set of exactly ``size`` known people, or nothing where there is none to be found."""
        boxes, cells, n_people = [], [], 0
        for box, part, n in self._boxes(0) if size else ():
            if n_people + n <= size:
                boxes.append(box)
                cells.append(part)
                n_people += n
            if n_people == size:
                break
        if n_people < size:
            return None
        rows = self._people(np.concatenate(cells)) if cells else np.zeros(0, dtype=np.int64)
        return KnownSet(tuple(boxes), rows)

    def _people(self, cells: Ints) -> Ints:
        return np.flatnonzero(np.isin(self._cell_parts[0], cells))

    def _boxes(self, size: int) -> Iterator[tuple[str, Ints, int]]:
        """Divide the known people until a box has fewer than twice ``size``, and nobody else is in it.

        An attacker who knows nothing of others names combinations of values, and no ranges.
        """
        cells, (known, *others) = self._cells[0], self._cell_parts
        weights = np.bincount(known, minlength=len(cells))
        foreign = np.zeros(len(cells), dtype=bool)
        foreign[np.concatenate(others)] = True
        foreign[known[self._codes.unusable[0]]] = True
        spans = self._codes.spans
        ranges = self.knowledge.strangers is not None
        parts = [(np.flatnonzero(~foreign & (weights > 0)), np.flatnonzero(foreign))]
        while parts:
            own, near = parts.pop()
            if own.size == 0:
                continue
            low, high = cells[own].min(axis=0), cells[own].max(axis=0)
            near = near[((cells[near] >= low) & (cells[near] <= high)).all(axis=1)]
            n_people = int(weights[own].sum())
            if own.size == 1 or (ranges and near.size == 0 and n_people < 2 * size):
                yield self._codes.predicate(low, high), own, n_people
                continue
            column = int(np.argmax((high - low) / spans))
            cut = _middle(cells[own, column], weights[own])
            left = cells[own, column] <= cut
            parts += [(own[~left], near), (own[left], near)]


def _middle(codes: Ints, weights: Ints) -> int:
    """Return the code, below the largest, up to which about half of the people are.

    >>> _middle(np.array([3, 1, 2, 2]), np.array([1, 1, 1, 1])), _middle(np.array([0, 5]), np.array([1, 9]))
    (2, 0)
    """
    order = np.argsort(codes, kind="stable")
    reached = codes[order][np.searchsorted(weights[order].cumsum(), weights.sum() / 2)]
    return int(reached if reached < codes.max() else codes[codes < codes.max()].max())
