"""Members and others from the same rows: the IID and the exchangeable experiment, and canaries.

(Humphries et al. 2023, algorithms 2 and 4.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Coins
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.games.membership_game import RoundRows, fair_coins


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
