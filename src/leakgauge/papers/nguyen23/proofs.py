"""What draws of a neuron prove before any game, and what they seem to prove by the range of the draws."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.domains.federated.certificate import ERROR, Certificate
from leakgauge.domains.federated.certifying import DRAWS, box
from leakgauge.domains.federated.evaluating import drawn_values
from leakgauge.domains.federated.knowledge import Server
from leakgauge.domains.federated.model import Crafted
from leakgauge.domains.federated.ranges import value_range
from leakgauge.papers.comparison import Ours
from leakgauge.papers.nguyen23.games import Point

ENOUGH = 12_000  # perturbed rows of others, for rates


@dataclass(frozen=True)
class Proof:
    """Two certificates of the same draws."""

    valid: Certificate  # by a range that was known before
    as_observed: Certificate  # by the range that was observed, which proves nothing

    @property
    def target(self) -> Ours:
        """The mean value at the target between its bounds; the upper one is as far away as the lower."""
        own, error = self.valid.own, self.valid.error
        return Ours(value=own.value, low=own.low(error), high=own.high(error))

    @property
    def others(self) -> Ours:
        """The mean value at other rows between its bounds."""
        others, error = self.valid.others, self.valid.error
        return Ours(value=others.value, low=others.low(error), high=others.high(error))


Found: TypeAlias = Mapping[Point, Sequence[Proof]]  # one for each target


def average(proofs: Sequence[Proof], of: Callable[[Certificate], float]) -> float:
    """Something that was proved, as a mean over targets."""
    return float(np.mean([of(proof.valid) for proof in proofs]))


def prove(server: Server, crafted: Crafted, place: int, rng: Generator) -> Proof:
    """Draw the target 4,000 times, and every row of the adversary's, several times if they are few."""
    mechanism = server.training.mechanism
    own = drawn_values(crafted, server.targets[[place]], DRAWS, mechanism, rng)
    often = -(-ENOUGH // len(server.rows))
    others = np.concatenate([drawn_values(crafted, server.rows, 1, mechanism, rng) for _ in range(often)])
    least, most = value_range(crafted, *box(server))
    observed = float(max(np.ptp(own), np.ptp(others)))
    valid, as_observed = (
        Certificate.of(own, others, width, server.training, ERROR) for width in (most - least, observed)
    )
    return Proof(valid, as_observed)
