"""The mixture (Humphries et al. 2023, algorithm 3): members are all of one component, which is secret."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Coins
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.games.membership_game import RoundRows, fair_coins


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureGame:
    """In each round a component is drawn for the members; others are of any other component.

    So the record alone says nothing: members and others are of each component equally often. A coin is fair
    for each record, but two records of one kind share their bit.
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

    def deal(self, members: Bits, rng: Generator) -> RoundRows:
        kinds = len(self.components)
        mine = int(rng.integers(kinds))
        training = rng.choice(self.components[mine], self.slots, replace=False)
        shown = np.empty(members.size, dtype=np.int64)
        shown[members] = rng.choice(training, int(members.sum()), replace=False)
        theirs = (mine + rng.integers(1, kinds, size=members.size)) % kinds
        for kind in range(kinds):
            of_it = ~members & (theirs == kind)
            shown[of_it] = rng.choice(self.components[kind], int(of_it.sum()), replace=False)
        return RoundRows(training=training, shown=shown, members=members)
