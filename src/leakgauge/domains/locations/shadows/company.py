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
    """People who are always drawn, and other targets by coins, as far as their visits are known.

    Under ``replace_one`` somebody of the crowd takes the place of each target who is out. Of the other
    targets whose traces are not known in full, people of the crowd stand for half, or for all where those
    who are out are replaced; what is known of them comes on top.
    """

    n_always: int
    visits: tuple[Ints, ...]  # known ones, of each other target
    complete: Bits  # whether they are all of them
    replaces: bool

    @classmethod
    def beside(
        cls, target: int, sketches: Sequence[Sketch], n_others: int, n_targets: int, relation: Relation
    ) -> "Company":
        """The company of one of the targets; ``n_others`` are no targets."""
        others = [sketch for place, sketch in enumerate(sketches) if place != target]
        complete = np.array([sketch.complete and sketch.certain for sketch in others], dtype=bool)
        replaces = relation is Relation.REPLACE_ONE
        unknown = n_targets - 1 - int(complete.sum())
        n_always = n_others + (unknown if replaces else unknown // 2)
        return cls(n_always, tuple(sketch.visits for sketch in others), complete, replaces)

    def flip(self, n: int, rng: Generator) -> Bits:
        """Which of the other targets are in: a row for each group."""
        return rng.random((n, len(self.visits))) < 0.5

    def n_drawn(self, coins: Bits) -> Ints:
        """How many of the crowd are in each group."""
        out = ~coins[:, self.complete]
        return self.n_always + (out.sum(axis=1) if self.replaces else np.zeros(len(coins), dtype=np.int64))

    def join(self, counts: Counts, coins: Bits, cells: Ints) -> None:
        """Add the known visits of other targets who are in to the counts of some cells, in place."""
        for visits, coin in zip(self.visits, coins.T, strict=True):
            seen = visits[np.isin(visits, cells)]
            counts[np.ix_(coin, np.searchsorted(cells, seen))] += 1

    def prior(self, own: Sketch, rates: Reals, n_known: int) -> CountPrior:
        """The law of the company's counts in a target's cells beyond ``n_known``, given everybody's rates."""
        visits = np.sort(np.concatenate([own.cells[:0], *self.visits]))
        first, last = (np.searchsorted(visits, own.cells, side) for side in ("left", "right"))
        n = self.n_always + (int(self.complete.sum()) // 2 if self.replaces else 0) - n_known
        return CountPrior(rates=rates, n_in=n, n_out=n + self.replaces, coins=last - first)
