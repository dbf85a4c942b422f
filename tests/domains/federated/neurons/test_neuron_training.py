"""Training against torch's own modules and optimiser."""

import numpy as np
import pytest
import torch

from domains.federated.small_games import small_server
from leakgauge.domains.federated.attacks.trained_neuron import Attack
from leakgauge.domains.federated.neurons.neuron_training import (
    EpochRows,
    NeuronTrainer,
    initial_neuron,
    train_epochs,
)
from leakgauge.support.work_count import TRAINING, counting_work, sampling_work


def epoch_rows(n, rng):
    for _ in range(n):
        yield EpochRows(rng.normal(size=(30, 4)).astype(np.float32), rng.random(30) < 0.3, 2.5)


@pytest.mark.parametrize("batch", [None, 8])
def test_training_matches_torch_module(batch):
    start = initial_neuron(6, 4, np.random.default_rng(1))
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
    for epoch in epoch_rows(5, np.random.default_rng(2)):
        size = batch or 30
        for low in range(0, 30, size):
            rows = torch.from_numpy(epoch.rows[low : low + size])
            wanted = torch.from_numpy(epoch.active[low : low + size]).float()
            chance = torch.sigmoid(module(rows)[:, 0])
            losses = -(2.5 * wanted * torch.log(chance) + (1 - wanted) * torch.log(1 - chance))
            adam.zero_grad()
            losses.mean().backward()
            adam.step()
    *_, found = train_epochs(start, epoch_rows(5, np.random.default_rng(2)), batch=batch, rate=0.01)
    rows = np.random.default_rng(3).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(found.values(rows), module(torch.from_numpy(rows))[:, 0].detach(), atol=1e-4)
    assert np.abs(found.values(rows) - start.values(rows)).max() > 0.1


def test_each_epoch_returns_a_separate_neuron():
    start = initial_neuron(6, 4, np.random.default_rng(1))
    kept = start.first.copy()
    epochs = list(train_epochs(start, epoch_rows(3, np.random.default_rng(2)), batch=None, rate=0.01))
    assert len(epochs) == 3
    assert (start.first == kept).all()
    assert (epochs[0].first != epochs[1].first).any()
    assert (epochs[1].first != epochs[2].first).any()


BITRAND = {"name": "bitrand", "epsilon": 10.0}
SMALL = Attack(neurons=40, positives=300, rate=1e-3, batch=50, epochs=4)


def taught(mechanism, attack, **setting):
    _, server = small_server(mechanism, targets=1, **setting)
    trainer = NeuronTrainer.of(
        server, attack.options(noisy=mechanism["name"] != "none"), np.random.default_rng(1)
    )
    return server, trainer, trainer((0, 2))


def test_few_neurons_are_trained_for_an_estimate_of_costs(monkeypatch):
    _, server = small_server(BITRAND, targets=1)
    trainer, trained = NeuronTrainer.of(server, SMALL.options(noisy=True), np.random.default_rng(1)), []
    monkeypatch.setattr(NeuronTrainer, "_train", lambda self, target: trained.append(target) or target)
    with sampling_work(), counting_work() as counts:
        assert [trainer((0, seed)) for seed in range(5)] == [(0, 0)] * 5
    assert counts == {TRAINING: 5}
    assert [trainer((0, seed)) for seed in range(3)] == [(0, 0), (0, 1), (0, 2)]


def test_without_noise_stops_when_only_target_is_active():
    server, trainer, trained = taught({"name": "none"}, Attack(neurons=60, rate=1e-2))
    assert trained.separated
    assert len(trained.history) == trained.epochs
    assert trained.on_top <= trained.epochs
    assert trained.history[-1].tpr == 1.0
    assert trained.history[-1].won > trained.history[0].won
    values = trained.neuron.values(server.rows)
    own = trained.neuron.values(server.targets)[0]
    assert own > 0 > values.max()
    assert own == pytest.approx(-values.max(), rel=1e-3)  # the bias is midway
    assert len(trainer.rows) + len(trainer.held_back) == len(server.rows)


def test_epoch_limit_is_respected():
    _, _, trained = taught({"name": "none"}, Attack(neurons=5, rate=1e-6, epochs=3))
    assert not trained.separated
    assert len(trained.history) == 3


def test_under_noise_keeps_best_epoch_on_held_out_rows():
    server, trainer, trained = taught(BITRAND, SMALL)
    assert len(trained.history) == 4
    mechanism, rng = server.training.mechanism, np.random.default_rng(3)
    copies = np.tile(server.targets.astype(float), (2_000, 1))
    own = trained.neuron.values(mechanism.sample(copies, rng).astype(np.float32))
    others = trained.neuron.values(trainer.held_back)
    won = (np.mean(own > 0) + np.mean(others <= 0) ** 19) / 2
    assert won >= max(rates.won for rates in trained.history) - 0.03


def test_noise_is_fresh_in_every_epoch():
    _, trainer, _ = taught(BITRAND, SMALL)
    epoch_rows = list(trainer._epoch_rows(trainer.knowledge.targets[:1], np.random.default_rng(4)))
    assert [epoch.active.sum() for epoch in epoch_rows] == [300] * 4
    assert [len(epoch.rows) for epoch in epoch_rows] == [300 + len(trainer.rows)] * 4
    drawn = {row.tobytes() for epoch in epoch_rows for row in epoch.rows[epoch.active]}
    assert len(drawn) == 4 * 300


def test_no_row_is_both_trained_on_and_held_back():
    _, trainer, _ = taught({"name": "none"}, Attack(neurons=5, epochs=1))
    trained_on = {row.tobytes() for row in trainer.rows}
    assert not any(row.tobytes() in trained_on for row in trainer.held_back)
