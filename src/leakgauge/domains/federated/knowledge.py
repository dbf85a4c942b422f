"""What a dishonest server may know; attacks get nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated import APP_SERVER, DOMAIN
from leakgauge.domains.federated.challenger import Challenger
from leakgauge.domains.federated.flower_app.challenger import AppChallenger
from leakgauge.domains.federated.flower_app.knowledge import AppServerKnowledge, app_knowledge
from leakgauge.domains.federated.neurons import network
from leakgauge.domains.federated.plan_tables import FederatedKnowledgeTable
from leakgauge.domains.federated.release import ClientGroups, ClientTraining, FederatedView
from leakgauge.support.table_reader import read_dataclass, require_known


@dataclass(frozen=True, eq=False)
class ServerKnowledge:
    """The targets' rows, the server's own rows from the same source, and how clients train."""

    targets: network.Floats
    target_labels: Ints
    rows: network.Floats  # the server's own
    labels: Ints
    training: ClientTraining
    shape: network.PlantedNetworkShape

    def view(self, block: ClientGroups) -> FederatedView:
        return FederatedView(block.n_rounds, block)

    @property
    def others(self) -> int:
        """The number of rows besides a target in one answer."""
        return self.training.batch * self.training.clients - 1

    def networks(
        self, crafted: Sequence[network.CraftedNeuron], rng: Generator
    ) -> list[network.PlantedNetwork]:
        """Return the networks to send; all weights except the crafted ones are initialised honestly."""
        return [network.plant_neuron(neuron, self.shape, rng) for neuron in crafted]


def build(
    name: str,
    parameters: dict[str, Any],
    challenger: Challenger | AppChallenger,
    seed: int,  # noqa: ARG001
) -> ServerKnowledge | AppServerKnowledge:
    """Build what the server may know of a challenger."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    read_dataclass(FederatedKnowledgeTable, parameters, f"knowledge {name!r}")
    if isinstance(challenger, AppChallenger) != (name == APP_SERVER):
        raise BadInput(
            f"knowledge {name!r} is about {'a Flower app' if name == APP_SERVER else 'other clients'}: "
            "with challenger.app the attack is planted_layers, and without it any other"
        )
    if isinstance(challenger, AppChallenger):
        return app_knowledge(challenger)
    return server_knowledge(challenger)


def server_knowledge(challenger: Challenger) -> ServerKnowledge:
    """Build what the server of our own clients may know."""
    return ServerKnowledge(
        targets=challenger.pool.targets,
        target_labels=challenger.pool.target_labels,
        rows=challenger.reference.rows,
        labels=challenger.reference.labels,
        training=challenger.training,
        shape=challenger.shape,
    )
