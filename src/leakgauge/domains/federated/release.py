"""The clients of a block of rounds: they perturb their rows, train on what they are sent, and answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Mechanism, Reals
from leakgauge.domains.federated.clients.gradients import (
    GradientNoise,
    neuron_gradient,
    noisy_neuron_gradient,
)
from leakgauge.domains.federated.data.dataset import Ints
from leakgauge.domains.federated.neurons.network import (
    Floats,
    PlantedNetwork,
)


@dataclass(frozen=True, eq=False)
class ClientPool:
    """The clients' rows, and the targets that may be among them."""

    rows: Floats
    labels: Ints
    targets: Floats
    target_labels: Ints


@dataclass(frozen=True, eq=False)
class ClientRows:
    """What one client has when a model reaches it: rows that it has yet to perturb, and what it draws by."""

    rows: Floats
    labels: Ints
    seed: int


@dataclass(frozen=True, kw_only=True)
class ClientTraining:
    """What clients do with a model: how many rows, how often, and the noise on both ends."""

    batch: int
    clients: int = 1
    iterations: int = 1
    present: float = 1.0
    mechanism: Mechanism | None = None  # on rows
    noise: GradientNoise | None = None  # on gradients

    def answer(self, network: PlantedNetwork, held: ClientRows) -> Reals:
        """What one client sends back: the gradient of the chosen neurons on its rows, perturbed afresh."""
        rng, rows = np.random.default_rng(held.seed), held.rows
        if self.mechanism is not None:
            rows = self.mechanism.sample(rows.astype(np.float64), rng).astype(np.float32)
        if self.noise is None:
            return neuron_gradient(network, rows, held.labels)
        return noisy_neuron_gradient(network, rows, held.labels, self.noise, rng)


class FederatedBlock(Protocol):
    """Clients, wherever they run."""

    @property
    def n_rounds(self) -> int: ...

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        """Rounds x targets: what the group of a target answers to the network made for it."""
        ...


@dataclass(frozen=True, eq=False)
class ClientGroups:
    """One group of clients for each round and target; the first of them may hold the target.

    What a client draws follows from one number, its round, target, iteration and place in the group: every
    attacker meets the same rows with the same noise on them.
    """

    pool: ClientPool
    training: ClientTraining
    members: Bits  # rounds x targets
    seed: int

    @property
    def n_rounds(self) -> int:
        return len(self.members)

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        return [
            [self._answer(row, target, network) for target, network in enumerate(networks)]
            for row in range(self.n_rounds)
        ]

    def held(self, row: int, target: int, iteration: int) -> list[ClientRows]:
        """The rows of each client of a group: others, and the target in the place of one of them."""
        training, pool = self.training, self.pool
        rng = np.random.default_rng([self.seed, row, target, iteration])
        seeds = rng.integers(2**63, size=training.clients).tolist()
        drawn = rng.choice(len(pool.rows), training.batch * training.clients, replace=False)
        rows, labels = pool.rows[drawn], pool.labels[drawn]
        if self.members[row, target] and (training.present >= 1 or rng.random() < training.present):
            rows[0], labels[0] = pool.targets[target], pool.target_labels[target]
        return list(
            map(ClientRows, np.split(rows, training.clients), np.split(labels, training.clients), seeds)
        )

    def _answer(self, row: int, target: int, network: PlantedNetwork) -> Reals:
        training = self.training
        return average_gradients(
            [
                [training.answer(network, held) for held in self.held(row, target, iteration)]
                for iteration in range(training.iterations)
            ]
        )


def average_gradients(answers: Sequence[Sequence[Reals]]) -> Reals:
    """The gradient that the server works with: over the clients of a group, and then over iterations."""
    return np.mean([np.mean(group, axis=0) for group in answers], axis=0)


@dataclass(frozen=True, eq=False)
class FederatedView:
    """A block as the server sees it: clients who train on what they are sent, once."""

    n_rounds: int
    _clients: FederatedBlock = field(repr=False)
    _sent: list[bool] = field(default_factory=list, init=False, repr=False)

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        """Send every target's client the network made for that target; rounds x targets of gradients.

        A gradient is that of the chosen neurons: neurons x (units + 1), the last of them the bias'. Once: to
        another model clients would answer with the same noise, and the difference of two answers has none.
        """
        if self._sent:
            raise BadInput("a server may send its models once in a block; send all that is needed together")
        self._sent.append(True)
        return self._clients.train(networks)
