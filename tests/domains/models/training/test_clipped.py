import numpy as np
import pytest
import torch

from leakgauge.domains.models.training.clipped import clipped_sum, plain_sum
from leakgauge.domains.models.training.network import Network, Shape, glorot

LAYERS = [(12, 5, (16, 8)), (5, 2, ()), (104, 2, (256, 256))]


def given(features, classes, hidden, n=60, seed=1):
    rng = np.random.default_rng(seed)
    network = glorot(Shape(features, classes, hidden), rng)
    network.weights[:] += rng.normal(scale=0.05, size=network.weights.size).astype(np.float32)
    return network, rng.random((n, features), dtype=np.float32), rng.integers(classes, size=n)


def gradients_one_by_one(network: Network, rows, labels) -> np.ndarray:
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
def test_clipped_sums_are_those_of_gradients_that_are_clipped_one_by_one(sizes):
    network, rows, labels = given(*sizes)
    each = gradients_one_by_one(network, rows, labels)
    norms = np.linalg.norm(each, axis=1)
    for clip in [norms.min() / 2, np.median(norms), norms.max() * 2]:
        expected = (each * np.minimum(1, clip / norms)[:, None]).sum(axis=0)
        np.testing.assert_allclose(clipped_sum(network, rows, labels, clip), expected, atol=1e-5)
    np.testing.assert_allclose(plain_sum(network, rows, labels), each.sum(axis=0), atol=2e-5)


@pytest.mark.filterwarnings("ignore:Full backward hook")
@pytest.mark.parametrize("sizes", LAYERS)
def test_clipped_sums_are_those_of_opacus(sizes):
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
    np.testing.assert_allclose(clipped_sum(network, rows, labels, 0.8), expected, atol=1e-5)


def test_one_row_more_moves_the_sum_by_one_clip_at_most_and_another_row_by_two():
    network, rows, labels = given(12, 5, (16, 8))
    clip = 0.3
    all_of_them = clipped_sum(network, rows, labels, clip)
    without = clipped_sum(network, rows[1:], labels[1:], clip)
    assert np.linalg.norm(all_of_them - without) == pytest.approx(clip, rel=1e-4)
    moved = []
    for label in range(5):
        replaced = np.append(label, labels[1:])
        moved.append(np.linalg.norm(clipped_sum(network, rows, replaced, clip) - all_of_them))
    assert clip < max(moved) <= 2 * clip * (1 + 1e-5)


def test_no_row_gives_a_sum_of_zero():
    network, rows, labels = given(12, 5, (16, 8))
    assert not clipped_sum(network, rows[:0], labels[:0], 1.0).any()
    assert not plain_sum(network, rows[:0], labels[:0]).any()
