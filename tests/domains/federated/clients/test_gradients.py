"""Gradients against a backward pass written out by hand, and against torch's per-example gradients."""

import math

import numpy as np
import pytest
import torch

from domains.federated.small_games import random_network
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.federated.clients.gradients import (
    GradientNoise,
    clipped_neuron_gradient,
    neuron_gradient,
)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(7.5, 0.01, 0.41433), (1.0, 0.01, 3.10751), (1.0, 1e-5, 4.84481)],  # sqrt(2 ln(1.25 / delta)) / epsilon
)
def test_noise_scale_matches_paper(epsilon, delta, sigma):
    assert GradientNoise(epsilon=epsilon, delta=delta).multiplier == pytest.approx(sigma, rel=1e-4)


def test_stated_scale_overrides_epsilon():
    assert GradientNoise(epsilon=1.0, sigma=0.7).multiplier == 0.7


def test_analytic_noise_keeps_its_label_for_an_added_row():
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    noise = GradientNoise(epsilon=8.0, delta=0.01, calibrate="analytic")
    assert noise.multiplier < 1.1 * GradientNoise(epsilon=8.0, delta=0.01).multiplier
    one = from_gaussian_mechanism(noise.multiplier, value_discretization_interval=1e-3)
    assert one.get_epsilon_for_delta(0.01) == pytest.approx(8.0, rel=2e-3)


def test_promise_to_a_client_is_that_to_its_records():
    noise = {"epsilon": 8.0, "clipped": "update"}
    record, client = (GradientNoise(**noise, unit=unit).guarantee(3) for unit in ("record", "client"))
    assert (record.unit, client.unit) == (Unit.RECORD, Unit.CLIENT)
    assert record.epsilon == client.epsilon


@pytest.mark.parametrize("iterations", [1, 16])
@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_guarantee_matches_an_accountant_for_a_replaced_row(iterations, clip):
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    noise = GradientNoise(epsilon=1.0, delta=1e-3, clip=clip)
    promised = noise.guarantee(iterations)
    one = from_gaussian_mechanism(
        noise.multiplier * clip, sensitivity=2 * clip, value_discretization_interval=1e-3
    )
    theirs = one.self_compose(iterations).get_epsilon_for_delta(1e-3)
    assert promised.epsilon == pytest.approx(theirs, rel=5e-3)
    assert promised.exact_epsilon == promised.epsilon
    assert (promised.delta, promised.relation, promised.nominal_epsilon) == (1e-3, Relation.REPLACE_ONE, 1.0)


def test_more_iterations_cost_more_epsilon():
    noise = GradientNoise(epsilon=8.0)
    epsilons = [noise.guarantee(iterations).epsilon for iterations in (1, 2, 4, 100)]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] > 8.0  # the label is for a row that is added, and for a rule of thumb


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "neither epsilon nor sigma"),
        ({"epsilon": 0.0}, "must be > 0"),
        ({"epsilon": -1.0}, "must be > 0"),
        ({"epsilon": math.nan}, "must be > 0"),
        ({"sigma": 0.0}, "must be > 0"),
        ({"sigma": math.nan}, "must be > 0"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta must be in"),
        ({"epsilon": 1.0, "delta": math.nan}, "delta must be in"),
        ({"epsilon": 1.0, "clip": 0.0}, "clip must be > 0"),
        ({"epsilon": 1.0, "clip": math.nan}, "clip must be > 0"),
        ({"epsilon": 0.0, "calibrate": "analytic"}, "must be > 0"),
        ({"epsilon": 1.0, "unit": "client"}, 'clipped = "update"'),
    ],
)
def test_rejects_invalid_noise(wrong, message):
    with pytest.raises(BadInput, match=message):
        GradientNoise(**wrong)


def batch(n, features, classes, rng):
    return rng.normal(size=(n, features)).astype(np.float32), rng.integers(classes, size=n)


def by_hand(network, rows, labels):
    """Examples x neurons x (units + 1): every example's gradient of the second layer, and its values."""
    (first, first_bias), (second, second_bias), (head, head_bias) = (
        tuple(part.astype(np.float64) for part in layer) for layer in network.layers
    )
    hidden = np.maximum(rows @ first.T + first_bias, 0)
    values = hidden @ second.T + second_bias
    logits = np.maximum(values, 0) @ head.T + head_bias
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    flow = ((chances - np.eye(len(head))[labels]) @ head) * (values > 0)
    return flow[:, :, None] * np.concatenate([hidden, np.ones((len(rows), 1))], axis=1)[:, None], values


@pytest.mark.parametrize("chosen", [1, 3])
def test_gradient_matches_backward_pass_by_hand(chosen):
    rng = np.random.default_rng(1)
    for _ in range(20):
        network = random_network(6, 9, 5, 4, rng, chosen)
        rows, labels = batch(12, 6, 4, rng)
        each, _ = by_hand(network, rows, labels)
        found = neuron_gradient(network, rows, labels)
        assert found.shape == (chosen, 10)
        np.testing.assert_allclose(found, each.mean(axis=0)[:chosen], atol=1e-6)


def test_gradient_is_zero_iff_neuron_is_inactive():
    rng, seen = np.random.default_rng(2), {True: 0, False: 0}
    for _ in range(300):
        network = random_network(6, 9, 5, 4, rng)
        network.second[1][0] -= 0.5  # about as many silent batches as others
        rows, labels = batch(3, 6, 4, rng)
        _, values = by_hand(network, rows, labels)
        active = bool((values[:, 0] > 0).any())
        seen[active] += 1
        if active:
            assert np.linalg.norm(neuron_gradient(network, rows, labels)) > 0
        else:
            assert (neuron_gradient(network, rows, labels) == 0.0).all()
    assert min(seen.values()) > 50


def one_by_one(network, rows, labels, clip):
    """Clipped sums by torch.func: the whole gradient of each example is written out."""
    names = ["first", "first_bias", "second", "second_bias", "head", "head_bias"]
    weights = {
        name: torch.from_numpy(part)
        for name, part in zip(names, [p for layer in network.layers for p in layer])
    }

    def loss(weights, row, label):
        linear = torch.nn.functional.linear
        hidden = torch.relu(linear(row, weights["first"], weights["first_bias"]))
        values = torch.relu(linear(hidden, weights["second"], weights["second_bias"]))
        logits = linear(values, weights["head"], weights["head_bias"])
        return torch.nn.functional.cross_entropy(logits[None], label[None])

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(
        weights, torch.from_numpy(rows), torch.from_numpy(labels)
    )
    total, norms = 0.0, []
    for example in range(len(rows)):
        whole = torch.cat([each[name][example].ravel() for name in names])
        norms.append(float(whole.norm()))
        factor = min(1.0, clip / norms[-1])
        own = torch.cat([each["second"][example], each["second_bias"][example][:, None]], dim=1)
        total = total + factor * own.numpy().astype(np.float64)
    return total[: network.chosen], norms


@pytest.mark.parametrize("chosen", [1, 2])
@pytest.mark.parametrize("clip", [0.1, 1.0, 3.0, 100.0])
def test_clipped_sums_match_gradients_that_are_clipped_one_by_one(clip, chosen):
    rng = np.random.default_rng(3)
    network = random_network(6, 9, 5, 4, rng, chosen)
    rows, labels = batch(40, 6, 4, rng)
    expected, norms = one_by_one(network, rows, labels, clip)
    np.testing.assert_allclose(clipped_neuron_gradient(network, rows, labels, clip), expected, atol=1e-5)
    assert (min(norms) > clip) == (clip == 0.1)
    assert (max(norms) < clip) == (clip == 100.0)


def test_unclipped_sums_equal_the_gradient():
    rng = np.random.default_rng(4)
    network, (rows, labels) = random_network(6, 9, 5, 4, rng), batch(40, 6, 4, rng)
    found = clipped_neuron_gradient(network, rows, labels, 1e6) / len(rows)
    np.testing.assert_allclose(found, neuron_gradient(network, rows, labels), atol=1e-6)


@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_clipped_sums_match_opacus():
    import opacus

    rng, clip = np.random.default_rng(5), 0.7
    network, (rows, labels) = random_network(6, 9, 5, 4, rng), batch(25, 6, 4, rng)
    layers = [torch.nn.Linear(part[0].shape[1], part[0].shape[0]) for part in network.layers]
    for layer, (weights, biases) in zip(layers, network.layers):
        layer.weight.data, layer.bias.data = torch.from_numpy(weights), torch.from_numpy(biases)
    plain = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    module = opacus.GradSampleModule(plain, loss_reduction="sum")
    loss = torch.nn.functional.cross_entropy(
        module(torch.from_numpy(rows)), torch.from_numpy(labels), reduction="sum"
    )
    loss.backward()
    norms = torch.stack([p.grad_sample.flatten(1).norm(dim=1) for p in module.parameters()]).norm(dim=0)
    factors = (clip / norms).clamp(max=1.0)
    weights = torch.einsum("i,ijk->jk", factors, layers[1].weight.grad_sample)[:1]
    biases = torch.einsum("i,ij->j", factors, layers[1].bias.grad_sample)[:1]
    expected = torch.cat([weights, biases[:, None]], dim=1).numpy()
    np.testing.assert_allclose(clipped_neuron_gradient(network, rows, labels, clip), expected, atol=1e-5)
