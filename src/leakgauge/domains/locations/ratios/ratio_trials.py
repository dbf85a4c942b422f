"""The likelihood attack tried out on shadows, before any round."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from leakgauge.core.game import Bits, Reals
from leakgauge.core.spread import spread
from leakgauge.domains.locations.knowledge import Auxiliary
from leakgauge.domains.locations.rules.by_cells import Piece
from leakgauge.strategies.count_ratios import log_ratios, total
from leakgauge.strategies.laws import Law

_WORTH_SPREADING = 5e7  # outputs; fewer are scored before the traces have reached a worker
_CERTAIN = 20.0  # log ratios beyond it are all the same to an average


@dataclass(frozen=True, eq=False)
class Tried:
    """Scores of shadows of one target; ``tied`` is the AUC lost because people visit several of its cells."""

    scores: Reals
    members: Bits
    tied: float


@dataclass(frozen=True, eq=False)
class _Try:
    knowledge: Auxiliary
    law: Law
    rates: tuple[Reals, ...]
    n: int

    def __call__(self, piece: Piece) -> Tried:
        sketch, rates = self.knowledge.sketches[piece.target], self.rates[piece.target]
        simulator = self.knowledge.simulator
        shadows = simulator.independent(piece.target, sketch.cells, self.n, piece.rng)
        prior = simulator.company(piece.target).prior(sketch, rates, simulator.n_known)
        ratios = log_ratios(self.law, shadows.outputs, shadows.known, prior, sketch.weights)
        return Tried(total(ratios), shadows.members, _tied(ratios, shadows.members))


def try_out(knowledge: Auxiliary, law: Law, rates: Sequence[Reals], n: int, rng: Generator) -> list[Tried]:
    """Score so many shadows of each target."""
    pieces = [Piece(target, own) for target, own in enumerate(rng.spawn(len(rates)))]
    work = _Try(knowledge, law, tuple(rates), n)
    long = n * sum(own.size for own in rates) > _WORTH_SPREADING
    return spread(work, pieces) if long else list(map(work, pieces))


def _tied(ratios: Reals, members: Bits) -> float:
    """How much higher the AUC of the sum would be if cells varied independently, all being normal."""
    worlds = [np.clip(ratios[rows], -_CERTAIN, _CERTAIN) for rows in (members, ~members)]
    distance = float(worlds[0].sum(axis=1).mean() - worlds[1].sum(axis=1).mean())
    apart = sum(float(world.var(axis=0).sum()) for world in worlds)
    together = sum(float(world.sum(axis=1).var()) for world in worlds)
    if not (apart > 0 and together > 0):
        return 0.0
    return float(ndtr(distance / np.sqrt(apart)) - ndtr(distance / np.sqrt(together)))
