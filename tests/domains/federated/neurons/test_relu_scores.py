import numpy as np
import pytest

from leakgauge.domains.federated.neurons.feature_distributions import (
    ExactFeatureDistribution,
    SampledFeatureDistribution,
)
from leakgauge.domains.federated.neurons.relu_scores import (
    ClippedBasis,
    HingeBasis,
    ReluScore,
    best_relu_score,
)
from leakgauge.mechanisms import bitrand


def rng(seed=1):
    return np.random.default_rng(seed)


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
