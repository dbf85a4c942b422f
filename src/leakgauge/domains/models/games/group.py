"""A fixed member group, as in figures 2 to 9 of Humphries et al. (2023): membership is given, not flipped."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Coins
from leakgauge.domains.models.data.dataset import EncodedTable, Ints
from leakgauge.domains.models.games.dependence import Dependence
from leakgauge.domains.models.games.member_split import MemberSplit, SplitSizes
from leakgauge.domains.models.games.membership_game import RoundRows


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
