"""What an adversary expects of the cells of a target, from the law of the chain: once, or round by round."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.chain.cut_laws import ChainCuts
from leakgauge.domains.locations.habits.estimates import from_releases
from leakgauge.domains.locations.knowledge import Auxiliary, Seen, Zero
from leakgauge.domains.locations.rules.by_cells import Knowledge
from leakgauge.domains.locations.shadows.simulator import Public
from leakgauge.domains.locations.traces import Ints
from leakgauge.strategies import cell_outlooks
from leakgauge.strategies.cell_outlooks import Moments, Votes
from leakgauge.strategies.count_priors import CountPrior
from leakgauge.strategies.rate_curves import RateCurves


def law_of(knowledge: Knowledge) -> ChainCuts | None:
    """The law of the release, where it is known."""
    chain = knowledge.public.chain
    return ChainCuts(chain) if isinstance(chain, Chain) and isinstance(knowledge, Auxiliary | Zero) else None


def settled(knowledge: Auxiliary | Zero) -> bool:
    """Whether the same is expected in every round, beyond the known counts.

    Not where rates come from the release; nor where somebody is known and the chain, clamping or suppressing,
    does not move with the known counts.
    """
    chain = knowledge.public.chain
    if isinstance(knowledge, Zero):
        return False
    return knowledge.simulator.n_known == 0 or (isinstance(chain, Chain) and chain.shift_free)


class Expecting(Protocol):
    """Knows what to expect in each round."""

    def moments(self, seen: Seen) -> Iterator[Moments]:
        """Mean and variance of the cells of each target: rounds x cells."""
        ...

    def votes(self, seen: Seen) -> Iterator[Votes]:
        """Cuts of the cells of each target, and how often they are reached: rounds x cells."""
        ...


@dataclass(frozen=True, eq=False)
class FromTraces:
    """Expects what the reference says of the others who are not known, and adds those who are."""

    law: ChainCuts
    priors: tuple[CountPrior, ...]  # of each target
    cells: tuple[Ints, ...]
    fpr: float | None = None  # of cells

    @classmethod
    def of(cls, knowledge: Auxiliary, law: ChainCuts, fpr: float | None = None) -> "FromTraces":
        """Expect what an adversary with traces does."""
        n_targets = len(knowledge.sketches)
        priors = tuple(knowledge.prior(target, pseudo=0.0) for target in range(n_targets))
        return cls(law, priors, tuple(sketch.cells for sketch in knowledge.sketches), fpr)

    def moments(self, seen: Seen) -> Iterator[Moments]:
        return (cell_outlooks.moments(self.law, prior, known) for prior, known in self._known(seen))

    def votes(self, seen: Seen) -> Iterator[Votes]:
        return (cell_outlooks.votes(self.law, prior, self.fpr, known) for prior, known in self._known(seen))

    def _known(self, seen: Seen) -> Iterator[tuple[CountPrior, Ints]]:
        known = (seen.known(cells).astype(np.int64) for cells in self.cells)
        return zip(self.priors, known, strict=True)


@dataclass(frozen=True, eq=False)
class FromRelease:
    """Expects what the habits seen in each release make of the cells."""

    public: Public
    cells: tuple[Ints, ...]  # of each target
    coins: tuple[Ints, ...]
    curves: RateCurves  # of moments, or of votes

    @classmethod
    def of_moments(cls, knowledge: Zero, law: ChainCuts) -> "FromRelease":
        """Work out mean and variance of cells of any rate."""
        n_in, n_out, coins = _company(knowledge)
        return cls._of(knowledge, coins, RateCurves.of_moments(law, n_in, n_out, np.concatenate(coins)))

    @classmethod
    def of_votes(cls, knowledge: Zero, law: ChainCuts, fpr: float | None) -> "FromRelease":
        """Work out where cells of any rate are cut, and how often they vote."""
        n_in, n_out, coins = _company(knowledge)
        return cls._of(knowledge, coins, RateCurves.of_votes(law, n_in, n_out, np.concatenate(coins), fpr))

    @classmethod
    def _of(cls, knowledge: Zero, coins: tuple[Ints, ...], curves: RateCurves) -> "FromRelease":
        return cls(knowledge.public, tuple(sketch.cells for sketch in knowledge.sketches), coins, curves)

    def moments(self, seen: Seen) -> Iterator[Moments]:
        return (self.curves.moments(rates, coins) for rates, coins in self._rates(seen))

    def votes(self, seen: Seen) -> Iterator[Votes]:
        return (self.curves.votes(rates, coins) for rates, coins in self._rates(seen))

    def _rates(self, seen: Seen) -> Iterator[tuple[Reals, Ints]]:
        habits = seen.once("habits", partial(from_releases, public=self.public))
        return zip((habits.rates(cells) for cells in self.cells), self.coins, strict=True)


def _company(knowledge: Zero) -> tuple[int, int, tuple[Ints, ...]]:
    """Who may be in a cell beside a target: people, with it and without, and for each target the coins."""
    nowhere = (np.zeros(sketch.cells.size) for sketch in knowledge.sketches)
    priors = [knowledge.prior(target, rates) for target, rates in enumerate(nowhere)]
    return priors[0].n_in, priors[0].n_out, tuple(prior.coins for prior in priors)
