"""The attack on noisy updates: close to the optimum of the clipped Gaussian channel, and never above it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from domains.federated.small_games import small_server
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.full_gradient import Attack
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.clients.whole_gradients import clipped_answer
from leakgauge.domains.federated.neurons.network import honest_layer
from leakgauge.domains.federated.release import ClientRows
from leakgauge.mechanisms import bitrand

EIGHT = {"epsilon": 8.0, "delta": 0.01}
ATTACK = Attack(units=64)


def game(noise, mechanism=None, attack=ATTACK, **setting):
    made, server = small_server(
        mechanism or {"name": "none"}, **({"gradient_noise": noise} if noise else {}), **setting
    )
    return made, server, attack.study(server, stream(5, Role.STUDY))


def share_right(made, server, scorer, n_rounds):
    """Balanced accuracy at the attack's own threshold, and its standard error."""
    trials = play(made, {"it": Adversary(server, scorer)}, 5, range(n_rounds), 0)["it"]
    right = (trials.scores >= trials.reading.threshold) == trials.members
    rates = [(right[trials.members == bit].mean(), (trials.members == bit).sum()) for bit in (True, False)]
    error = np.sqrt(sum(rate * (1 - rate) / n for rate, n in rates)) / 2
    return sum(rate for rate, _ in rates) / 2, error


@pytest.mark.parametrize(
    ("noise", "setting", "deviations"),
    [
        (EIGHT, {}, 1),
        (EIGHT | {"clipped": "update", "clip": 0.3}, {}, 1),  # LocalDpMod, local DP-FedAvg
        (EIGHT | {"clipped": "update", "unit": "client"}, {"clients": 3}, np.sqrt(1 / 3)),
        (EIGHT | {"clipped": "update", "added": "sum"}, {"clients": 3}, 1),  # central DP-FedAvg
        (EIGHT | {"epsilon": 4.0}, {"iterations": 3}, np.sqrt(3)),
    ],
    ids=["dp-sgd", "local-mod", "local-client", "central", "iterations"],
)
def test_success_is_that_of_the_clipped_gaussian_channel(noise, setting, deviations):
    """Phi(mu / 2), with mu the bound over the noise that is left on the average of all answers."""
    made, server, scorer = game(noise, **setting)
    sigma = np.sqrt(2 * np.log(125)) / noise["epsilon"]
    optimum = norm.cdf(deviations / sigma / 2)
    assert scorer.reading.studied["channel_optimum"] == pytest.approx(optimum)
    assert scorer.reading.studied["predicted_accuracy"] <= optimum + 1e-9
    found, error = share_right(made, server, scorer, 250)
    assert found <= optimum + 3 * error
    assert 2 * found - 1 >= 0.95 * (2 * optimum - 1) - 2 * 3 * error


@pytest.mark.nightly
@pytest.mark.parametrize("calibrate", ["classic", "analytic"])
def test_one_iteration_reaches_the_optimum_of_epsilon_8(calibrate):
    noise = EIGHT | {"calibrate": calibrate}
    made, server, scorer = game(noise, batch=100, targets=4)
    optimum = norm.cdf(1 / GradientNoise(**noise).multiplier / 2)
    assert 0.885 < optimum < 0.905
    found, error = share_right(made, server, scorer, 500)
    assert found <= optimum + 3 * error
    assert 2 * found - 1 >= 0.95 * (2 * optimum - 1)


@pytest.mark.nightly
def test_five_iterations_suffice_at_epsilon_8_5():
    made, server, scorer = game({"epsilon": 8.5, "delta": 0.01}, iterations=5, batch=100, targets=4)
    found, error = share_right(made, server, scorer, 500)
    assert 0.98 <= found <= norm.cdf(np.sqrt(5) * 8.5 / np.sqrt(2 * np.log(125)) / 2) + 3 * error


def test_target_fills_the_bound_and_others_vanish():
    for clipped, others in (("example", slice(0, 300)), ("update", slice(0, 20))):
        noise = GradientNoise(sigma=1.0, clip=0.5, clipped=clipped)
        _, server, scorer = game({"sigma": 1.0, "clip": 0.5, "clipped": clipped})
        for place, network in enumerate(scorer.score.networks):
            assert network.direction_norm == pytest.approx(1, rel=1e-5)
            label = server.target_labels[[place]]
            alone = clipped_answer(network, server.targets[[place]], label, noise)
            assert alone == pytest.approx(0.5, rel=0.01)
            rest = clipped_answer(network, server.rows[others], server.labels[others], noise)
            assert rest == pytest.approx(0, abs=1e-6)
        assert scorer.reading.studied["filled_share"] == pytest.approx(1, abs=0.01)


def test_almost_no_noise_hides_nobody_and_an_absent_target_is_not_found():
    made, server, scorer = game({"sigma": 0.02})
    assert share_right(made, server, scorer, 40)[0] == 1
    absent = replace(made, training=replace(made.training, present=1e-12))
    assert share_right(absent, server, scorer, 100)[0] == pytest.approx(0.5, abs=0.12)


def test_control_without_noise_is_always_right():
    made, _, _ = game(EIGHT)
    control = made.control()
    from leakgauge.domains.federated.knowledge import build

    server = build("server", {}, control, 5)
    assert share_right(control, server, ATTACK.study(server, stream(5, Role.STUDY)), 60)[0] == 1


@pytest.mark.parametrize("attack", [ATTACK, Attack(units=64, stealthy=True)])
def test_stealthy_server_keeps_the_weights_of_an_honest_one(attack):
    _, server, scorer = game(EIGHT, attack=attack, chosen=2)
    network, rng = scorer.score.networks[0], np.random.default_rng(1)
    others = network.second[0][2:]
    reach = 1 / np.sqrt(64)
    spread = np.abs(others).max() <= reach and others.std() == pytest.approx(reach / np.sqrt(3), rel=0.1)
    assert spread == attack.stealthy
    for layer, shape in (
        (network.first, (128, 64)),
        ((network.second[0][:1], network.second[1][:1]), (64, 1)),
    ):
        norms = [
            np.sqrt(sum(float(np.sum(part**2)) for part in one)) for one in (layer, honest_layer(*shape, rng))
        ]
        assert (norms[0] == pytest.approx(norms[1], rel=0.2)) == attack.stealthy
    active = network.hidden(server.rows) @ network.second[0].T + network.second[1] > 0
    assert not active[:, 2:].any()
    assert active.mean() < 0.01


def test_stealth_costs_some_of_the_bound():
    noise = {"sigma": 0.6}
    plain, stealthy = (game(noise, attack=Attack(units=64, stealthy=hidden)) for hidden in (False, True))
    share = stealthy[2].reading.studied["filled_share"]
    assert 0.2 < share < plain[2].reading.studied["filled_share"]
    found, error = share_right(*stealthy, 200)
    assert found == pytest.approx(stealthy[2].reading.studied["predicted_accuracy"], abs=4 * error)


def test_perturbed_rows_lower_the_share_that_is_filled():
    plain = game(EIGHT)[2].reading.studied["filled_share"]
    made, server, scorer = game(EIGHT, mechanism={"name": "bitrand", "epsilon": 10.0}, attack=Attack())
    assert isinstance(made.training.mechanism, bitrand.Mechanism)
    assert 0.3 < scorer.reading.studied["filled_share"] < plain
    found, error = share_right(made, server, scorer, 100)
    assert 0.6 < found <= scorer.reading.studied["channel_optimum"] + 3 * error


@pytest.mark.parametrize(
    ("wrong", "message"), [({"units": 1}, "units must be >= 2"), ({"draws": 5}, "draws")]
)
def test_rejects_invalid_options(wrong, message):
    with pytest.raises(BadInput, match=message):
        Attack(**wrong)


def test_clients_hold_what_the_server_reads_once():
    """A client's answer is one number; nothing of the gradient outside of the direction is returned."""
    made, server, scorer = game(EIGHT)
    held = ClientRows(server.rows[:20], server.labels[:20], 1)
    assert made.training.answer(scorer.score.networks[0], held).shape == (1,)
