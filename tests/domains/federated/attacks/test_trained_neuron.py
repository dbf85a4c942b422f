import pickle

import numpy as np
import pytest

from domains.federated.small_games import share_won, small_server
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.trained_neuron import Attack

BITRAND = {"name": "bitrand", "epsilon": 10.0}
SMALL = Attack(neurons=60, positives=300, rate=1e-3, batch=50, epochs=4)


@pytest.mark.parametrize("neurons", [5, 60])
def test_without_noise_trains_until_target_is_identified(neurons):
    made, server = small_server({"name": "none"})
    attack = Attack(neurons=neurons, rate=1e-2)
    studied = attack.study(server, stream(5, Role.STUDY)).reading.studied
    assert studied["separated"] == 1.0
    assert 1 <= studied["epochs_on_top_mean"] <= studied["epochs_mean"] <= studied["epochs_most"] < 2_000
    assert share_won(made, server, attack, 60) >= 0.95


def test_wins_under_noise():
    made, server = small_server(BITRAND)
    assert share_won(made, server, SMALL, 60) >= 0.9


def test_wins_half_of_games_at_exact_epsilon():
    made, server = small_server({"name": "bitrand", "epsilon": 1.0, "calibrate": "exact"})
    assert abs(share_won(made, server, SMALL, 200) - 0.5) < 4 * np.sqrt(0.25 / 600) + 0.05


def test_training_is_reproducible_regardless_of_torch_state():
    import torch

    _, server = small_server(BITRAND)
    one = SMALL.study(server, stream(1, Role.STUDY))
    state = torch.get_rng_state()
    torch.rand(5)
    moved = torch.get_rng_state()
    again = SMALL.study(server, stream(1, Role.STUDY))
    assert torch.equal(torch.get_rng_state(), moved)  # nor does it draw of torch's numbers
    torch.set_rng_state(state)
    for first, second in zip(one.score.networks, again.score.networks):
        for part, other in zip(first.first + first.second, second.first + second.second):
            np.testing.assert_array_equal(part, other)
    assert one.reading == again.reading


def test_can_be_pickled_and_leaves_knowledge_unchanged():
    _, server = small_server(BITRAND, targets=1)
    before = server.rows.copy(), server.targets.copy()
    pickle.loads(pickle.dumps(SMALL)).study(server, stream(1, Role.STUDY))
    np.testing.assert_array_equal(server.rows, before[0])
    np.testing.assert_array_equal(server.targets, before[1])


@pytest.mark.parametrize("name", ["neurons", "epochs", "positives", "batch"])
def test_rejects_numbers_below_one(name):
    with pytest.raises(BadInput, match=f"{name} must be >= 1, got 0"):
        Attack(**{name: 0})


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["rate", "weight"])
def test_rejects_invalid_rates_and_weights(name, value):
    with pytest.raises(BadInput, match=f"{name} must be > 0 and finite"):
        Attack(**{name: value})
