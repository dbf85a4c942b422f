"""The games about models: in each round the training rows and the records in question.

The IID and the exchangeable experiment, canaries, the mixture and the strong attacker's game follow Humphries
et al. (2023), as does the fixed member group of their figures 2 to 9.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.game import Coins
from leakgauge.domains.models.data.dataset import EncodedTable
from leakgauge.domains.models.games.member_split import Dependence, MemberSplit, SplitSizes


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundRows:
    """One round: rows by their numbers in the table, and for each record shown whether it is a member.

    ``training`` are the slots of a training; those not ``present`` are empty in this round. ``settled`` are
    the members that are no targets, where random bits decide about targets.
    """

    training: Ints
    shown: Ints
    members: Bits  # of the records shown
    present: Bits | None = None
    validation: Ints = field(default_factory=_no_rows)
    settled: Ints | None = None

    @property
    def trained_on(self) -> Ints:
        return self.training if self.present is None else self.training[self.present]

    @property
    def others(self) -> Ints:
        """Rows in question that were not trained on."""
        return self.shown[~self.members]


class MembershipGame(Protocol):
    """The rules of one experiment: it draws the membership bits and the rows of each round."""

    @property
    def slots(self) -> int:
        """The number of rows of a training, including empty ones."""
        ...

    @property
    def n_targets(self) -> int: ...

    @property
    def coins(self) -> Coins: ...

    @property
    def targets(self) -> Ints | None:
        """The rows in question where they are the same in all rounds, else None."""
        ...

    @property
    def depends(self) -> bool:
        """Whether members resemble one another more than they resemble others."""
        ...

    def flip(self, n_rounds: int, rng: Generator) -> Bits: ...

    def draw_round(self, members: Bits, rng: Generator) -> RoundRows: ...


def fair_coins(n_rounds: int, n_targets: int, rng: Generator) -> Bits:
    """Independent fair membership bits."""
    return rng.random((n_rounds, n_targets)) < 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentGame:
    """Each target is a member by an independent fair bit; the other rows are drawn in every round.

    ``replaced``: drawn with replacement from all rows, so a row may occur twice, and a target that was left
    out may occur by chance (the IID experiment); otherwise from rows that are no targets, each at most once
    (the exchangeable one). The slots of absent targets go to such rows, or stay ``empty``.
    """

    pool: Ints  # no targets among them, unless rows are drawn with replacement
    targets: Ints
    slots: int
    replaced: bool
    empty: bool

    coins = Coins.FAIR
    depends = False

    @property
    def n_targets(self) -> int:
        return self.targets.size

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return fair_coins(n_rounds, self.n_targets, rng)

    def draw_round(self, members: Bits, rng: Generator) -> RoundRows:
        # Draw as many rows as could be needed, so that the bit of one target changes one row only.
        further = self.slots - self.n_targets if self.empty else self.slots
        drawn = rng.choice(self.pool, further, replace=self.replaced)
        if self.empty:
            present = np.concatenate([members, np.ones(further, dtype=bool)])
            training = np.concatenate([self.targets, drawn])
            return RoundRows(
                training=training, present=present, shown=self.targets, members=members, settled=drawn
            )
        training = np.concatenate([self.targets[members], drawn[: self.slots - int(members.sum())]])
        settled = drawn[: self.slots - self.n_targets]
        return RoundRows(training=training, shown=self.targets, members=members, settled=settled)


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureGame:
    """In each round a component is drawn for the members; others are of any other component.

    A record alone reveals nothing: members and others are of each component equally often. Each bit is fair,
    but two records of the same component share their bit.
    """

    components: tuple[Ints, ...]
    slots: int
    n_targets: int

    targets = None
    depends = True

    @property
    def coins(self) -> Coins:
        return Coins.FAIR if self.n_targets == 1 else Coins.TIED

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return fair_coins(n_rounds, self.n_targets, rng)

    def draw_round(self, members: Bits, rng: Generator) -> RoundRows:
        kinds = len(self.components)
        own = int(rng.integers(kinds))
        training = rng.choice(self.components[own], self.slots, replace=False)
        shown = np.empty(members.size, dtype=np.int64)
        shown[members] = rng.choice(training, int(members.sum()), replace=False)
        other = (own + rng.integers(1, kinds, size=members.size)) % kinds
        for kind in range(kinds):
            chosen = ~members & (other == kind)
            shown[chosen] = rng.choice(self.components[kind], int(chosen.sum()), replace=False)
        return RoundRows(training=training, shown=shown, members=members)


@dataclass(frozen=True, eq=False, kw_only=True)
class StrongGame:
    """The target's slot is the last one; if it is absent, a substitute takes it, or it stays empty."""

    others: Ints
    target: int
    substitute: int | None

    coins = Coins.FAIR
    n_targets = 1
    depends = False

    @property
    def slots(self) -> int:
        return self.others.size + 1

    @property
    def targets(self) -> Ints | None:
        return np.array([self.target])

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return fair_coins(n_rounds, 1, rng)

    def draw_round(self, members: Bits, rng: Generator) -> RoundRows:
        is_member = bool(members[0])
        last = self.target if is_member or self.substitute is None else self.substitute
        training = np.append(self.others, last)
        present = None
        if self.substitute is None:
            present = np.arange(training.size) < self.others.size + is_member
        return RoundRows(
            training=training,
            present=present,
            shown=np.array([self.target]),
            members=members,
            settled=self.others,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupGame:
    """Members of a group and others from outside, drawn in each round.

    ``control`` pools and reshuffles them: the same rows without dependence. ``shown`` is how many members and
    how many others are shown, in random order.
    """

    loaded: EncodedTable
    dependence: Dependence
    sizes: SplitSizes
    free: Bits  # rows that are not the attacker's
    control: bool
    slots: int
    shown: tuple[int, int]

    coins = Coins.GIVEN
    targets = None

    @property
    def n_targets(self) -> int:
        return sum(self.shown)

    @property
    def depends(self) -> bool:
        return not self.control and self.dependence.fixed is not None

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        bits = np.arange(self.n_targets) < self.shown[0]
        return rng.permuted(np.tile(bits, (n_rounds, 1)), axis=1)

    def split(self, rng: Generator) -> MemberSplit:
        drawing, shuffling = rng.spawn(2)
        split = self.dependence.split(self.loaded, self.sizes, drawing, self.free)
        return split.control(shuffling) if self.control else split

    def draw_round(self, members: Bits, rng: Generator) -> RoundRows:
        split = self.split(rng)
        shown: Ints = np.empty(members.size, dtype=np.int64)
        shown[members] = split.members[: self.shown[0]]
        shown[~members] = split.others[: self.shown[1]]
        return RoundRows(training=split.members, shown=shown, members=members, validation=split.validation)
