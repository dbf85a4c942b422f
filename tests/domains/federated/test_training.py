"""Training against torch's own modules and optimiser."""

import numpy as np
import pytest
import torch

from leakgauge.domains.federated.training import Lesson, learn, untrained


def lessons(n, rng):
    for _ in range(n):
        yield Lesson(rng.normal(size=(30, 4)).astype(np.float32), rng.random(30) < 0.3, 2.5)


@pytest.mark.parametrize("batch", [None, 8])
def test_a_neuron_learns_as_a_torch_module_would(batch):
    start = untrained(6, 4, np.random.default_rng(1))
    first, second = torch.nn.Linear(4, 6), torch.nn.Linear(6, 1)
    first.weight.data, first.bias.data = (
        torch.from_numpy(part.copy()) for part in (start.first, start.first_bias)
    )
    second.weight.data, second.bias.data = (
        torch.from_numpy(start.second.copy())[None],
        torch.tensor([start.bias]),
    )
    module = torch.nn.Sequential(first, torch.nn.ReLU(), second)
    adam = torch.optim.Adam(module.parameters(), lr=0.01)
    for lesson in lessons(5, np.random.default_rng(2)):
        size = batch or 30
        for low in range(0, 30, size):
            rows = torch.from_numpy(lesson.rows[low : low + size])
            wanted = torch.from_numpy(lesson.active[low : low + size]).float()
            chance = torch.sigmoid(module(rows)[:, 0])
            losses = -(2.5 * wanted * torch.log(chance) + (1 - wanted) * torch.log(1 - chance))
            adam.zero_grad()
            losses.mean().backward()
            adam.step()
    *_, found = learn(start, lessons(5, np.random.default_rng(2)), batch=batch, rate=0.01)
    rows = np.random.default_rng(3).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(found.values(rows), module(torch.from_numpy(rows))[:, 0].detach(), atol=1e-4)
    assert np.abs(found.values(rows) - start.values(rows)).max() > 0.1


def test_each_epoch_is_a_neuron_of_its_own():
    start = untrained(6, 4, np.random.default_rng(1))
    kept = start.first.copy()
    epochs = list(learn(start, lessons(3, np.random.default_rng(2)), batch=None, rate=0.01))
    assert len(epochs) == 3
    assert (start.first == kept).all()
    assert (epochs[0].first != epochs[1].first).any()
    assert (epochs[1].first != epochs[2].first).any()
