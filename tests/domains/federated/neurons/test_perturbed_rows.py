import numpy as np
import pytest

from leakgauge.domains.federated.neurons.feature_distributions import ClippedBasis, ReluScore
from leakgauge.domains.federated.neurons.perturbed_rows import (
    PerturbedLevelRows,
    PerturbedRealRows,
    draw_perturbed_real_rows,
    draw_perturbed_rows,
    perturb,
)
from leakgauge.mechanisms import bitrand, feature_laplace

FEATURES = 6
MECHANISM = bitrand.Mechanism(epsilon=5.0, features=FEATURES)
ROWS = np.random.default_rng(1).normal(scale=3, size=(20, FEATURES)).astype(np.float32)
SCORE = ReluScore(
    np.array([1, 2, 5]), np.array([-4.0, 0.0, 4.0]), np.random.default_rng(2).normal(size=(3, 3))
)


def rng(seed=3):
    return np.random.default_rng(seed)


def test_table_lookup_matches_neuron():
    samples = draw_perturbed_rows(ROWS, 5, MECHANISM, rng())
    assert isinstance(samples, PerturbedLevelRows)
    rows = samples.levels[samples.places.T].astype(np.float32)
    np.testing.assert_array_equal(rows, MECHANISM.sample(np.tile(ROWS.astype(float), (5, 1)), rng()))
    neuron = SCORE.neuron(0.0, FEATURES)
    np.testing.assert_allclose(samples.scores(SCORE), neuron.values(rows), atol=1e-4)
    np.testing.assert_allclose(PerturbedRealRows(rows).scores(SCORE), neuron.values(rows), atol=1e-4)


def test_without_noise_rows_are_unchanged():
    samples = draw_perturbed_rows(ROWS, 7, None, rng())
    np.testing.assert_allclose(samples.scores(SCORE), SCORE.neuron(0.0, FEATURES).values(ROWS), atol=1e-4)
    assert perturb(ROWS, 7, None, rng()) is ROWS


@pytest.mark.parametrize(
    "mechanism", [MECHANISM, feature_laplace.Mechanism(epsilon=50.0, features=FEATURES, bound=8.0)]
)
def test_rows_are_perturbed_like_clients_do(mechanism):
    expected = mechanism.sample(np.concatenate([ROWS] * 3).astype(float), rng()).astype(np.float32)
    found = perturb(ROWS, 3, mechanism, rng())
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(
        draw_perturbed_rows(ROWS, 3, mechanism, rng()).scores(SCORE),
        PerturbedRealRows(expected).scores(SCORE),
        atol=1e-4,
    )


@pytest.mark.parametrize("n_rows", [1, 256, 700])
def test_clipped_scores_are_computed_in_chunks(n_rows):
    rows = rng().normal(scale=3, size=(n_rows, FEATURES)).astype(np.float32)
    basis, weights = ClippedBasis(2.0), rng(4).normal(size=(3, 1))
    score = ReluScore(np.array([0, 2, 3]), basis.knots, basis.on_hinges(weights))
    assert score.clips
    assert not SCORE.clips
    expected = np.clip(rows[:, [0, 2, 3]].astype(float), -2, 2) @ weights[:, 0] + 2.0 * weights.sum()
    np.testing.assert_allclose(PerturbedRealRows(rows).scores(score), expected, atol=1e-4)
    plain, looked_up = (
        make(ROWS, 4, MECHANISM, rng()) for make in (draw_perturbed_real_rows, draw_perturbed_rows)
    )
    np.testing.assert_allclose(plain.scores(score), looked_up.scores(score), atol=1e-4)
