"""Certificates against the truth that many more draws show, and against games; ranges against brute force."""

import numpy as np
import pytest

from domains.federated.small_games import share_won, small_server
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.certificates import (
    NeuronCertificate,
    NeuronCertifier,
    certified_rates,
    certify_neurons,
    feature_bounds,
    value_range,
)
from leakgauge.domains.federated.neurons.feature_distributions import ReluScore
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.domains.federated.neurons.perturbed_rows import neuron_values


def dense(units=6, features=3, seed=0):
    rng = np.random.default_rng(seed)
    first, biases, second = (rng.normal(size=size) for size in ((units, features), units, units))
    return CraftedNeuron(*(part.astype(np.float32) for part in (first, biases, second)), 0.3)


def clipped(weights, reach=2.0):
    weights = np.asarray(weights, dtype=float)
    knots = np.array([-reach, reach])
    return ReluScore(np.arange(weights.size), knots, weights[:, None] * [1.0, -1.0]).neuron(0.5, weights.size)


def test_clipped_features_have_range_of_twice_the_bound():
    least, most = value_range(clipped([1.0, -3.0]), np.full(2, -31.9375), np.full(2, 31.9375))
    assert (least, most) == pytest.approx((-3 * 4 - 0.5, 1 * 4 - 0.5))


def test_clipped_features_have_range_under_unbounded_noise():
    assert value_range(clipped([1.0, -3.0]), np.full(2, -np.inf), np.full(2, np.inf)) == pytest.approx(
        (-12.5, 3.5)
    )


def test_unbounded_feature_has_no_range_under_unbounded_noise():
    up = ReluScore(np.array([0]), np.array([1.0]), np.array([[2.0]])).neuron(0.0, 1)
    ends = np.array([-np.inf]), np.array([np.inf])
    assert value_range(up, *ends) == (0.0, np.inf)
    assert value_range(up, np.array([-np.inf]), np.array([4.0])) == (0.0, 6.0)
    assert value_range(dense(), np.full(3, -np.inf), np.full(3, np.inf)) == (-np.inf, np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_units_of_one_feature_are_combined_exactly(seed):
    """A function of one feature with many corners, on a fine grid."""
    rng = np.random.default_rng(seed)
    slopes, biases, second = (rng.normal(size=9).astype(np.float32) for _ in range(3))
    crafted = CraftedNeuron(slopes[:, None], biases, second, 0.0)
    grid = np.linspace(-3, 2, 200_001, dtype=np.float32)[:, None]
    values = crafted.values(grid)
    least, most = value_range(crafted, np.array([-3.0]), np.array([2.0]))
    assert (least, most) == pytest.approx((values.min(), values.max()), abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_no_row_of_box_leaves_range(seed):
    crafted, rng = dense(seed=seed), np.random.default_rng(seed)
    rows = rng.uniform(-2, 5, (50_000, 3)).astype(np.float32)
    corners = np.array(np.meshgrid(*[[-2, 5]] * 3), dtype=np.float32).reshape(3, -1).T
    values = crafted.values(np.concatenate([rows, corners]))
    least, most = value_range(crafted, np.full(3, -2.0), np.full(3, 5.0))
    assert least - 1e-4 <= values.min() <= values.max() <= most + 1e-4
    assert most - least < 4 * (values.max() - values.min())


def test_linear_bounds_are_tighter_than_intervals():
    """x + 10 less x + 10 is nothing; by intervals of the units alone it would be anything."""
    first = np.array([[1.0, 1.0], [1.0, 1.0]], dtype=np.float32)
    both = CraftedNeuron(first, np.full(2, 10, dtype=np.float32), np.array([1, -1], dtype=np.float32), 0.0)
    assert value_range(both, np.full(2, -1.0), np.full(2, 1.0)) == pytest.approx((0.0, 0.0))


def test_unit_without_inputs_is_constant():
    crafted = CraftedNeuron(
        np.zeros((1, 2), np.float32), np.ones(1, np.float32), np.full(1, 3, np.float32), 0.5
    )
    assert value_range(crafted, np.full(2, -1.0), np.full(2, 1.0)) == pytest.approx((3.5, 3.5))


@pytest.mark.parametrize("crafted", [dense(units=40), clipped([1.0, -3.0, 0.2])])
def test_values_of_many_rows_match_neuron(crafted, monkeypatch):
    monkeypatch.setattr("leakgauge.domains.federated.neurons.perturbed_rows.MAX_HELD_VALUES", 300)
    rows = np.random.default_rng(1).normal(scale=3, size=(101, 3)).astype(np.float32)
    np.testing.assert_allclose(neuron_values(crafted, rows), crafted.values(rows), atol=1e-5)


BITRAND = {"name": "bitrand", "epsilon": 5.0}


def server_of(mechanism=BITRAND, *, features=40, **setting):
    return small_server(mechanism, data={"features": features}, **setting)[1]


@pytest.fixture(scope="module")
def server():
    return server_of()


@pytest.fixture(scope="module")
def crafted(server):
    return Attack().craft(server, np.random.default_rng(1))


def by_sign(sign, features):
    """Active where the first feature has this sign, and is not zero."""
    first = np.zeros((1, features), dtype=np.float32)
    first[0, 0] = sign
    return CraftedNeuron(first, np.zeros(1, np.float32), np.ones(1, np.float32), 0.0)


def kept_sign(value, features, epsilon=5.0):
    """How often BitRand leaves the sign as it is, and the magnitude above zero (eq. 23 of Nguyen et al.)."""
    places = np.arange(10)
    alpha = np.sqrt((epsilon + 10 * features) / (2 * features * np.exp(2 * epsilon * places / 10).sum()))
    odds = alpha * np.exp(places * epsilon / 10)
    flip = odds / (1 + odds)
    bits = np.array([int(bit) for bit in f"{round(abs(value) * 16):09b}"])
    return (1 - flip[0]) * (1 - np.prod(np.where(bits == 1, flip[1:], 1 - flip[1:])))


def test_feature_bounds_follow_from_encoding():
    low, high = feature_bounds(server_of())
    assert (low.min(), low.max(), high.min(), high.max()) == (-31.9375, -31.9375, 31.9375, 31.9375)
    low, high = feature_bounds(server_of({"name": "feature_laplace", "scale": 1.0}))
    assert np.isinf(low).all()
    assert np.isinf(high).all()
    clean = server_of({"name": "none"})
    low, high = feature_bounds(clean)
    np.testing.assert_array_equal(low, np.concatenate([clean.rows, clean.targets]).min(axis=0))


@pytest.mark.parametrize("error", [0.2, 0.01])
def test_one_bit_certificate_fails_at_most_at_nominal_rate(server, error):
    value, features = float(server.targets[0, 0]), server.rows.shape[1]
    truth, neuron = kept_sign(value, features), by_sign(np.sign(value), features)
    certifier = NeuronCertifier(server, draws=300, error=error)
    found = [certifier((0, neuron, seed)) for seed in range(200)]
    assert np.mean([one.tpr > truth for one in found]) <= error + 3 * np.sqrt(error / 200)
    assert np.mean([one.own_rate.low(error) > truth for one in found]) <= error + 3 * np.sqrt(error / 200)
    assert np.mean([one.own_rate.value for one in found]) == pytest.approx(truth, abs=0.003)
    assert np.mean([one.tpr for one in found]) > truth - 0.05


def test_more_draws_exceed_the_certificate(server, crafted):
    first = certify_neurons(server, crafted, np.random.default_rng(2))
    long = [
        NeuronCertifier(server, draws=20_000, often=25)((place, one, 9)) for place, one in enumerate(crafted)
    ]
    for short, truth in zip(first, long):
        assert short.own_rate.n == 4_000
        assert short.others_rate.n == len(server.rows)
        assert short.tpr <= truth.own_rate.value
        assert short.fpr >= truth.others_rate.value
        assert short.own.low(1e-8) <= truth.own.value
        assert short.others.high(1e-8) >= truth.others.value
        assert truth.others_rate.n == 25 * len(server.rows)
        assert truth.fpr < short.fpr


def test_values_stay_within_known_range(server, crafted):
    for place, one in enumerate(crafted):
        certificate = NeuronCertifier(server)((place, one, 4))
        far = one.values(np.random.default_rng(0).uniform(-31.9375, 31.9375, (2_000, 40)).astype(np.float32))
        assert far.max() - far.min() <= certificate.own.width
        assert certificate.own.width < np.inf


def test_certificate_is_computed_only_on_request(server):
    told = Attack(certify=True).study(server, np.random.default_rng(1)).reading.studied
    assert set(told) == {
        "certified_success",
        "certified_tpr",
        "certified_fpr",
        "certified_share",
        "certified_success_hoeffding",
        "stealth_first",
        "stealth_second",
        "units",
    }
    assert told["certified_success_hoeffding"] < told["certified_success"] < 1
    assert set(Attack().study(server, np.random.default_rng(1)).reading.studied) == {
        "stealth_first",
        "stealth_second",
        "units",
    }


def test_more_games_are_won_than_certified():
    """On rows of clients that the certificate has never seen."""
    made, server = small_server(BITRAND)
    told = certified_rates(server, Attack().craft(server, np.random.default_rng(1)), np.random.default_rng(2))
    assert 0.6 < told["certified_success"] < share_won(made, server, Attack(), 60)


def test_certification_does_not_change_neurons(server):
    plain = Attack().study(server, np.random.default_rng(1)).score
    other = Attack(certify=True).study(server, np.random.default_rng(1)).score
    for one, two in zip(plain.networks, other.networks):
        np.testing.assert_array_equal(one.head[0], two.head[0])


def test_same_stream_gives_same_certificate(server, crafted):
    one, two = (certified_rates(server, crafted, np.random.default_rng(5)) for _ in range(2))
    assert one == two


def test_always_active_neuron_is_certified_to_lose(server):
    always = ReluScore(np.array([0]), np.array([-40.0]), np.array([[1.0]])).neuron(-1.0, 40)
    certificate = NeuronCertifier(server)((0, always, 1))
    assert certificate.fpr == 1
    assert certificate.active_on_target
    assert not certificate.silent_on_others
    assert not certificate.holds
    assert certificate.smallest_error is None
    assert certificate.success == pytest.approx(10 ** (-8 / 4_000) / 2)


def test_success_covers_all_rows_of_an_answer():
    values = np.array([1.0] * 50), np.array([-1.0] * 49 + [1.0])
    training = server_of(clients=3).training
    one = NeuronCertificate.of(*values, 4.0, training, 0.1)
    assert one.rows == 60
    assert one.success == pytest.approx((one.tpr + (1 - one.fpr) ** 60) / 2)
    assert one.success_of_any == pytest.approx((one.tpr + max(0, 1 - 60 * one.fpr)) / 2)
    assert (one.own.value, one.others.value) == pytest.approx((1.0, -0.96))


def test_without_noise_each_row_counts_once():
    server = server_of({"name": "none"})
    neuron = Attack().craft(server, np.random.default_rng(1))[0]
    certificate = NeuronCertifier(server, often=7)((0, neuron, 1))
    assert certificate.others_rate.n == len(server.rows)
    assert certificate.own_rate.value in (0, 1)
    assert certificate.own_rate.n == 4_000


def test_rejects_noise_on_gradients():
    server = server_of({"name": "none"}, gradient_noise={"epsilon": 8.0})
    with pytest.raises(BadInput, match="gradient_noise"):
        Attack(certify=True).study(server, np.random.default_rng(1))


def test_rejects_zero_draws(server):
    with pytest.raises(BadInput, match="draws"):
        NeuronCertifier(server, draws=0)
