"""Neurons that are built from laws, on generated rows: in both forms, signed and never negative."""

import pickle

import numpy as np
import pytest

from domains.federated.small_games import share_won, small_server
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.likelihood_neuron import (
    Attack,
    LikelihoodNeuronBuilder,
    clipped_bases,
    peak_neuron,
)
from leakgauge.domains.federated.neurons import feature_distributions
from leakgauge.domains.federated.neurons.feature_distributions import feature_distribution

BITRAND = {"name": "bitrand", "epsilon": 10.0}
NON_NEGATIVE = {"non_negative": True}


@pytest.mark.parametrize(
    ("mechanism", "data", "attack", "least"),
    [
        (BITRAND, {}, Attack(), 0.95),
        (BITRAND, {}, Attack(form="ratio"), 0.95),
        (BITRAND, NON_NEGATIVE, Attack(form="ratio"), 0.85),
        ({"name": "none"}, {}, Attack(), 0.95),
        ({"name": "none"}, NON_NEGATIVE, Attack(form="ratio"), 0.95),
        ({"name": "ome", "epsilon": 1.0}, {}, Attack(), 0.8),
        ({"name": "feature_laplace", "epsilon": 5_000.0, "bound": 20.0}, {}, Attack(), 0.9),
    ],
)
def test_wins_when_exact_epsilon_exceeds_nominal(mechanism, data, attack, least):
    made, server = small_server(mechanism, data=data)
    assert share_won(made, server, attack, 60) >= least


@pytest.mark.parametrize("form", ["clipped", "ratio"])
def test_wins_half_of_games_at_exact_epsilon(form):
    made, server = small_server({"name": "bitrand", "epsilon": 1.0, "calibrate": "exact"})
    assert abs(share_won(made, server, Attack(form=form), 200) - 0.5) < 4 * np.sqrt(0.25 / 600) + 0.05


@pytest.mark.parametrize("form", ["clipped", "ratio"])
@pytest.mark.parametrize("scale", [1e-10, 1e3, 1e10])
def test_wins_for_any_scale_of_rows(form, scale):
    made, server = small_server({"name": "none"}, data={"scale": scale}, targets=12)
    assert share_won(made, server, Attack(form=form), 12) >= 0.99


def test_clipping_range_follows_from_bits():
    reaches = {}
    for bits in ([5, 4], [8, 1], [1, 8]):
        _, server = small_server({**BITRAND, "bits": bits, "saturate": True})
        reaches[bits[0]] = [clip.reach for clip in clipped_bases(server)]
    assert reaches[5] == [0.5, 1, 2, 4, 8, 16]
    assert reaches[8] == [8 * reach for reach in reaches[5]]
    assert reaches[1] == [reach / 16 for reach in reaches[5]]


def test_more_features_win_more_games():
    made, server = small_server(BITRAND)
    few, all_of_them = (share_won(made, server, Attack(units=units), 60) for units in (4, 256))
    assert few < all_of_them


@pytest.mark.parametrize("units", [None, 40])
def test_neuron_respects_unit_limit_and_is_active_for_target(units):
    _, server = small_server(BITRAND)
    builder = LikelihoodNeuronBuilder.of(server, clipped_bases(server), units, 500, stream(1, Role.STUDY))
    mechanism = server.training.mechanism
    for place, target in enumerate(server.targets):
        neuron = builder((place, 7))
        assert neuron.units == (units or 2 * 128)
        rng = np.random.default_rng(place)
        own = neuron.values(mechanism.sample(np.tile(target, (500, 1)).astype(float), rng).astype(np.float32))
        others = neuron.values(mechanism.sample(server.rows.astype(float), rng).astype(np.float32))
        assert np.mean(own > 0) > np.mean(others > 0) + 0.5
        assert np.std(others) <= 1.1
        assert np.abs(own).max() < 8
        assert pickle.loads(pickle.dumps(builder))((place, 7)).values(own[:0].reshape(0, 128)).size == 0


def test_thresholds_use_held_out_rows(monkeypatch):
    _, server = small_server({"name": "none"})
    given = []
    monkeypatch.setattr(
        feature_distributions,
        "feature_distribution",
        lambda rows, *more: given.append(rows) or feature_distribution(rows, *more),
    )
    builder = LikelihoodNeuronBuilder.of(server, clipped_bases(server), None, 500, stream(1, Role.STUDY))
    built_from, held_back = ({row.tobytes() for row in rows} for rows in (given[0], builder.held_back.rows))
    assert not built_from & held_back
    assert built_from | held_back == {row.tobytes() for row in server.rows}


def test_same_stream_builds_same_neurons():
    _, server = small_server(BITRAND)
    one, again = (Attack().study(server, stream(1, Role.STUDY)).score.networks for _ in range(2))
    for first, second in zip(one, again):
        np.testing.assert_array_equal(first.second[0], second.second[0])
        np.testing.assert_array_equal(first.second[1], second.second[1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hinges": 1}, "hinges must be >= 2"),
        ({"units": 1}, "units must be >= 2"),
        ({"units": 15, "form": "ratio"}, "units must be >= 16"),
        ({"draws": 99}, "draws must be >= 100"),
        ({"draws": float("nan")}, "draws must be >= 100"),
    ],
)
def test_rejects_invalid_parameters(wrong, message):
    with pytest.raises(BadInput, match=message):
        Attack(**wrong)


@pytest.fixture(params=[False, True], ids=["signed", "non-negative"])
def rows(request):
    found = np.random.default_rng(1).normal(size=(800, 40)).astype(np.float32)
    return np.maximum(found, 0) if request.param else found


def test_value_is_a_negated_distance(rows):
    target, own = rows[0], rows[1:401]
    neuron = peak_neuron(target, own, 19)
    spread = own.std(axis=0, dtype=np.float64)
    within = np.clip(rows, np.minimum(own.min(axis=0), target), None)  # below that, no hinge bends
    distance = (np.abs(within - target) / spread).sum(axis=1)
    values = neuron.values(rows)
    slope = (values[1] - values[0]) / (distance[1] - distance[0])
    assert slope < 0
    np.testing.assert_allclose(values, values[0] + slope * distance, atol=1e-4 * abs(values).max())


def test_active_for_target_and_for_no_unseen_row(rows):
    for place in range(20):
        values = peak_neuron(rows[place], rows[20:410], 99).values(rows)
        assert values[place] > 0
        assert (values[410:] <= 0).all()


def test_few_units_keep_the_most_distinctive_features(rows):
    target = rows[0].copy()
    target[7] += 50
    neuron = peak_neuron(target, rows[1:], 19, units=2)
    assert neuron.units == 2
    assert np.flatnonzero(neuron.first.any(axis=0)).tolist() == [7]


def test_constant_features_are_handled(rows):
    still = rows.copy()
    still[:, 3] = 2.0
    assert np.isfinite(peak_neuron(still[0], still[1:], 19).values(still)).all()
