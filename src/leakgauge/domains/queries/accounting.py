"""Privacy accounting of an oracle: accountants by name, answer counts per record, and the ledger."""

from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries import accountants
from leakgauge.domains.queries.records import Ints, ResolvedQuery
from leakgauge.support.table_reader import require_known


class Accountant(Protocol):
    """Counts the answers that somebody may have been in, for every world: who of the targets is there.

    All answers of an oracle cost the same, so that whole numbers suffice.
    """

    sound: bool  # whether refusing beyond a number of answers promises anything

    def __init__(self, members: Bits) -> None: ...

    def after(self, asked: ResolvedQuery) -> Ints:
        """The answers of whoever would have had most, if this were answered too."""
        ...

    def add(self, asked: ResolvedQuery, answered: Bits) -> None:
        """Take note of an answer, in the worlds where it was given."""
        ...

    @property
    def spent(self) -> Ints:
        """The answers of whoever has had most."""
        ...


def accountant_names() -> list[str]:
    """Name the accountants.

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


class Ledger:
    """Fresh answers, and the worlds that got them; a world is who of the targets is in the table.

    An answer that is given again costs nothing and is not written down.
    """

    def __init__(self, worlds: Bits, epsilon: float) -> None:
        self._worlds, self._epsilon = worlds, epsilon
        self._lines: list[tuple[ResolvedQuery, Bits]] = []

    def add(self, asked: ResolvedQuery, answered: Bits) -> None:
        """Write down a question, and the worlds in which it got a fresh answer."""
        self._lines.append((asked, answered))

    @property
    def obtained(self) -> Reals:
        """Worlds x targets: epsilon of the answers whose queries contain a target, all added up."""
        n_answers = np.zeros(self._worlds.shape)
        for asked, answered in self._lines:
            n_answers += np.outer(answered, asked.targets)
        return self._epsilon * n_answers

    @property
    def believed(self) -> dict[str, Reals]:
        """What each accountant would say that the answers of each world have cost, by its name."""
        return {name: self._epsilon * self._recount(name) for name in accountant_names()}

    def _recount(self, name: str) -> Reals:
        account = find_accountant(name)(self._worlds)
        for asked, answered in self._lines:
            account.add(asked, answered)
        return account.spent.astype(np.float64)
