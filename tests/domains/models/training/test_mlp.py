import numpy as np
import pytest
import torch

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.mlp import (
    MlpClassifier,
    MlpShape,
    clipped_gradient_sum,
    glorot_network,
    gradient_sum,
)


def random_network(features: int, classes: int, hidden: tuple[int, ...], rng) -> MlpClassifier:
    """A network whose biases are not zero."""
    shape = MlpShape(features, classes, hidden)
    return MlpClassifier(shape, rng.normal(scale=0.5, size=shape.n_weights).astype(np.float32))


def in_torch(network: MlpClassifier) -> torch.nn.Sequential:
    """The same network as a module."""
    parts = []
    for weights, biases in network.layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.weight.data = torch.from_numpy(weights.copy())
        linear.bias.data = torch.from_numpy(biases.copy())
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


@pytest.mark.parametrize("hidden", [(), (9,), (256, 256)])
def test_logits_losses_and_accuracy_match_torch(hidden):
    rng = np.random.default_rng(1)
    network = random_network(6, 4, hidden, rng)
    rows, labels = rng.random((30, 6), dtype=np.float32), rng.integers(4, size=30)
    logits = in_torch(network)(torch.from_numpy(rows)).detach()
    losses = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels), reduction="none")
    np.testing.assert_allclose(network.logits(rows), logits.numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(network.losses(rows, labels), losses.numpy(), rtol=1e-4, atol=1e-4)
    assert network.accuracy(rows, labels) == np.mean(logits.numpy().argmax(axis=1) == labels)


def test_confident_mistake_has_finite_loss():
    network = MlpClassifier(MlpShape(1, 2, ()), np.array([1e4, -1e4, 0, 0], dtype=np.float32))
    assert network.losses(np.ones((1, 1), dtype=np.float32), np.array([1])) == pytest.approx([2e4])


def test_initial_weights_are_glorot_uniform():
    network = glorot_network(MlpShape(104, 2), np.random.default_rng(2))
    assert [matrix.shape for matrix, _ in network.layers] == [(256, 104), (256, 256), (2, 256)]
    for matrix, biases in network.layers:
        reach = np.sqrt(6 / sum(matrix.shape))
        assert 0.98 * reach < np.abs(matrix).max() <= reach
        assert matrix.std() == pytest.approx(reach / np.sqrt(3), rel=0.05)
        assert not biases.any()


def test_layers_are_views_of_weights():
    network = glorot_network(MlpShape(3, 2, (4,)), np.random.default_rng(3))
    network.weights[:] = 7
    assert all((matrix == 7).all() and (biases == 7).all() for matrix, biases in network.layers)


@pytest.mark.parametrize("shape", [(0, 2, (4,)), (3, 1, (4,)), (3, 2, (4, 0))])
def test_rejects_empty_shapes(shape):
    with pytest.raises(BadInput):
        MlpShape(*shape)


def test_rejects_weights_of_another_shape():
    with pytest.raises(BadInput, match="26 weights, got 25"):
        MlpClassifier(MlpShape(3, 2, (4,)), np.zeros(25, dtype=np.float32))


LAYERS = [(12, 5, (16, 8)), (5, 2, ()), (104, 2, (256, 256))]


def given(features, classes, hidden, n=60, seed=1):
    rng = np.random.default_rng(seed)
    network = glorot_network(MlpShape(features, classes, hidden), rng)
    network.weights[:] += rng.normal(scale=0.05, size=network.weights.size).astype(np.float32)
    return network, rng.random((n, features), dtype=np.float32), rng.integers(classes, size=n)


def gradients_one_by_one(network: MlpClassifier, rows, labels) -> np.ndarray:
    """Examples x weights, by torch's autograd, an example at a time."""
    parts = [torch.from_numpy(part.copy()).requires_grad_() for layer in network.layers for part in layer]
    found = []
    for row, label in zip(torch.from_numpy(rows), torch.from_numpy(labels)):
        values = row
        for i in range(0, len(parts), 2):
            values = torch.nn.functional.linear(values, parts[i], parts[i + 1])
            values = torch.relu(values) if i + 2 < len(parts) else values
        loss = torch.nn.functional.cross_entropy(values[None], label[None])
        found.append(torch.cat([part.ravel() for part in torch.autograd.grad(loss, parts)]).numpy())
    return np.array(found, dtype=np.float64)


@pytest.mark.parametrize("sizes", LAYERS)
def test_clipped_sums_match_per_example_clipping(sizes):
    network, rows, labels = given(*sizes)
    each = gradients_one_by_one(network, rows, labels)
    norms = np.linalg.norm(each, axis=1)
    for clip in [norms.min() / 2, np.median(norms), norms.max() * 2]:
        expected = (each * np.minimum(1, clip / norms)[:, None]).sum(axis=0)
        np.testing.assert_allclose(clipped_gradient_sum(network, rows, labels, clip), expected, atol=1e-5)
    np.testing.assert_allclose(gradient_sum(network, rows, labels), each.sum(axis=0), atol=2e-5)


@pytest.mark.filterwarnings("ignore:Full backward hook")
@pytest.mark.parametrize("sizes", LAYERS)
def test_clipped_sums_match_opacus(sizes):
    import opacus

    network, rows, labels = given(*sizes, n=200, seed=2)
    parts = []
    for weights, biases in network.layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.weight.data = torch.from_numpy(weights.copy())
        linear.bias.data = torch.from_numpy(biases.copy())
        parts += [linear, torch.nn.ReLU()]
    module = opacus.GradSampleModule(torch.nn.Sequential(*parts[:-1]), loss_reduction="sum")
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(module.parameters(), lr=1.0),
        noise_multiplier=0.0,
        max_grad_norm=0.8,
        expected_batch_size=1,
        loss_reduction="sum",
    )
    logits = module(torch.from_numpy(rows))
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels), reduction="sum").backward()
    optimizer.clip_and_accumulate()
    expected = torch.cat([parameter.summed_grad.ravel() for parameter in module.parameters()]).numpy()
    np.testing.assert_allclose(clipped_gradient_sum(network, rows, labels, 0.8), expected, atol=1e-5)


def test_sensitivity_is_one_clip_per_added_row():
    network, rows, labels = given(12, 5, (16, 8))
    clip = 0.3
    all_of_them = clipped_gradient_sum(network, rows, labels, clip)
    without = clipped_gradient_sum(network, rows[1:], labels[1:], clip)
    assert np.linalg.norm(all_of_them - without) == pytest.approx(clip, rel=1e-4)
    moved = []
    for label in range(5):
        replaced = np.append(label, labels[1:])
        moved.append(np.linalg.norm(clipped_gradient_sum(network, rows, replaced, clip) - all_of_them))
    assert clip < max(moved) <= 2 * clip * (1 + 1e-5)


def test_empty_batch_has_zero_sum():
    network, rows, labels = given(12, 5, (16, 8))
    assert not clipped_gradient_sum(network, rows[:0], labels[:0], 1.0).any()
    assert not gradient_sum(network, rows[:0], labels[:0]).any()
