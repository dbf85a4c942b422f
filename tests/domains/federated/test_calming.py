"""Networks whose softmax is never sure: an active neuron has a gradient."""

import numpy as np
import pytest

from domains.federated.small_games import random_crafted, small_server
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.calming import LOUD, calmed
from leakgauge.domains.federated.client import gradient
from leakgauge.domains.federated.clients import Clients
from leakgauge.domains.federated.model import plant


def loudness(crafted, rows):
    hidden = np.maximum(rows @ crafted.first.T + crafted.first_bias, 0).astype(np.float64)
    return np.sqrt((hidden**2).mean(axis=1))


@pytest.mark.parametrize("halvings", [1, 7, 30])
def test_a_quieter_network_has_the_same_neuron_to_the_last_bit(halvings):
    rng = np.random.default_rng(1)
    loud, rows = random_crafted(30, 8, rng), rng.normal(size=(200, 8)).astype(np.float32)
    quiet = loud.quieter(halvings)
    np.testing.assert_array_equal(quiet.values(rows), loud.values(rows))
    np.testing.assert_allclose(loudness(quiet, rows), loudness(loud, rows) / 2.0**halvings)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_only_what_is_loud_is_made_quieter(scale):
    _, server = small_server({"name": "none"}, data={"scale": scale})
    crafted = [random_crafted(50, 128, np.random.default_rng(place)) for place in range(3)]
    after = calmed(server, crafted, stream(1, Role.STUDY))
    for one, quiet in zip(crafted, after):
        before = loudness(one, server.rows[:32]).max()
        assert (quiet is one) == (before <= LOUD) == (scale == 1)
        assert loudness(quiet, server.rows[:32]).max() <= LOUD


def test_nothing_else_is_drawn_otherwise():
    _, server = small_server({"name": "bitrand", "epsilon": 5.0})
    rng, other = stream(1, Role.STUDY), stream(1, Role.STUDY)
    calmed(server, [random_crafted(5, 128, np.random.default_rng(1))] * 3, rng)
    assert rng.random() == other.random()


def test_rows_of_any_size_leave_a_gradient_where_a_neuron_is_active():
    """All classes take turns as the label of a member: one of them is what the network is surest of."""
    made, server = small_server({"name": "none"}, data={"scale": 1e4}, targets=8)
    attack = Attack(form="ratio", hinges=4)
    networks = attack.study(server, stream(1, Role.STUDY)).score.networks
    loud = [
        plant(one, server.shape, np.random.default_rng(2))
        for one in attack.craft(server, stream(1, Role.STUDY))
    ]
    clients = Clients(made.pool, made.training, np.ones((1, 8), dtype=bool), 3)
    lost = {"calm": 0, "loud": 0}
    for target in range(8):
        rows = clients.held(0, target, 0)[0].rows
        for label in range(4):
            labels = np.full(len(rows), label)
            lost["calm"] += not gradient(networks[target], rows, labels).any()
            lost["loud"] += not gradient(loud[target], rows, labels).any()
    assert lost["calm"] == 0
    assert lost["loud"] > 0  # or this test would say nothing
