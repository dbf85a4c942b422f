"""Laws of perturbed features against all bit patterns, one by one, and against simulation."""

from itertools import product

import numpy as np
import pytest

from leakgauge.domains.federated.neurons.feature_distributions import (
    ExactFeatureDistribution,
    SampledFeatureDistribution,
    feature_distribution,
)
from leakgauge.mechanisms import bitrand, feature_laplace, ome

FEATURES = 3


def rng(seed=1):
    return np.random.default_rng(seed)


def powers(values):
    return np.stack([values, values**2, np.abs(values)], axis=1)


def by_patterns(rows, mechanism, feature):
    """Values and probabilities of one feature of a row drawn from ``rows``: every answer to every bit."""
    n_bits, fraction = mechanism.encoding.n_bits, mechanism.encoding.fraction
    zero, one = (
        np.broadcast_to(chances, (FEATURES, n_bits))[feature]
        for chances in (mechanism.ones_from_zero, mechanism.ones_from_one)
    )
    found = []
    for value in rows[:, feature].astype(float):
        steps = min(round(abs(value) * 2**fraction), 2 ** (n_bits - 1) - 1)
        bits = [int(value < 0 and steps > 0), *(int(bit) for bit in f"{steps:0{n_bits - 1}b}")]
        for answers in product([0, 1], repeat=n_bits):
            chance = 1.0
            for bit, answer, from_zero, from_one in zip(bits, answers, zero, one):
                of_one = from_one if bit else from_zero
                chance *= of_one if answer else 1 - of_one
            size = int("".join(map(str, answers[1:])), 2) / 2**fraction
            found.append((-size if answers[0] else size, chance / len(rows)))
    return np.array(found).T


@pytest.mark.parametrize("n_rows", [1, 4])
@pytest.mark.parametrize(
    "mechanism",
    [
        bitrand.Mechanism(epsilon=2.0, features=FEATURES, bits=(2, 2)),
        ome.Mechanism(epsilon=2.0, features=FEATURES, bits=(2, 2), alpha=3.0),
        ome.Mechanism(epsilon=2.0, features=FEATURES, bits=(2, 2), alpha=3.0, variant=ome.OmeVariant.LYU),
    ],
)
def test_moments_match_all_bit_patterns(mechanism, n_rows):
    rows = rng().normal(scale=1.5, size=(n_rows, FEATURES)).astype(np.float32)
    law = feature_distribution(rows, mechanism, rng())
    assert isinstance(law, ExactFeatureDistribution)
    moments = law.moments(powers)
    for feature in range(FEATURES):
        values, chances = by_patterns(rows, mechanism, feature)
        functions = powers(values)
        means = chances @ functions
        seconds = (functions * chances[:, None]).T @ functions
        np.testing.assert_allclose(moments.means[feature], means, atol=1e-10)
        np.testing.assert_allclose(moments.covariances[feature], seconds - np.outer(means, means), atol=1e-9)


@pytest.mark.slow
def test_moments_match_simulation():
    mechanism, rows = bitrand.Mechanism(epsilon=5.0, features=FEATURES), rng().normal(size=(5, FEATURES)) * 4
    drawn = mechanism.sample(np.tile(rows, (40_000, 1)), rng(2))
    moments = feature_distribution(rows.astype(np.float32), mechanism, rng()).moments(powers)
    for feature, column in enumerate(drawn.T):
        functions = powers(column)
        away = functions - functions.mean(axis=0)
        products = away[:, :, None] * away[:, None, :]
        for found, drawn_ones in (
            (moments.means[feature], functions),
            (moments.covariances[feature], products),
        ):
            errors = drawn_ones.std(axis=0) / np.sqrt(len(column))
            assert (np.abs(found - drawn_ones.mean(axis=0)) < 4 * errors).all()


def test_without_noise_moments_match_rows():
    rows = rng().normal(size=(50, FEATURES)).astype(np.float32)
    law = feature_distribution(rows, None, rng())
    assert isinstance(law, SampledFeatureDistribution)
    moments = law.moments(powers)
    for feature, column in enumerate(rows.T.astype(float)):
        np.testing.assert_allclose(moments.means[feature], powers(column).mean(axis=0))
        np.testing.assert_allclose(moments.covariances[feature], np.cov(powers(column).T, ddof=0), atol=1e-12)


def test_noise_without_table_is_sampled():
    mechanism = feature_laplace.Mechanism(epsilon=30.0, features=FEATURES, bound=5.0)
    law = feature_distribution(np.ones((1, FEATURES), dtype=np.float32), mechanism, rng())
    assert isinstance(law, SampledFeatureDistribution)
    assert law.rows.shape == (2_000, FEATURES)
    scale = 2 * 5.0 * FEATURES / 30.0
    np.testing.assert_allclose(law.rows.mean(axis=0), 1.0, atol=4 * np.sqrt(2) * scale / np.sqrt(2_000))
    assert (
        len(feature_distribution(np.ones((5_000, FEATURES), dtype=np.float32), mechanism, rng()).rows)
        == 5_000
    )
