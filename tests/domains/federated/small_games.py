"""Small federated games: random networks, and servers against clients with generated rows."""

import os
from pathlib import Path

import numpy as np

from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import challenger, knowledge
from leakgauge.domains.federated.neurons.network import CraftedNeuron, PlantedNetwork
from leakgauge.domains.federated.release import ClientPool


def random_crafted(units: int, features: int, rng: np.random.Generator) -> CraftedNeuron:
    parts = rng.normal(size=(units, features)), rng.normal(size=units), rng.normal(size=units)
    return CraftedNeuron(*(part.astype(np.float32) for part in parts), float(rng.normal()))


def random_network(
    features: int, units: int, neurons: int, classes: int, rng, chosen: int = 1
) -> PlantedNetwork:
    """Three layers of normal weights, small enough that no softmax is saturated."""

    def layer(inputs: int, outputs: int):
        weights, biases = rng.normal(size=(outputs, inputs)) / np.sqrt(inputs), rng.normal(size=outputs)
        return weights.astype(np.float32), (biases / 2).astype(np.float32)

    return PlantedNetwork(layer(features, units), layer(units, neurons), layer(neurons, classes), chosen)


def random_pool(n: int, n_targets: int, features: int, rng: np.random.Generator) -> ClientPool:
    """Rows of which each can be recognised by its values; targets are negative, all others positive."""
    rows = rng.uniform(1, 2, (n, features)).astype(np.float32)
    targets = -rng.uniform(1, 2, (n_targets, features)).astype(np.float32)
    return ClientPool(rows, rng.integers(3, size=n), targets, rng.integers(3, size=n_targets))


def small_server(mechanism: dict, *, data: dict | None = None, **setting):
    """A challenger with generated rows, and the server that faces it."""
    generated = {"rows": 1_200, "features": 128, "classes": 4} | (data or {})
    made = challenger.build(
        data=generated,
        challenger={"targets": 3, "batch": 20, "neurons": 8} | setting,
        mechanism=mechanism,
        folder=Path(os.curdir),
        seed=5,
    )
    return made, knowledge.build("server", {}, made, 5)


def share_won(made, server, attack, n_rounds: int, seed: int = 5) -> float:
    """The share of games that an attack wins, by its own threshold."""
    scorer = attack.study(server, stream(seed, Role.STUDY))
    trials = play(made, {"it": Adversary(server, scorer)}, seed, range(n_rounds), 0)["it"]
    return float(np.mean((trials.scores >= trials.reading.threshold) == trials.members))
