"""From gradients to scores: exactly zero or not, and against Gaussian noise as often right as theory says."""

import numpy as np
import pytest
from scipy.stats import norm

from domains.federated.small_games import random_pool
from leakgauge.core.game import Adversary, play
from leakgauge.domains.federated.challenger import Challenger, Reference
from leakgauge.domains.federated.client import clipped_sum
from leakgauge.domains.federated.clients import Training
from leakgauge.domains.federated.deciding import ACTIVE, ByAverage, decide
from leakgauge.domains.federated.gradient_noise import GradientNoise
from leakgauge.domains.federated.knowledge import build
from leakgauge.domains.federated.model import Crafted, Shape

FEATURES = 4


def only_targets() -> Crafted:
    """Active for rows with a negative sum, which targets alone have."""
    first = np.stack([np.full(FEATURES, sign) for sign in (-1.0, 1.0)]).astype(np.float32)
    zeros = np.zeros(2, dtype=np.float32)
    return Crafted(first, zeros, np.array([0.3, -0.3], dtype=np.float32), 0.0)


def game(noise=None, chosen=1, n_targets=2, **training):
    rng = np.random.default_rng(1)
    pool = random_pool(60, n_targets, FEATURES, rng)
    made = Challenger(
        pool=pool,
        reference=Reference(pool.rows[:5], pool.labels[:5]),
        training=Training(**({"batch": 5, "noise": noise} | training)),
        shape=Shape(classes=3, neurons=4, chosen=chosen),
        guarantee=None,
        digest="",
    )
    server = build("server", {}, made, 1)
    scorer = decide(server, [only_targets()] * n_targets, np.random.default_rng(2))
    return made, server, scorer


def shares(made, server, scorer, n_rounds):
    """TPR and TNR."""
    trials = play(made, {"it": Adversary(server, scorer)}, 3, range(n_rounds), 0)["it"]
    said, members = trials.scores >= scorer.reading.threshold, trials.members
    return np.mean(said[members]), np.mean(~said[~members])


@pytest.mark.parametrize("n_clients", [1, 3])
def test_a_neuron_that_only_targets_make_active_wins_every_game(n_clients):
    made, server, scorer = game(clients=n_clients)
    assert scorer.reading.threshold == ACTIVE > 0
    assert shares(made, server, scorer, 50) == (1.0, 1.0)


def test_the_smallest_gradient_counts_as_one():
    made, server, _ = game()
    tiny = [only_targets().scaled(1e-30)] * 2
    scorer = decide(server, tiny, np.random.default_rng(2))
    assert shares(made, server, scorer, 50) == (1.0, 1.0)


def test_what_is_looked_for_is_the_targets_share_of_the_average():
    noise = GradientNoise(sigma=1e-9, clip=0.5)
    made, server, scorer = game(noise=noise, clients=3, iterations=2, chosen=2)
    assert isinstance(scorer.score, ByAverage)
    released = made.release(np.ones((1, 2), dtype=bool), np.random.default_rng(4))
    (answers,) = server.view(released).train(scorer.score.networks)
    for answer, due in zip(answers, scorer.score.expected):
        assert np.abs(due).max() > 1e-3
        np.testing.assert_allclose(answer, due, atol=1e-6)


@pytest.mark.parametrize("training", [{}, {"clients": 3}, {"iterations": 4}, {"clients": 2, "iterations": 3}])
def test_scores_are_in_units_of_the_noise_that_is_left(training):
    made, server, scorer = game(noise=GradientNoise(sigma=0.7, clip=0.5), **training)
    released = made.release(np.zeros((60, 2), dtype=bool), np.random.default_rng(4))
    numbers = np.array(server.view(released).train(scorer.score.networks)).ravel()
    left = 0.7 * 0.5 / 5 / np.sqrt(training.get("clients", 1) * training.get("iterations", 1))
    assert scorer.score.unit == pytest.approx(left)
    assert np.std(numbers) == pytest.approx(left, rel=4 / np.sqrt(2 * numbers.size))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "training"),
    [(0.3, {}), (0.1, {}), (0.5, {"iterations": 3}), (0.2, {"clients": 2}), (0.4, {"chosen": 3})],
)
def test_against_noise_it_wins_as_often_as_the_exact_formula_says(sigma, training):
    """Nobody else is active, so two normal laws are told apart: Phi(distance / 2)."""
    n_rounds = 600  # with 2 targets
    made, server, scorer = game(noise=GradientNoise(sigma=sigma, clip=0.5), **training)
    n_clients, iterations = training.get("clients", 1), training.get("iterations", 1)
    found = np.array(shares(made, server, scorer, n_rounds))
    predicted = np.mean(
        [
            norm.cdf(
                np.linalg.norm(clipped_sum(network, target[None], label[None], 0.5)) / (5 * n_clients)
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


@pytest.mark.slow
def test_a_target_that_is_seldom_there_is_found_less_often():
    noise = GradientNoise(sigma=0.3, clip=0.5)
    always, seldom = (
        np.mean(shares(*game(noise=noise, iterations=4, present=present), 150)) for present in (1.0, 0.3)
    )
    assert always > seldom + 0.1
    assert seldom > 0.52
