"""Laws of perturbed features against all bit patterns, one by one, and against simulation."""

from itertools import product

import numpy as np
import pytest

from leakgauge.domains.federated.neurons.feature_distributions import (
    ClippedBasis,
    ExactFeatureDistribution,
    HingeBasis,
    ReluScore,
    SampledFeatureDistribution,
    best_relu_score,
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


def written_out(score, rows):
    """A score by its definition, number by number."""
    return [
        sum(
            weight * max(float(row[feature]) - knot, 0.0)
            for feature, weights in zip(score.features, score.weights)
            for knot, weight in zip(score.knots, weights)
        )
        for row in rows
    ]


def test_neuron_value_is_score_minus_threshold():
    score = ReluScore(np.array([0, 3, 4]), np.array([-2.0, -0.5, 1.0]), rng().normal(size=(3, 3)))
    rows = rng(2).normal(scale=2, size=(40, 6)).astype(np.float32)
    neuron = score.neuron(0.7, 6)
    assert neuron.units == 9
    np.testing.assert_allclose(neuron.values(rows), np.array(written_out(score, rows)) - 0.7, atol=1e-5)


def test_clipped_functions_are_clipped_values_up_to_constant():
    basis, values = ClippedBasis(1.5), rng().normal(scale=2, size=50)
    weights = np.array([[2.0], [-0.3]])
    score = ReluScore(np.array([0, 1]), basis.knots, basis.on_hinges(weights))
    expected = weights * np.clip(values, -1.5, 1.5)
    np.testing.assert_allclose(score.function(values), expected + 1.5 * weights, atol=1e-12)


def test_hinge_basis_is_exact():
    basis, values = HingeBasis(-2.0, 2.0, 4), rng().normal(scale=2, size=50)
    assert basis.knots.tolist() == [-2.0, -1.0, 0.0, 1.0]
    weights = rng(2).normal(size=(1, 4))
    score = ReluScore(np.array([0]), basis.knots, basis.on_hinges(weights))
    np.testing.assert_allclose(score.function(values)[0], basis(values) @ weights[0])


def test_weights_of_one_function_are_mean_difference_over_variance():
    own, others = rng(1).normal([1, 0, -2], [1, 2, 3], (500, 3)), rng(2).normal(0, [2, 2, 1], (400, 3))
    basis = ClippedBasis(4.0)
    score = best_relu_score(
        SampledFeatureDistribution(own), {basis: SampledFeatureDistribution(others).moments(basis)}, units=100
    )
    for feature in range(3):
        one, other = np.clip(own[:, feature], -4, 4), np.clip(others[:, feature], -4, 4)
        weight = (one.mean() - other.mean()) / ((one.var() + other.var()) / 2)
        np.testing.assert_allclose(score.weights[feature], [weight, -weight], rtol=1e-4)


def test_few_units_keep_most_informative_features():
    own, others = rng(1).normal([0, 3, 0, -5, 1], 1, (500, 5)), rng(2).normal(0, 1, (400, 5))
    basis = ClippedBasis(8.0)
    moments = SampledFeatureDistribution(others).moments(basis)
    assert best_relu_score(SampledFeatureDistribution(own), {basis: moments}, units=5).features.tolist() == [
        1,
        3,
    ]
    assert best_relu_score(SampledFeatureDistribution(own), {basis: moments}, units=2).features.tolist() == [
        3
    ]


def test_most_informative_function_is_chosen():
    own, others = rng(1).normal(0.3, 1, (4_000, 4)), rng(2).normal(0, 1, (4_000, 4))
    others[::50] *= 100  # what is cut off at 2 does not suffer from these
    bases = [ClippedBasis(2.0), ClippedBasis(1_000.0)]
    score = best_relu_score(
        SampledFeatureDistribution(own),
        {basis: SampledFeatureDistribution(others).moments(basis) for basis in bases},
        units=100,
    )
    assert score.knots.tolist() == [-2.0, 2.0]


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_hinge_at_every_level_gives_function_of_likelihood_ratio(epsilon):
    """Fisher's discriminant over all functions of a value is tanh(ratio / 2), up to scale and constant."""
    mechanism = bitrand.Mechanism(epsilon=epsilon, features=1, bits=(2, 2))
    levels, law = mechanism.encoding.levels, np.exp(mechanism.table())
    own, others = law[3][None], law[[5, 10, 14, 25]].mean(axis=0)[None]
    basis = HingeBasis(levels[0] - 0.25, levels[-1], levels.size)
    score = best_relu_score(
        ExactFeatureDistribution(levels, own),
        {basis: ExactFeatureDistribution(levels, others).moments(basis)},
        units=100,
    )
    curve = np.tanh(np.log(own / others) / 2)[0]
    found = score.function(levels)[0]
    assert np.corrcoef(found, curve)[0, 1] > 0.999
    assert np.std(curve) > 0.1


def test_constant_feature_is_handled():
    own, others = np.zeros((10, 2)), rng().normal(size=(50, 2))
    own[:, 1], others[:, 1] = 1.0, 1.0
    basis = ClippedBasis(2.0)
    score = best_relu_score(
        SampledFeatureDistribution(own), {basis: SampledFeatureDistribution(others).moments(basis)}, units=100
    )
    assert np.isfinite(score.weights).all()
    assert (score.weights[1] == 0).all()
