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
