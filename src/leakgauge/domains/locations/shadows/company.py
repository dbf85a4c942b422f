"""Who is beside a target in a shadow group: people drawn from a crowd, and other targets by fair coins."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.shadows.releases import Counts
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.domains.locations.traces import Ints
from leakgauge.strategies.count_priors import CountPrior


@dataclass(frozen=True, eq=False)
class Company:
    """People who are always drawn, and other targets whose whole traces are known: by coins, as in the game.

    Under ``replace_one`` somebody of the crowd takes the place of each target who is out. Of the other
    targets whose traces are not known in full, people of the crowd stand for half, or for all where those
    who are out are replaced.
    """

    n_always: int
    held: tuple[Sketch, ...]
    replaces: bool

    @classmethod
    def beside(
        cls, target: int, sketches: Sequence[Sketch], n_others: int, n_targets: int, relation: Relation
    ) -> "Company":
        """The company of one of the targets; ``n_others`` are no targets."""
        held = tuple(
            sketch
            for place, sketch in enumerate(sketches)
            if place != target and sketch.complete and sketch.certain
        )
        replaces = relation is Relation.REPLACE_ONE
        unknown = n_targets - 1 - len(held)
        return cls(n_others + (unknown if replaces else unknown // 2), held, replaces)

    def flip(self, n: int, rng: Generator) -> Bits:
        """Which of the other targets are in: a row for each group."""
        return rng.random((n, len(self.held))) < 0.5

    def n_drawn(self, coins: Bits) -> Ints:
        """How many of the crowd are in each group."""
        out = (~coins).sum(axis=1) if self.replaces else np.zeros(len(coins), dtype=np.int64)
        return self.n_always + out

    def join(self, counts: Counts, coins: Bits, cells: Ints) -> None:
        """Add the other targets who are in to the counts of some cells, in place."""
        for sketch, coin in zip(self.held, coins.T, strict=True):
            seen = sketch.cells[np.isin(sketch.cells, cells)]
            counts[np.ix_(coin, np.searchsorted(cells, seen))] += 1

    def prior(self, own: Sketch, rates: Reals, n_known: int) -> CountPrior:
        """The law of the company's counts in a target's cells beyond ``n_known``, given everybody's rates."""
        visited = [np.isin(own.cells, sketch.cells) for sketch in self.held]
        coins = np.array(visited, dtype=np.int64).reshape(-1, own.cells.size).sum(axis=0)
        n = self.n_always + (len(self.held) // 2 if self.replaces else 0) - n_known
        return CountPrior(rates=rates, n_in=n, n_out=n + self.replaces, coins=coins)
