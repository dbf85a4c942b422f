"""Clipped whole gradients against torch's per-example gradients, written out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from domains.federated.small_games import random_network
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.clients.whole_gradients import clipped_answer, draw_noise

NAMES = ("first", "first_bias", "second", "second_bias", "head", "head_bias")


def batch(n, rng):
    return rng.normal(size=(n, 6)).astype(np.float32), rng.integers(4, size=n)


def with_direction(network, rng):
    """Read a random direction of the space of all weights, not of norm 1."""
    drawn = [
        tuple(rng.normal(size=part.shape).astype(np.float32) for part in layer) for layer in network.layers
    ]
    return replace(network, direction=tuple(drawn))


def flat(layers):
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for layer in layers for part in layer])


def every_gradient(network, rows, labels):
    """Examples x weights, by torch.func."""
    weights = dict(zip(NAMES, (torch.from_numpy(part) for layer in network.layers for part in layer)))

    def loss(weights, row, label):
        linear = torch.nn.functional.linear
        hidden = torch.relu(linear(row, weights["first"], weights["first_bias"]))
        values = torch.relu(linear(hidden, weights["second"], weights["second_bias"]))
        logits = linear(values, weights["head"], weights["head_bias"])
        return torch.nn.functional.cross_entropy(logits[None], label[None])

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(
        weights, torch.from_numpy(rows), torch.from_numpy(labels)
    )
    return torch.cat([each[name].flatten(1) for name in NAMES], dim=1).numpy().astype(np.float64)


def clip_to(vectors, clip):
    return vectors * np.minimum(1, clip / np.linalg.norm(vectors, axis=-1, keepdims=True))


@pytest.mark.parametrize("clip", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("clipped", ["example", "update"])
@pytest.mark.parametrize("one_hot", [False, True])
def test_projection_matches_gradients_written_out(clip, clipped, one_hot):
    rng = np.random.default_rng(1)
    network, (rows, labels) = random_network(6, 9, 5, 4, rng), batch(20, rng)
    if one_hot:  # columns are then selected, not multiplied
        kept = np.eye(6, dtype=bool)[rng.integers(6, size=9)]
        network = replace(network, first=(network.first[0] * kept, network.first[1]))
    network = with_direction(network, rng)
    each = every_gradient(network, rows, labels)
    wanted = {"example": clip_to(each, clip).mean(axis=0), "update": clip_to(each.mean(axis=0), clip)}
    found = clipped_answer(network, rows, labels, GradientNoise(sigma=1.0, clip=clip, clipped=clipped))
    assert found == pytest.approx(wanted[clipped] @ flat(network.direction), rel=1e-4, abs=1e-5)
    unclipped = clipped_answer(network, rows, labels, None)
    assert unclipped == pytest.approx(each.mean(axis=0) @ flat(network.direction), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("clip", [0.05, 100.0])
def test_chosen_neuron_of_clipped_update(clip):
    rng = np.random.default_rng(2)
    network, (rows, labels) = random_network(6, 9, 5, 4, rng, chosen=2), batch(20, rng)
    update = clip_to(every_gradient(network, rows, labels).mean(axis=0), clip)
    second = update[9 * 6 + 9 :]
    expected = np.concatenate([second[:45].reshape(5, 9), second[45:50, None]], axis=1)[:2]
    noise = GradientNoise(sigma=1.0, clip=clip, clipped="update")
    np.testing.assert_allclose(clipped_answer(network, rows, labels, noise), expected, atol=1e-6)


@pytest.mark.parametrize("clipped", ["example", "update"])
def test_noise_on_projection_is_that_of_every_weight_projected(clipped):
    rng, n = np.random.default_rng(3), 4_000
    network = with_direction(random_network(6, 9, 5, 4, rng), rng)
    noise = GradientNoise(sigma=2.0, clip=0.5, clipped=clipped)
    scale = 2.0 * 0.5 / (10 if clipped == "example" else 1)
    on_every_weight = rng.normal(scale=scale, size=(n, flat(network.direction).size)) @ flat(
        network.direction
    )
    drawn = np.array([draw_noise(network, np.zeros(1), noise, 10, rng)[0] for _ in range(n)])
    assert np.std(drawn) == pytest.approx(np.std(on_every_weight), rel=4 / np.sqrt(n))
    assert abs(drawn.mean()) < 4 * drawn.std() / np.sqrt(n)
