"""What a dishonest server may know; nothing else reaches an attack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from leakgauge.domains.federated import DOMAIN
from leakgauge.domains.federated.challenger import Challenger
from leakgauge.domains.federated.data.dataset import Ints
from leakgauge.domains.federated.neurons.network import (
    CraftedNeuron,
    Floats,
    PlantedNetwork,
    PlantedNetworkShape,
    plant_neuron,
)
from leakgauge.domains.federated.plan_tables import FederatedKnowledgeTable
from leakgauge.domains.federated.release import ClientTraining, FederatedBlock, FederatedView
from leakgauge.support.table_reader import read_dataclass, require_known


@dataclass(frozen=True, eq=False)
class ServerKnowledge:
    """Holds the targets' rows, rows of its own from the same source, and what clients do with a model."""

    targets: Floats
    target_labels: Ints
    rows: Floats  # of its own
    labels: Ints
    training: ClientTraining
    shape: PlantedNetworkShape

    def view(self, block: FederatedBlock) -> FederatedView:
        return FederatedView(block.n_rounds, block)

    @property
    def others(self) -> int:
        """How many rows besides a target go into one answer."""
        return self.training.batch * self.training.clients - 1

    def networks(self, crafted: Sequence[CraftedNeuron], rng: Generator) -> list[PlantedNetwork]:
        """The networks to send, honest but for what was crafted."""
        return [plant_neuron(one, self.shape, rng) for one in crafted]


def build(name: str, parameters: dict[str, Any], challenger: Challenger, seed: int) -> ServerKnowledge:  # noqa: ARG001
    """Give the server what it may know of a challenger."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    read_dataclass(FederatedKnowledgeTable, parameters, f"knowledge {name!r}")
    return ServerKnowledge(
        targets=challenger.pool.targets,
        target_labels=challenger.pool.target_labels,
        rows=challenger.reference.rows,
        labels=challenger.reference.labels,
        training=challenger.training,
        shape=challenger.shape,
    )
