"""Privacy accounting of an oracle: accountants by name, answer counts per record, and the ledger."""

from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.domains.queries import accountants
from leakgauge.domains.queries.records import ResolvedQuery
from leakgauge.support.table_reader import require_known


class Accountant(Protocol):
    """Counts answers, in every world; a world is one choice of the targets that are in the table.

    All answers of an oracle cost the same, so that counts are enough.
    """

    sound: bool  # whether a limit on the count gives a guarantee

    def __init__(self, members: Bits) -> None: ...

    def after(self, resolved: ResolvedQuery) -> Ints:
        """Return the largest count per record, per world, if this query were answered too."""
        ...

    def add(self, resolved: ResolvedQuery, answered: Bits) -> None:
        """Count an answer, in the worlds where it was given."""
        ...

    @property
    def spent(self) -> Ints:
        """The largest count per record so far, per world."""
        ...


def accountant_names() -> list[str]:
    """Return the names of the accountants.

    >>> accountant_names()
    ['none', 'per_predicate', 'per_row', 'sequential']
    """
    return sorted(module.name for module in iter_modules(accountants.__path__))


def find_accountant(name: str) -> type[Accountant]:
    """Find an accountant by its name."""
    require_known(name, accountant_names(), "challenger.accountant: none")
    return import_module(f"{accountants.__name__}.{name}").Accountant


@dataclass(eq=False)
class AnswerCounts:
    """Number of answers per item (0, 1, ...) and world; items with the same history share one row.

    Memory therefore grows with the number of different histories, not with the number of items.
    """

    n_worlds: int
    _group_of: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _sizes: list[int] = field(default_factory=lambda: [0])
    _counts: list[Ints] = field(default_factory=list)  # one row for each group; the first has no answers

    def __post_init__(self) -> None:
        self._counts.append(np.zeros(self.n_worlds, dtype=np.int64))

    def most(self, items: Ints) -> Ints:
        """Return the largest number of answers of any of these items; 0 without items."""
        groups = np.unique(self._group_of[items[items < self._group_of.size]])
        return np.max([self._counts[group] for group in (0, *groups)], axis=0)

    def add(self, items: Ints, answered: Bits) -> None:
        """Count one more answer for these items, in the worlds where it was given."""
        if items.size == 0:
            return
        self._make_room(int(items.max()) + 1)
        groups, place, touched = np.unique(self._group_of[items], return_inverse=True, return_counts=True)
        moved = groups.copy()
        for i, (group, n_touched) in enumerate(zip(groups.tolist(), touched.tolist())):
            counts = self._counts[group] + answered
            if n_touched == self._sizes[group] and group != 0:
                self._counts[group] = counts
                continue
            moved[i] = len(self._counts)
            self._sizes[group] -= n_touched
            self._sizes.append(n_touched)
            self._counts.append(counts)
        self._group_of[items] = moved[place]

    def _make_room(self, n_items: int) -> None:
        missing = max(n_items, 2 * self._group_of.size) - self._group_of.size
        if n_items > self._group_of.size:
            self._group_of = np.concatenate([self._group_of, np.zeros(missing, dtype=np.int64)])
            self._sizes[0] += missing

    @property
    def largest(self) -> Ints:
        """The largest number of answers of any item, in every world."""
        return np.max(self._counts, axis=0)


class Ledger:
    """Fresh answers, and the worlds in which they were given.

    An answer repeated from the cache costs nothing and is not recorded.
    """

    def __init__(self, worlds: Bits, epsilon: float) -> None:
        self._worlds, self._epsilon = worlds, epsilon
        self._lines: list[tuple[ResolvedQuery, Bits]] = []

    def add(self, resolved: ResolvedQuery, answered: Bits) -> None:
        """Record a query, and the worlds in which it got a fresh answer."""
        self._lines.append((resolved, answered))

    @property
    def obtained(self) -> Reals:
        """Worlds x targets: epsilon of the answers whose queries contain a target, all added up."""
        n_answers = np.zeros(self._worlds.shape)
        for resolved, answered in self._lines:
            n_answers += np.outer(answered, resolved.targets)
        return self._epsilon * n_answers

    @property
    def believed(self) -> dict[str, Reals]:
        """The cost of the answers of each world according to each accountant, by name."""
        return {name: self._epsilon * self._recount(name) for name in accountant_names()}

    def _recount(self, name: str) -> Reals:
        account = find_accountant(name)(self._worlds)
        for resolved, answered in self._lines:
            account.add(resolved, answered)
        return account.spent.astype(np.float64)
