"""The strong attacker's game (Humphries et al. 2023, algorithm 1): all rows but one stay the same."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Coins
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.games.membership_game import RoundRows, fair_coins


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
