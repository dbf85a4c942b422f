"""The clients of a block of rounds, which perturb their rows and answer a model with a gradient."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.domains.federated.clients import gradients, whole_gradients
from leakgauge.domains.federated.neurons.network import Floats, PlantedNetwork

_SUM = 1  # of the seed of noise that is added to the sum of all clients


@dataclass(frozen=True, eq=False)
class ClientPool:
    """The clients' rows, and the targets that may be among them."""

    rows: Floats
    labels: Ints
    targets: Floats
    target_labels: Ints


@dataclass(frozen=True, eq=False)
class ClientRows:
    """The rows of one client, not yet perturbed, and the seed of its noise."""

    rows: Floats
    labels: Ints
    seed: int


@dataclass(frozen=True, kw_only=True)
class ClientTraining:
    """How clients train: batch size, number of iterations, noise on rows and on gradients."""

    batch: int
    clients: int = 1
    iterations: int = 1
    present: float = 1.0
    mechanism: Mechanism | None = None  # on rows
    noise: gradients.GradientNoise | None = None  # on gradients

    def answer(self, network: PlantedNetwork, held: ClientRows) -> Reals:
        """Return what the server reads of one client's gradient on its newly perturbed rows."""
        rows, rng = self._perturbed(held)
        answer = whole_gradients.clipped_answer(network, rows, held.labels, self.noise)
        if self.noise is None or self.noise.added == "sum":
            return answer
        return answer + whole_gradients.draw_noise(network, answer, self.noise, self.batch, rng)

    def _perturbed(self, held: ClientRows) -> tuple[Floats, np.random.Generator]:
        """A client's rows with new noise, and the generator of what it draws next."""
        rng, rows = np.random.default_rng(held.seed), held.rows
        if self.mechanism is not None:
            rows = self.mechanism.sample(rows.astype(np.float64), rng).astype(np.float32)
        return rows, rng

    def sum_noise(self, network: PlantedNetwork, answer: Reals, seeds: Sequence[Sequence[int]]) -> Reals:
        """Return the noise on the sum of all clients as a part of the average over clients and iterations."""
        assert self.noise is not None
        drawn = [
            whole_gradients.draw_noise(network, answer, self.noise, self.batch, np.random.default_rng(seed))
            for seed in seeds
        ]
        return np.mean(drawn, axis=0) / self.clients


@dataclass(frozen=True, eq=False)
class ClientGroups:
    """One group of clients for each round and target; the first of them may hold the target.

    The random draws of a client depend only on the seed, its round, target, iteration and place in the group,
    so every attacker gets answers for the same rows with the same noise.
    """

    pool: ClientPool
    training: ClientTraining
    members: Bits  # rounds x targets
    seed: int

    @property
    def n_rounds(self) -> int:
        return len(self.members)

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        """Return rounds x targets of gradients: each group's answer to the network for its target."""
        return [
            [self._answer(row, target, network) for target, network in enumerate(networks)]
            for row in range(self.n_rounds)
        ]

    def held(self, row: int, target: int, iteration: int) -> list[ClientRows]:
        """Return the rows of each client of a group; if the target is a member, it replaces one of them."""
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
        answer = average_gradients(
            [
                [training.answer(network, held) for held in self.held(row, target, iteration)]
                for iteration in range(training.iterations)
            ]
        )
        if training.noise is None or training.noise.added == "client":
            return answer
        seeds = [[self.seed, row, target, iteration, _SUM] for iteration in range(training.iterations)]
        return answer + training.sum_noise(network, answer, seeds)


def average_gradients(answers: Sequence[Sequence[Reals]]) -> Reals:
    """Average gradients over the clients of a group, and then over iterations."""
    return np.mean([np.mean(group, axis=0) for group in answers], axis=0)


@dataclass(frozen=True, eq=False)
class FederatedView:
    """A block as the server sees it: it may send networks to the clients once."""

    n_rounds: int
    _clients: ClientGroups = field(repr=False)
    _sent: list[bool] = field(default_factory=list, init=False, repr=False)

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        """Send every target's client the network made for that target; rounds x targets of gradients.

        A gradient is that of the chosen neurons: neurons x (units + 1), the last column for the bias. Only
        one call is allowed: the same noise would be in both answers and cancel in their difference.
        """
        if self._sent:
            raise BadInput("a server may send its models only once in a block; send all of them in one call")
        self._sent.append(True)
        return self._clients.train(networks)
