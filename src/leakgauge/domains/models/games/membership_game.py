"""What every game about models provides: in each round the training rows and the records in question."""

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
