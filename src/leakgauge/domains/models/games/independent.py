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
    """Each target is in by a fair coin of its own; other rows are drawn anew in every round.

    ``replaced``: with replacement, from all rows, so that a row may be there twice, and one that was not put
    in may be there by chance (the IID experiment); otherwise from rows that are no targets, each at most once
    (the exchangeable one). Targets that are absent leave their slots to such rows, or ``empty``.
    """

    pool: Ints  # no targets among them, unless rows are drawn with replacement
    whose: Ints  # the targets
    slots: int
    replaced: bool
    empty: bool

    coins = Coins.FAIR
    depends = False

    @property
    def n_targets(self) -> int:
        return self.whose.size

    @property
    def targets(self) -> Ints | None:
        return self.whose

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return fair_coins(n_rounds, self.n_targets, rng)

    def deal(self, members: Bits, rng: Generator) -> RoundRows:
        # All that could be needed is drawn, so that the coin of one target decides of one row alone.
        further = self.slots - self.n_targets if self.empty else self.slots
        drawn = rng.choice(self.pool, further, replace=self.replaced)
        if self.empty:
            present = np.concatenate([members, np.ones(further, dtype=bool)])
            training = np.concatenate([self.whose, drawn])
            return RoundRows(
                training=training, present=present, shown=self.whose, members=members, settled=drawn
            )
        training = np.concatenate([self.whose[members], drawn[: self.slots - int(members.sum())]])
        settled = drawn[: self.slots - self.n_targets]
        return RoundRows(training=training, shown=self.whose, members=members, settled=settled)
