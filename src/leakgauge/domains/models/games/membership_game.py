"""What a round of any game about models comes to: the rows of a training, and those in question."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Coins
from leakgauge.domains.models.data.dataset import Ints


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundRows:
    """One round: rows by their numbers in the table, and for each one shown whether it is a member.

    ``training`` are the slots of a training; those not ``present`` are empty in this round. ``settled`` are
    rows that are trained on whatever the coins say, where coins decide of some.
    """

    training: Ints
    shown: Ints
    members: Bits  # of those shown
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
    """The rules of one experiment: it flips the coins and deals the rows."""

    @property
    def slots(self) -> int:
        """How many rows a training has, those left empty included."""
        ...

    @property
    def n_targets(self) -> int: ...

    @property
    def coins(self) -> Coins: ...

    @property
    def targets(self) -> Ints | None:
        """The rows in question where they are the same in all rounds, else nothing."""
        ...

    @property
    def depends(self) -> bool:
        """Whether members resemble one another more than they resemble others."""
        ...

    def flip(self, n_rounds: int, rng: Generator) -> Bits: ...

    def deal(self, members: Bits, rng: Generator) -> RoundRows: ...


def fair_coins(n_rounds: int, n_targets: int, rng: Generator) -> Bits:
    """Coins of one half each."""
    return rng.random((n_rounds, n_targets)) < 0.5
