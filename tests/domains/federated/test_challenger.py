"""What a plan builds: who holds which rows, what is promised, and what a digest covers."""

from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from domains.federated.small_games import random_crafted, small_server
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.challenger import build

BITRAND = {"name": "bitrand", "epsilon": 5.0}
NOISE = {"epsilon": 8.0, "delta": 0.01}


def built(folder=Path(), data=None, mechanism=None, **setting):
    return build(
        data=data or {"rows": 400, "features": 8, "classes": 3},
        challenger={"targets": 3, "batch": 10} | setting,
        mechanism=mechanism or {"name": "none"},
        folder=folder,
        seed=4,
    )


def in_common(one, other) -> int:
    return len({row.tobytes() for row in one} & {row.tobytes() for row in other})


@pytest.mark.parametrize("reference", [0.5, 100])
def test_targets_clients_and_adversary_share_no_row(reference):
    made = built(reference=reference)
    parts = made.pool.targets, made.pool.rows, made.reference.rows
    assert [len(part) for part in parts] == [3, 397 - len(made.reference.rows), len(made.reference.rows)]
    assert len(made.reference.rows) == (198 if reference == 0.5 else 100)
    for i, one in enumerate(parts):
        assert not any(in_common(one, other) for other in parts[i + 1 :])


def test_features_are_fitted_on_adversary_rows_only(tmp_path):
    """A client's row that is far from all others would draw the first component to itself."""
    rng = np.random.default_rng(1)
    rows, public = rng.normal(size=(2, 40, 5)).astype(np.float32)
    labels = np.arange(40) % 2
    np.savez(tmp_path / "public.npz", embedding=public, label=labels)
    table = {"source": "rows.npz", "reference": "public.npz", "features": "pca", "dimensions": 2}
    found = []
    for far in (1.0, 100.0):
        rows[7] = far
        np.savez(tmp_path / "rows.npz", embedding=rows, label=labels)
        found.append(built(tmp_path, table, targets={"names": [0]}))
    near, wide = found
    np.testing.assert_array_equal(near.reference.rows, wide.reference.rows)
    assert np.abs(wide.pool.rows).max() > 10 * np.abs(near.pool.rows).max()


def test_coins_are_fair():
    flips = built().flip(20_000, np.random.default_rng(1))
    assert flips.shape == (20_000, 3)
    np.testing.assert_allclose(flips.mean(axis=0), 0.5, atol=4 * sqrt(0.25 / 20_000))
    assert abs(np.corrcoef(flips.T)[0, 1]) < 4 / sqrt(20_000)


def test_without_noise_nothing_is_promised():
    assert built().guarantee is None


def test_nominal_epsilon_is_judged_unless_exact_is_requested():
    label, law = (built(mechanism=BITRAND, promise=promise).guarantee for promise in ("label", "exact"))
    assert label.epsilon == label.nominal_epsilon == law.nominal_epsilon == 5
    assert law.epsilon == law.exact_epsilon == label.exact_epsilon > 100


@pytest.mark.parametrize("mechanism", [{"name": "none"}, BITRAND])
@pytest.mark.parametrize("iterations", [1, 4])
def test_gradient_noise_guarantee_covers_all_iterations(mechanism, iterations):
    """Delta by the formula of Balle and Wang (2018), for a sum that moves by two clips in each iteration."""
    found = built(mechanism=mechanism, gradient_noise=NOISE, iterations=iterations).guarantee
    mu = 2 * sqrt(iterations) * 8 / sqrt(2 * log(1.25 / 0.01))
    cut = found.epsilon / mu
    assert norm.cdf(mu / 2 - cut) - np.exp(found.epsilon + norm.logcdf(-mu / 2 - cut)) == pytest.approx(0.01)
    assert (found.delta, found.nominal_epsilon) == (0.01, 8)


def test_digest_covers_everything_that_changes_the_game():
    games = [
        built(),
        built(mechanism=BITRAND),
        built(mechanism={**BITRAND, "epsilon": 4.0}),
        built(batch=11),
        built(present=0.5),
        built(data={"rows": 401, "features": 8, "classes": 3}),
    ]
    assert len({game.digest for game in games}) == len(games)
    assert built().digest == games[0].digest


def test_values_out_of_range_are_reported_or_rejected():
    wide = {"rows": 400, "features": 8, "classes": 3, "scale": 2.0}
    with pytest.raises(BadInput, match=r"of the values lie beyond \+-31.9375"):
        built(data=wide, mechanism=BITRAND)
    notes = built(data=wide, mechanism={**BITRAND, "saturate": True}).notes
    assert any("of the values are beyond the range of the noise" in note for note in notes)


def test_server_counts_rows_of_the_whole_group():
    _, server = small_server(BITRAND, clients=3)
    assert server.others == 3 * 20 - 1


def test_rejects_second_training_in_a_block():
    made, server = small_server({"name": "none"}, gradient_noise=NOISE)
    seen = server.view(made.release(np.ones((1, 3), dtype=bool), np.random.default_rng(1)))
    networks = server.networks(
        [random_crafted(4, 128, np.random.default_rng(1))] * 3, np.random.default_rng(1)
    )
    seen.train(networks)
    with pytest.raises(BadInput, match="once in a block"):
        seen.train(networks)
