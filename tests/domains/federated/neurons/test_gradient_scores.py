"""Networks whose softmax is never sure: an active neuron has a gradient."""

import numpy as np
import pytest
from scipy.stats import norm

from domains.federated.small_games import random_crafted, random_pool, small_server
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.challenger import Challenger, ReferenceRows
from leakgauge.domains.federated.clients.gradients import (
    GradientNoise,
    clipped_neuron_gradient,
    neuron_gradient,
)
from leakgauge.domains.federated.knowledge import build
from leakgauge.domains.federated.neurons.gradient_scores import (
    LARGEST_UNIT_RMS,
    SMALLEST_GRADIENT,
    MatchedFilterScorer,
    gradient_scorer,
    rescale_first_layers,
)
from leakgauge.domains.federated.neurons.network import CraftedNeuron, PlantedNetworkShape, plant_neuron
from leakgauge.domains.federated.release import ClientGroups, ClientTraining


def loudness(crafted, rows):
    hidden = np.maximum(rows @ crafted.first.T + crafted.first_bias, 0).astype(np.float64)
    return np.sqrt((hidden**2).mean(axis=1))


@pytest.mark.parametrize("halvings", [1, 7, 30])
def test_scaled_down_network_has_the_same_neuron(halvings):
    rng = np.random.default_rng(1)
    loud, rows = random_crafted(30, 8, rng), rng.normal(size=(200, 8)).astype(np.float32)
    quiet = loud.with_smaller_units(halvings)
    np.testing.assert_array_equal(quiet.values(rows), loud.values(rows))
    np.testing.assert_allclose(loudness(quiet, rows), loudness(loud, rows) / 2.0**halvings)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_only_saturated_networks_are_scaled_down(scale):
    _, server = small_server({"name": "none"}, data={"scale": scale})
    crafted = [random_crafted(50, 128, np.random.default_rng(place)) for place in range(3)]
    after = rescale_first_layers(server, crafted, stream(1, Role.STUDY))
    for one, quiet in zip(crafted, after):
        before = loudness(one, server.rows[:32]).max()
        assert (quiet is one) == (before <= LARGEST_UNIT_RMS) == (scale == 1)
        assert loudness(quiet, server.rows[:32]).max() <= LARGEST_UNIT_RMS


def test_scaling_changes_no_other_draw():
    _, server = small_server({"name": "bitrand", "epsilon": 5.0})
    rng, other = stream(1, Role.STUDY), stream(1, Role.STUDY)
    rescale_first_layers(server, [random_crafted(5, 128, np.random.default_rng(1))] * 3, rng)
    assert rng.random() == other.random()


def test_active_neuron_has_gradient_for_rows_of_any_size():
    """All classes take turns as the label of a member: one of them is what the network is surest of."""
    made, server = small_server({"name": "none"}, data={"scale": 1e4}, targets=8)
    attack = Attack(form="ratio", hinges=4)
    networks = attack.study(server, stream(1, Role.STUDY)).score.networks
    loud = [
        plant_neuron(one, server.shape, np.random.default_rng(2))
        for one in attack.craft(server, stream(1, Role.STUDY))
    ]
    clients = ClientGroups(made.pool, made.training, np.ones((1, 8), dtype=bool), 3)
    lost = {"calm": 0, "loud": 0}
    for target in range(8):
        rows = clients.held(0, target, 0)[0].rows
        for label in range(4):
            labels = np.full(len(rows), label)
            lost["calm"] += not neuron_gradient(networks[target], rows, labels).any()
            lost["loud"] += not neuron_gradient(loud[target], rows, labels).any()
    assert lost["calm"] == 0
    assert lost["loud"] > 0  # or this test would say nothing


FEATURES = 4


def only_targets() -> CraftedNeuron:
    """Active for rows with a negative sum, which targets alone have."""
    first = np.stack([np.full(FEATURES, sign) for sign in (-1.0, 1.0)]).astype(np.float32)
    zeros = np.zeros(2, dtype=np.float32)
    return CraftedNeuron(first, zeros, np.array([0.3, -0.3], dtype=np.float32), 0.0)


def game(noise=None, chosen=1, n_targets=2, **training):
    rng = np.random.default_rng(1)
    pool = random_pool(60, n_targets, FEATURES, rng)
    made = Challenger(
        pool=pool,
        reference=ReferenceRows(pool.rows[:5], pool.labels[:5]),
        training=ClientTraining(**({"batch": 5, "noise": noise} | training)),
        shape=PlantedNetworkShape(classes=3, neurons=4, chosen=chosen),
        guarantee=None,
        digest="",
    )
    server = build("server", {}, made, 1)
    scorer = gradient_scorer(server, [only_targets()] * n_targets, np.random.default_rng(2))
    return made, server, scorer


def shares(made, server, scorer, n_rounds):
    """TPR and TNR."""
    trials = play(made, {"it": Adversary(server, scorer)}, 3, range(n_rounds), 0)["it"]
    said, members = trials.scores >= scorer.reading.threshold, trials.members
    return np.mean(said[members]), np.mean(~said[~members])


@pytest.mark.parametrize("n_clients", [1, 3])
def test_neuron_active_for_targets_only_wins_every_game(n_clients):
    made, server, scorer = game(clients=n_clients)
    assert scorer.reading.threshold == SMALLEST_GRADIENT > 0
    assert shares(made, server, scorer, 50) == (1.0, 1.0)


def test_tiny_gradient_counts_as_active():
    made, server, _ = game()
    tiny = [only_targets().scaled(1e-30)] * 2
    scorer = gradient_scorer(server, tiny, np.random.default_rng(2))
    assert shares(made, server, scorer, 50) == (1.0, 1.0)


def test_expected_shift_is_target_share_of_average():
    noise = GradientNoise(sigma=1e-9, clip=0.5)
    made, server, scorer = game(noise=noise, clients=3, iterations=2, chosen=2)
    assert isinstance(scorer.score, MatchedFilterScorer)
    released = made.release(np.ones((1, 2), dtype=bool), np.random.default_rng(4))
    (answers,) = server.view(released).train(scorer.score.networks)
    for answer, due in zip(answers, (one.change for one in scorer.score.expected)):
        assert np.abs(due).max() > 1e-3
        np.testing.assert_allclose(answer, due, atol=1e-6)


@pytest.mark.parametrize("training", [{}, {"clients": 3}, {"iterations": 4}, {"clients": 2, "iterations": 3}])
def test_scores_are_in_units_of_remaining_noise(training):
    made, server, scorer = game(noise=GradientNoise(sigma=0.7, clip=0.5), **training)
    released = made.release(np.zeros((60, 2), dtype=bool), np.random.default_rng(4))
    numbers = np.array(server.view(released).train(scorer.score.networks)).ravel()
    left = 0.7 * 0.5 / 5 / np.sqrt(training.get("clients", 1) * training.get("iterations", 1))
    assert scorer.score.unit == pytest.approx(left)
    assert np.std(numbers) == pytest.approx(left, rel=4 / np.sqrt(2 * numbers.size))


@pytest.mark.parametrize(
    ("sigma", "training"),
    [(0.3, {}), (0.1, {}), (0.5, {"iterations": 3}), (0.2, {"clients": 2}), (0.4, {"chosen": 3})],
)
@pytest.mark.parametrize("n_rounds", [300, pytest.param(600, marks=pytest.mark.nightly)])
def test_success_under_noise_matches_exact_formula(sigma, training, n_rounds):
    """Nobody else is active, so two normal laws are told apart: Phi(distance / 2). There are two targets."""
    made, server, scorer = game(noise=GradientNoise(sigma=sigma, clip=0.5), **training)
    n_clients, iterations = training.get("clients", 1), training.get("iterations", 1)
    found = np.array(shares(made, server, scorer, n_rounds))
    predicted = np.mean(
        [
            norm.cdf(
                np.linalg.norm(clipped_neuron_gradient(network, target[None], label[None], 0.5))
                / (5 * n_clients)
                / (sigma * 0.5 / 5 / np.sqrt(n_clients * iterations)) / 2
            )
            for network, target, label in zip(
                scorer.score.networks, made.pool.targets, made.pool.target_labels
            )
        ]
    )  # fmt: skip
    assert 0.55 < predicted < 0.98
    error = np.sqrt(predicted * (1 - predicted) / n_rounds)
    assert (np.abs(found - predicted) < 4 * error).all()


def test_rarely_present_target_is_found_less_often():
    noise = GradientNoise(sigma=0.3, clip=0.5)
    always, seldom = (
        np.mean(shares(*game(noise=noise, iterations=4, present=present), 150)) for present in (1.0, 0.3)
    )
    assert always > seldom + 0.1
    assert seldom > 0.52
