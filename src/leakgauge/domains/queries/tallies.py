"""How many answers each of many things has had, for several worlds at once."""

from dataclasses import dataclass, field

import numpy as np

from leakgauge.core.game import Bits
from leakgauge.domains.queries.records import Ints


@dataclass(eq=False)
class Tally:
    """Things (0, 1, ...) that have had the same answers are kept together, and told apart when they differ.

    So memory follows the number of different fates, not the number of things.
    """

    n_worlds: int
    _group_of: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _sizes: list[int] = field(default_factory=lambda: [0])
    _counts: list[Ints] = field(default_factory=list)  # one row for each group; the first had nothing

    def __post_init__(self) -> None:
        self._counts.append(np.zeros(self.n_worlds, dtype=np.int64))

    def most(self, things: Ints) -> Ints:
        """The largest number of answers that any of these things has had; 0 for no thing."""
        groups = np.unique(self._group_of[things[things < self._group_of.size]])
        return np.max([self._counts[group] for group in (0, *groups)], axis=0)

    def add(self, things: Ints, answered: Bits) -> None:
        """Count one more answer for these things, in the worlds where it was given."""
        if things.size == 0:
            return
        self._make_room(int(things.max()) + 1)
        groups, place, touched = np.unique(self._group_of[things], return_inverse=True, return_counts=True)
        moved = groups.copy()
        for i, (group, n_touched) in enumerate(zip(groups.tolist(), touched.tolist())):
            more = self._counts[group] + answered
            if n_touched == self._sizes[group] and group != 0:
                self._counts[group] = more
                continue
            moved[i] = len(self._counts)
            self._sizes[group] -= n_touched
            self._sizes.append(n_touched)
            self._counts.append(more)
        self._group_of[things] = moved[place]

    def _make_room(self, n_things: int) -> None:
        missing = max(n_things, 2 * self._group_of.size) - self._group_of.size
        if n_things > self._group_of.size:
            self._group_of = np.concatenate([self._group_of, np.zeros(missing, dtype=np.int64)])
            self._sizes[0] += missing

    @property
    def largest(self) -> Ints:
        """The largest number of answers of any thing, in every world."""
        return np.max(self._counts, axis=0)
