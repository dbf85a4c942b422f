import numpy as np
import pytest
import torch

from domains.federated.small_games import random_crafted
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.neurons.network import (
    CraftedNeuron,
    PlantedNetworkShape,
    honest_layer,
    plant_neuron,
)


def rng(seed=1):
    return np.random.default_rng(seed)


def test_neuron_value_matches_explicit_layers():
    crafted, rows = random_crafted(7, 5, rng()), rng(2).normal(size=(20, 5)).astype(np.float32)
    expected = [
        sum(
            h * max(float(w @ x) + b, 0.0)
            for h, w, b in zip(crafted.second, crafted.first.astype(float), crafted.first_bias)
        )
        + crafted.bias
        for x in rows.astype(float)
    ]
    np.testing.assert_allclose(crafted.values(rows), expected, atol=1e-5)


def test_scaled_neuron_is_active_for_same_rows():
    crafted, rows = random_crafted(7, 5, rng()), rng(2).normal(size=(500, 5)).astype(np.float32)
    before, after = crafted.values(rows), crafted.scaled(0.01).values(rows)
    np.testing.assert_allclose(after, 0.01 * before, atol=1e-6)
    assert 0 < np.mean(before > 0) < 1
    np.testing.assert_array_equal(before > 0, after > 0)


def test_chosen_neurons_are_copies_of_the_crafted_one():
    crafted = random_crafted(30, 5, rng())
    network = plant_neuron(crafted, PlantedNetworkShape(classes=4, neurons=6, chosen=2), rng(2))
    weights, biases = network.second
    assert network.first == (crafted.first, crafted.first_bias)
    assert [(row == crafted.second).all() for row in weights] == [True, True, False, False, False, False]
    assert (biases == np.float32(crafted.bias)).tolist() == [True, True, False, False, False, False]
    assert [layer[0].shape for layer in network.layers] == [(30, 5), (6, 30), (4, 6)]


def test_honest_layers_match_torch_initialisation():
    from scipy.stats import ks_2samp

    torch_generator = torch.random.fork_rng(devices=[])
    with torch_generator:
        torch.manual_seed(3)
        theirs = torch.nn.Linear(50, 400)
    ours = honest_layer(50, 400, rng())
    for mine, other in zip(ours, (theirs.weight, theirs.bias)):
        other = other.detach().numpy()
        assert mine.shape == other.shape
        assert mine.dtype == other.dtype
        assert ks_2samp(mine.ravel(), other.ravel()).pvalue > 1e-3
        assert np.abs(mine).max() == pytest.approx(np.abs(other).max(), rel=0.02)


def test_rejects_parts_that_do_not_fit_together():
    first, biases = np.ones((3, 2), dtype=np.float32), np.ones(3, dtype=np.float32)
    with pytest.raises(BadInput, match="3 units, 3 biases, 2 weights"):
        CraftedNeuron(first, biases, np.ones(2, dtype=np.float32), 0.0)
    with pytest.raises(BadInput, match="0 units"):
        CraftedNeuron(first[:0], biases[:0], biases[:0], 0.0)
    for chosen in (0, 65):
        with pytest.raises(BadInput, match=r"chosen must be in 1\.\.64"):
            PlantedNetworkShape(classes=2, chosen=chosen)
