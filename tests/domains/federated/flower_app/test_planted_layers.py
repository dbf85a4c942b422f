from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import LinearStack
from leakgauge.domains.federated.flower_app.planted_layers import (
    Plant,
    TargetFeatures,
    best_detector,
    linear_discriminant,
    peak_detector,
    separating_axes,
    silent_layers,
    trained_detector,
)

N_FEATURES, CLASSES = 20, 4


def rng(*key):
    return np.random.default_rng([11, *key])


def network(*widths, activation=torch.nn.ReLU):
    torch.manual_seed(3)
    sizes = (N_FEATURES, *widths, CLASSES)
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    parts = [part for layer in layers for part in (layer, activation())][:-1]
    net = torch.nn.Sequential(*parts)
    names = [name.removesuffix(".weight") for name in net.state_dict() if name.endswith("weight")]
    stack = LinearStack(
        weights=tuple(f"{name}.weight" for name in names),
        biases=tuple(f"{name}.bias" for name in names),
        dropout=False,
        features=N_FEATURES,
        width=widths[0],
        smooth=activation is not torch.nn.ReLU,
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
    optimizer.zero_grad()
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


@pytest.mark.parametrize("widths", [(40, 16), (40,)])
@pytest.mark.parametrize("activation", [torch.nn.GELU, torch.nn.SiLU])
def test_smooth_functions_leave_other_rows_as_good_as_inactive(widths, activation):
    net, honest, stack = network(*widths, activation=activation)
    features = rows()
    planted = Plant().craft(honest, stack, features, 30)
    others, labels = rng(3).normal(size=(30, N_FEATURES)), rng(4).integers(CLASSES, size=30)
    without = planted.fired(update(net, honest | planted.arrays, others, labels))
    others[7], labels[7] = features.target[0], 2
    assert planted.fired(update(net, honest | planted.arrays, others, labels)) > 1e4 * without


class Followed(torch.nn.Module):
    """Two linear layers, and a way around them, or several inputs of each row, with other layers behind."""

    def __init__(self, behind, around):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = torch.nn.Linear(N_FEATURES, 40), torch.nn.Linear(40, N_FEATURES)
        self.behind, self.around = behind, around
        self.head = torch.nn.Linear(N_FEATURES, CLASSES)

    def forward(self, x):
        inner = self.second(torch.relu(self.first(x)))
        x = self.behind(x + inner if self.around else inner)
        return self.head(x if x.ndim == 2 else x.mean(1))


@pytest.mark.parametrize("stealthy", [False, True])
@pytest.mark.parametrize(
    ("behind", "around", "gated", "tokens"),
    [
        (torch.nn.Tanh(), False, False, 1),
        (torch.nn.ReLU(), False, True, 1),
        (torch.nn.LayerNorm(N_FEATURES), True, False, 1),
        (torch.nn.LayerNorm(N_FEATURES), True, False, 3),
    ],
    ids=["tanh behind", "ReLU behind", "a way around", "several inputs"],
)
def test_pairs_in_the_middle_move_for_the_target_alone(behind, around, gated, tokens, stealthy):
    net = Followed(behind, around)
    honest = {name: value.numpy().copy() for name, value in net.state_dict().items()}
    stack = LinearStack(
        weights=("first.weight", "second.weight"),
        biases=("first.bias", "second.bias"),
        dropout=False,
        features=N_FEATURES,
        width=40,
        ends=False,
        gated=gated,
        tokens=None if tokens == 1 else tuple(range(tokens)),
    )
    shape = (N_FEATURES,) if tokens == 1 else (tokens, N_FEATURES)
    target, others = rng(21).normal(size=shape), rng(22).normal(size=(400, *shape))
    features = TargetFeatures(np.tile(target, (6, *[1] * len(shape))), others, 2)
    planted = Plant(stealthy=stealthy).craft(honest, stack, features, 30)
    rows, labels = others[:30].copy(), rng(4).integers(CLASSES, size=30)
    assert planted.fired(update(net, honest | planted.arrays, rows, labels, weight_decay=0.1)) == 0
    rows[7] = target
    assert planted.fired(update(net, honest | planted.arrays, rows, labels, weight_decay=0.1)) > 0


def noisy_features(key, n, noise=1.2):
    """Draws of a target in much noise, and of other rows, each drawn anew."""
    target = rng(31).normal(size=N_FEATURES) * 2
    own, others = rng(key, 1).normal(size=(n, N_FEATURES)), rng(key, 2).normal(size=(8 * n, N_FEATURES))
    return target + noise * own, others * np.hypot(1.0, noise), target


def test_trained_detector_approaches_the_best_test_of_a_noisy_target():
    """Normal distributions, whose likelihood ratio is known and wins most; the peak wins far less."""
    noise, n_others = 1.2, 20
    own, others, target = noisy_features(1, 1_000)
    features = TargetFeatures(own, others, 0, held_back=noisy_features(2, 500)[:2])
    fresh = noisy_features(3, 5_000)[:2]

    def ratio(rows):
        return (rows**2).sum(1) / (1 + noise**2) - ((rows - target) ** 2).sum(1) / noise**2

    def won(score):
        return features.best_cut(score(fresh[0]), score(fresh[1]), n_others)[1]

    best, trained = won(ratio), won(trained_detector(features, 40).scores)
    peak = won(peak_detector(features, 20).scores)
    assert trained <= best + 0.01
    assert trained >= best - 0.03
    chosen = won(best_detector(features, 40, n_others, trainable=True).scores)
    assert chosen >= max(trained, peak) - 0.01
    assert won(best_detector(features, 40, n_others, trainable=False).scores) == peak


def test_loud_rows_need_the_output_and_its_bias():
    _, _, stack = network(40, 16)
    loud = Plant(loud=True)
    assert loud.fits(stack)
    assert not loud.fits(replace(stack, biases=(*stack.biases[:2], None)))
    assert not loud.fits(replace(stack, ends=False))
    assert Plant().fits(replace(stack, ends=False))


def test_one_of_several_reads_is_enough():
    own = np.array([0.0, 3.0, 3.0, 0.0, 0.0, 3.0])  # each pair of reads has one above all others
    features = TargetFeatures(np.zeros((6, 2)), np.zeros((4, 2)), 0, passes=2)
    cut, won = features.best_cut(own, np.array([1.0, 2.0]), 5)
    assert won == 1
    assert 2 < cut < 3


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
    for size in (1.0, 10.0):
        planted = Plant(constant=size, head=size).craft(honest, stack, features, 30)
        moved = update(net, honest | planted.arrays, features.target[:1], [2])
        norms.append(planted.fired(moved))
    assert norms[1] / norms[0] == pytest.approx(100, rel=0.02)


def gradient_share(planted, net, honest, features):
    """How much of the norm of the target's gradient is in the watched weights, by torch."""
    moved = update(net, honest | planted.arrays, features.target[:1], [features.label])
    ((name, where),) = planted.watched.items()
    return np.linalg.norm(moved[name][where]) / np.linalg.norm(flat_vector(moved))


def flat_vector(moved):
    return np.concatenate([array.ravel() for array in moved.values()]).astype(np.float64)


def test_large_constants_leave_the_bound_to_the_neuron():
    """What is clipped with the target's gradient is then hardly anything else, and can be read in full."""
    net, honest, stack = network(40, 16)
    shares = [
        gradient_share(Plant(constant=size).craft(honest, stack, rows(), 30), net, honest, rows())
        for size in (1.0, 60.0)
    ]
    assert shares[0] < 0.9
    assert shares[1] > 0.99


def test_loud_rows_move_another_unit_all_in_the_same_way():
    net, honest, stack = network(40, 16)
    planted = Plant(constant=100.0, head=100.0, loud=True).craft(honest, stack, rows(), 30)
    sent = honest | planted.arrays
    directions = []
    for number, labels in enumerate(([0] * 30, [1] * 30, [0, 1, 2] * 10)):  # all but the class of the unit
        moved = update(net, sent, rng(3, number).normal(size=(30, N_FEATURES)), labels)
        assert planted.fired(moved) == 0
        directions.append(flat_vector(moved) / np.linalg.norm(flat_vector(moved)))
    assert min(directions[0] @ one for one in directions[1:]) > 0.85
    target = flat_vector(update(net, sent, rows().target[:1], [2]))
    assert abs(target @ directions[0]) < 0.2 * np.linalg.norm(target)


def test_dropped_features_do_not_hide_the_target():
    """Features of a ReLU with a tenth of them dropped: axes avoid those that vary, and others stay apart."""
    clean = np.maximum(rng(12).normal(size=N_FEATURES), 0)
    others = np.maximum(rng(13).normal(size=(2_000, N_FEATURES)), 0)

    def dropped(values, n):
        return np.where(rng(14, n).random((n, N_FEATURES)) < 0.9, values / 0.9, 0.0)

    net, honest, stack = network(60, 16)
    features = TargetFeatures(dropped(clean, 100), dropped(others, 2_000), 2)
    planted = Plant().craft(honest, stack, features, 30)
    sent = honest | planted.arrays
    fires = [planted.fired(update(net, sent, row[None], [2])) > 0 for row in dropped(clean, 60)]
    quiet = [planted.fired(update(net, sent, row[None], [2])) == 0 for row in dropped(others[:200], 200)]
    assert np.mean(fires) > 0.9
    assert np.mean(quiet) > 0.98


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
