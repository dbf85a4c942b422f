from itertools import pairwise

import numpy as np
import pytest
import torch

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import LinearStack
from leakgauge.domains.federated.flower_app.planted_layers import (
    Plant,
    TargetFeatures,
    linear_discriminant,
    separating_axes,
    silent_layers,
)

N_FEATURES, CLASSES = 20, 4


def rng(*key):
    return np.random.default_rng([11, *key])


def network(*widths):
    torch.manual_seed(3)
    sizes = (N_FEATURES, *widths, CLASSES)
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    parts = [part for layer in layers for part in (layer, torch.nn.ReLU())][:-1]
    net = torch.nn.Sequential(*parts)
    names = [name.removesuffix(".weight") for name in net.state_dict() if name.endswith("weight")]
    stack = LinearStack(
        weights=tuple(f"{name}.weight" for name in names),
        biases=tuple(f"{name}.bias" for name in names),
        dropout=False,
        features=N_FEATURES,
        width=widths[0],
    )
    return net, {name: value.numpy().copy() for name, value in net.state_dict().items()}, stack


def rows():
    return TargetFeatures(
        np.tile(rng(1).normal(size=N_FEATURES), (6, 1)), rng(2).normal(size=(400, N_FEATURES)), 2
    )


def update(net, sent, given, labels, **options):
    """The change of every array by one step of torch's own gradient descent."""
    net.load_state_dict({name: torch.tensor(array) for name, array in sent.items()})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, **options)
    loss = torch.nn.functional.cross_entropy(
        net(torch.tensor(given, dtype=torch.float32)), torch.tensor(labels)
    )
    loss.backward()
    optimizer.step()
    return {name: value.numpy() - sent[name] for name, value in net.state_dict().items()}


@pytest.mark.parametrize("widths", [(40, 16), (40,)])
@pytest.mark.parametrize("stealthy", [False, True])
def test_watched_weights_move_for_the_target_alone(widths, stealthy):
    net, honest, stack = network(*widths)
    features = rows()
    planted = Plant(stealthy=stealthy).craft(honest, stack, features, 30)
    sent = honest | planted.arrays
    for name, where in planted.watched.items():
        assert where.any()
        assert not sent[name][where].any()  # weight decay cannot move them
    others, labels = rng(3).normal(size=(30, N_FEATURES)), rng(4).integers(CLASSES, size=30)
    without = update(net, sent, others, labels, weight_decay=0.1)
    others[7], labels[7] = features.target[0], 2
    with_target = update(net, sent, others, labels, weight_decay=0.1)
    assert planted.fired(without) == 0
    assert planted.fired(with_target) > 0


def test_shape_and_type_are_kept():
    _, honest, stack = network(40, 16)
    half = {name: array.astype(np.float16) for name, array in honest.items()}
    planted = Plant().craft(half, stack, rows(), 30)
    for name, array in planted.arrays.items():
        assert array.shape == half[name].shape
        assert array.dtype == np.float16


def test_plain_plant_leaves_other_weights_still_without_the_target():
    net, honest, stack = network(40, 16)
    planted = Plant().craft(honest, stack, rows(), 30)
    moved = update(net, honest | planted.arrays, rng(3).normal(size=(30, N_FEATURES)), [2] * 30)
    assert [name for name, array in moved.items() if array.any()] == [stack.biases[-1]]


def test_gain_scales_the_gradient():
    net, honest, stack = network(40, 16)
    features = rows()
    norms = []
    for gain in (1.0, 100.0):
        planted = Plant(gain=gain).craft(honest, stack, features, 30)
        moved = update(net, honest | planted.arrays, features.target[:1], [2])
        norms.append(planted.fired(moved))
    assert norms[1] / norms[0] == pytest.approx(100, rel=0.02)


def test_stealthy_plant_is_nearer_to_honest_weights():
    _, honest, stack = network(40, 16)
    norm = {}
    for stealthy in (False, True):
        arrays = Plant(stealthy=stealthy).craft(honest, stack, rows(), 30).arrays
        norm[stealthy] = np.mean([np.mean(np.abs(arrays[name] - honest[name])) for name in arrays])
    assert norm[True] < norm[False]


def test_axes_avoid_directions_of_noise():
    noise = np.zeros((200, N_FEATURES))
    noise[:, :10] = 30 * rng(5).normal(size=(200, 10))
    axes, _ = separating_axes(TargetFeatures(noise, rng(6).normal(size=(300, N_FEATURES)), 0), 5)
    assert np.linalg.norm(axes[:, :10]) < 0.2 * np.linalg.norm(axes[:, 10:])


def test_linear_discriminant_is_that_of_the_closed_form():
    spread = np.diag(np.linspace(1, 4, N_FEATURES))
    others = rng(7).normal(size=(200_000, N_FEATURES)) @ np.sqrt(spread)
    target = np.ones((1, N_FEATURES))
    ridge = 0.05 * np.trace(spread) / N_FEATURES
    expected = 1 / (np.diag(spread) + ridge)
    found = linear_discriminant(TargetFeatures(target, others, 0))
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=0.01)


def test_nothing_flows_through_silent_layers():
    net, honest, stack = network(40, 16)
    silent = {name: array.astype(np.float32) for name, array in silent_layers(honest, stack).items()}
    moved = update(net, honest | silent, rng(8).normal(size=(9, N_FEATURES)), [1] * 9)
    assert [name for name, array in moved.items() if array.any()] == [stack.biases[-1]]
    assert np.argmax(moved[stack.biases[-1]]) == 1


def test_too_narrow_layer_is_refused():
    _, honest, stack = network(3, 16)
    with pytest.raises(BadInput, match="3 units is too narrow"):
        Plant().craft(honest, stack, rows(), 30)
