"""From the gradients of chosen neurons to scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.federated.client import clipped_sum
from leakgauge.domains.federated.knowledge import Seen, Server
from leakgauge.domains.federated.model import Crafted, Network

ACTIVE = float(np.nextafter(0, 1))  # any gradient that is not zero


@dataclass(frozen=True, eq=False)
class ByNorm:
    """The norm of the gradient: exactly zero where no row of the batch made the neuron active."""

    networks: Sequence[Network]

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        return np.array([[np.linalg.norm(one) for one in row] for row in seen.train(self.networks)])


@dataclass(frozen=True, eq=False)
class ByAverage:
    """How much of the target's own gradient is in the average of noisy ones, beyond half of what is due.

    The server knows the target, its label and the model, and so the clipped gradient that is looked for: the
    projection on it is what is left of the noise (a matched filter, the best there is under Gaussian noise
    if nobody else makes the neuron active).
    """

    networks: Sequence[Network]
    expected: Sequence[Reals]  # of a batch in which the target is, for every target
    unit: float  # the standard deviation of the noise on one number

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        rows = seen.train(self.networks)
        return np.array([[self._score(one, due) for one, due in zip(row, self.expected)] for row in rows])

    def _score(self, gradient: Reals, due: Reals) -> float:
        return float(np.sum((gradient - due / 2) * due)) / self.unit**2


def decide(knowledge: Server, crafted: Sequence[Crafted], rng: Generator) -> Scorer[Seen]:
    """Send what was crafted, and read the answers: exactly zero or not, or above the noise or not."""
    networks, training = knowledge.networks(crafted, rng), knowledge.training
    if training.noise is None:
        return Scorer(ByNorm(networks), Reading(threshold=ACTIVE))
    rows = training.batch * training.clients
    expected = [
        training.present / rows * clipped_sum(network, target[None], label[None], training.noise.clip)
        for network, target, label in zip(networks, knowledge.targets, knowledge.target_labels)
    ]
    one = training.noise.multiplier * training.noise.clip / training.batch
    unit = one / np.sqrt(training.clients * training.iterations)
    return Scorer(ByAverage(networks, expected, unit), Reading(threshold=0.0, signed=True))
