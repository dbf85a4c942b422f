import numpy as np
import pytest
import torch

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.network import Network, Shape, glorot


def random_network(features: int, classes: int, hidden: tuple[int, ...], rng) -> Network:
    """A network whose biases are not zero."""
    shape = Shape(features, classes, hidden)
    return Network(shape, rng.normal(scale=0.5, size=shape.n_weights).astype(np.float32))


def in_torch(network: Network) -> torch.nn.Sequential:
    """The same network as a module."""
    parts = []
    for weights, biases in network.layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.weight.data = torch.from_numpy(weights.copy())
        linear.bias.data = torch.from_numpy(biases.copy())
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


@pytest.mark.parametrize("hidden", [(), (9,), (256, 256)])
def test_logits_losses_and_accuracy_are_torchs(hidden):
    rng = np.random.default_rng(1)
    network = random_network(6, 4, hidden, rng)
    rows, labels = rng.random((30, 6), dtype=np.float32), rng.integers(4, size=30)
    logits = in_torch(network)(torch.from_numpy(rows)).detach()
    losses = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels), reduction="none")
    np.testing.assert_allclose(network.logits(rows), logits.numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(network.losses(rows, labels), losses.numpy(), rtol=1e-4, atol=1e-4)
    assert network.accuracy(rows, labels) == np.mean(logits.numpy().argmax(axis=1) == labels)


def test_a_sure_mistake_has_a_finite_loss():
    network = Network(Shape(1, 2, ()), np.array([1e4, -1e4, 0, 0], dtype=np.float32))
    assert network.losses(np.ones((1, 1), dtype=np.float32), np.array([1])) == pytest.approx([2e4])


def test_an_untrained_network_is_uniform_within_glorots_reach():
    network = glorot(Shape(104, 2), np.random.default_rng(2))
    assert [matrix.shape for matrix, _ in network.layers] == [(256, 104), (256, 256), (2, 256)]
    for matrix, biases in network.layers:
        reach = np.sqrt(6 / sum(matrix.shape))
        assert 0.98 * reach < np.abs(matrix).max() <= reach
        assert matrix.std() == pytest.approx(reach / np.sqrt(3), rel=0.05)
        assert not biases.any()


def test_layers_are_views_of_the_weights():
    network = glorot(Shape(3, 2, (4,)), np.random.default_rng(3))
    network.weights[:] = 7
    assert all((matrix == 7).all() and (biases == 7).all() for matrix, biases in network.layers)


@pytest.mark.parametrize("shape", [(0, 2, (4,)), (3, 1, (4,)), (3, 2, (4, 0))])
def test_shapes_without_anything_to_learn_are_refused(shape):
    with pytest.raises(BadInput):
        Shape(*shape)


def test_weights_of_another_shape_are_refused():
    with pytest.raises(BadInput, match="26 weights, got 25"):
        Network(Shape(3, 2, (4,)), np.zeros(25, dtype=np.float32))
