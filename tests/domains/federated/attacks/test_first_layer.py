import numpy as np
import pytest

from domains.federated.small_games import share_won, small_server
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.first_layer import Attack
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack as LikelihoodNeuron

BITRAND = {"name": "bitrand", "epsilon": 5.0}


def test_without_noise_there_is_a_plane_between_a_target_and_the_rows_there_are():
    made, server = small_server({"name": "none"})
    assert share_won(made, server, Attack(), 60) >= 0.95


def test_where_the_sign_says_nothing_a_plane_wins_less_than_a_network():
    made, server = small_server(BITRAND, data={"non_negative": True, "features": 256})
    plane = share_won(made, server, Attack(), 100)
    assert plane < share_won(made, server, LikelihoodNeuron(form="ratio"), 100) - 0.1


def test_one_unit_is_active_above_a_linear_score():
    _, server = small_server(BITRAND)
    scorer = Attack().study(server, stream(1, Role.STUDY))
    for network in scorer.score.networks:
        (weights, biases), (second, second_bias) = network.first, network.second
        assert weights.shape == (1, 128)
        rows = np.random.default_rng(1).normal(scale=5, size=(50, 128)).astype(np.float32)
        value = second[0, 0] * np.maximum(rows @ weights[0] + biases[0], 0) + second_bias[0]
        np.testing.assert_array_equal(value > 0, rows @ weights[0] > -biases[0])


def test_no_plane_has_the_target_alone_on_one_side_of_rows_that_surround_it():
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
def test_too_few_draws_are_refused(draws):
    with pytest.raises(BadInput, match="draws must be >= 100"):
        Attack(draws=draws)
