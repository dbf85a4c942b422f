import numpy as np
import pytest

from domains.federated.small_games import share_won, small_server
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.first_layer import Attack
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack as LikelihoodNeuron

BITRAND = {"name": "bitrand", "epsilon": 5.0}


def test_without_noise_a_plane_separates_target_from_rows():
    made, server = small_server({"name": "none"})
    assert share_won(made, server, Attack(), 60) >= 0.95


def test_plane_wins_less_than_network_without_sign_information():
    made, server = small_server(BITRAND, data={"non_negative": True, "features": 256})
    plane = share_won(made, server, Attack(), 100)
    assert plane < share_won(made, server, LikelihoodNeuron(form="ratio"), 100) - 0.1


def test_one_unit_is_active_above_linear_score():
    _, server = small_server(BITRAND)
    scorer = Attack().study(server, stream(1, Role.STUDY))
    for network in scorer.score.networks:
        (weights, biases), (second, second_bias) = network.first, network.second
        assert weights.shape == (1, 128)
        rows = np.random.default_rng(1).normal(scale=5, size=(50, 128)).astype(np.float32)
        value = second[0, 0] * np.maximum(rows @ weights[0] + biases[0], 0) + second_bias[0]
        np.testing.assert_array_equal(value > 0, rows @ weights[0] > -biases[0])


def test_no_plane_isolates_a_surrounded_target():
    """Appendix A: one of t + c and t - c is above, or t is not."""
    _, server = small_server({"name": "none"})
    scorer = Attack().study(server, stream(1, Role.STUDY))
    for target, network in zip(server.targets, scorer.score.networks):
        (weights, biases), step = network.first, np.zeros(128, dtype=np.float32)
        step[3] = 0.5
        around = np.stack([target, target + step, target - step]) @ weights[0] + biases[0]
        assert around[0] > 0
        assert around[1:].max() > 0


@pytest.mark.parametrize("draws", [99, float("nan")])
def test_rejects_too_few_draws(draws):
    with pytest.raises(BadInput, match="draws must be >= 100"):
        Attack(draws=draws)
