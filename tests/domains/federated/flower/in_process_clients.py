"""A few clients with small rows, and a grid that hands messages straight to their app."""

import numpy as np

from leakgauge.domains.federated.neurons.network import CraftedNeuron, PlantedNetworkShape, plant_neuron
from leakgauge.domains.federated.release import ClientGroups, ClientPool, ClientTraining
from leakgauge.mechanisms.bitrand import Mechanism

FEATURES = 8


def block(n_rounds=3, n_targets=2, **training):
    rng = np.random.default_rng(11)
    pool = ClientPool(
        rng.normal(size=(60, FEATURES)).astype(np.float32),
        rng.integers(3, size=60),
        rng.normal(size=(n_targets, FEATURES)).astype(np.float32),
        rng.integers(3, size=n_targets),
    )
    training = ClientTraining(
        **{"batch": 4, "mechanism": Mechanism(epsilon=3.0, features=FEATURES), **training}
    )
    return ClientGroups(pool, training, rng.random((n_rounds, n_targets)) < 0.5, 5)


def networks(n_targets=2, chosen=2, bias=-12.0):
    """Neurons that some batches activate and others do not."""
    rng = np.random.default_rng(12)
    return [
        plant_neuron(
            CraftedNeuron(
                rng.normal(size=(6, FEATURES)).astype(np.float32),
                np.zeros(6, np.float32),
                rng.normal(size=6).astype(np.float32),
                bias,
            ),
            PlantedNetworkShape(classes=3, neurons=5, chosen=chosen),
            rng,
        )
        for _ in range(n_targets)
    ]


class Straight:
    """A grid without a network: what is sent is answered at once, by the app, in no particular order."""

    def __init__(self, app, n_nodes):
        self.app, self.nodes, self.waves = app, list(range(1, n_nodes + 1)), []

    def get_node_ids(self):
        return self.nodes

    def send_and_receive(self, messages, *, timeout=None):
        messages = list(messages)
        self.waves.append([message.metadata.dst_node_id for message in messages])
        return [self._answer(message) for message in reversed(messages)]

    def _answer(self, message):
        from flwr.app import Context, Error, Message, RecordDict

        node = message.metadata.dst_node_id
        context = Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})
        try:
            return self.app(message, context)
        except Exception as error:
            return Message(Error(code=0, reason=str(error)), reply_to=message)
