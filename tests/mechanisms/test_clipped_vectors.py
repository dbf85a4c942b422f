"""Clipped vectors with Gaussian or Laplace noise: clipping, the worst vectors, and several reports."""

import numpy as np
import pytest
from scipy.stats import norm

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import clipped_gaussian, clipped_laplace
from leakgauge.theory import tradeoff

FPR = np.linspace(0, 1, 101)
GAUSSIAN = clipped_gaussian.Mechanism(sigma=3.0, delta=1e-5, clip=2.0)
LAPLACE = clipped_laplace.Mechanism(epsilon=1.5, clip=2.0)


def random_vectors(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=3.0, size=(n, 4))


@pytest.mark.parametrize(("mechanism", "order"), [(GAUSSIAN, 2), (LAPLACE, 1)])
def test_vectors_are_shortened_and_keep_their_direction(mechanism, order):
    vectors = np.concatenate([random_vectors(50, 1), np.full((1, 4), 0.01)])
    clipped = mechanism.clipped(vectors)
    lengths = np.linalg.norm(vectors, ord=order, axis=1)
    np.testing.assert_allclose(np.linalg.norm(clipped, ord=order, axis=1), np.minimum(lengths, 2.0))
    np.testing.assert_allclose(clipped * lengths[:, None], vectors * np.minimum(lengths, 2.0)[:, None])


def test_gaussian_curve_is_that_of_two_normal_distributions():
    low, high = np.array([5.0, 0.0]), np.array([-3.0, 4.0])
    mu = np.linalg.norm(np.array([2.0, 0.0]) - np.array([-1.2, 1.6])) / 3.0
    exact = norm.cdf(mu + norm.ppf(FPR[1:-1]))
    np.testing.assert_allclose(tradeoff.max_tpr(FPR[1:-1], GAUSSIAN.curve(low, high)), exact, atol=1e-3)


@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE])
def test_no_two_vectors_exceed_the_guarantee(mechanism):
    allowed = tradeoff.max_tpr(FPR, mechanism.guarantee)
    for low, high in zip(random_vectors(15, 2), random_vectors(15, 3), strict=True):
        assert (tradeoff.max_tpr(FPR, mechanism.curve(low, high)) <= allowed + 1e-9).all()
        assert mechanism.epsilon_between(low, high) <= mechanism.guarantee.epsilon * (1 + 1e-9)
    worst = np.array([2.0, 0.0]), np.array([-2.0, 0.0])
    assert mechanism.epsilon_between(*worst) == pytest.approx(mechanism.guarantee.epsilon)


def test_several_gaussian_reports_are_one_with_less_noise():
    fresh, memoised = (
        clipped_gaussian.Mechanism(sigma=3.0, delta=1e-5, clip=2.0, reports=4, memoised=same)
        for same in (False, True)
    )
    averaged = clipped_gaussian.Mechanism(sigma=1.5, delta=1e-5, clip=2.0)
    assert fresh.guarantee.epsilon == pytest.approx(averaged.guarantee.epsilon)
    assert memoised.guarantee.epsilon == pytest.approx(GAUSSIAN.guarantee.epsilon)
    values = random_vectors(20, 4)
    outputs = fresh.sample(values, np.random.default_rng(1))
    assert outputs.shape == (20, 4, 4)
    each = sum(GAUSSIAN.log_law(outputs[:, i], values) for i in range(4))
    np.testing.assert_allclose(fresh.log_law(outputs, values), each)
    again = memoised.sample(values, np.random.default_rng(1))
    np.testing.assert_allclose(memoised.log_law(again, values), GAUSSIAN.log_law(again[:, 0], values))
    assert np.isneginf(memoised.log_law(outputs, values)).all()


def test_several_laplace_reports_add_up():
    assert clipped_laplace.Mechanism(epsilon=1.5, reports=3).guarantee.epsilon == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("build", "values", "problem"),
    [
        (lambda: clipped_gaussian.Mechanism(epsilon=1.0, delta=0.0), [0.0], r"delta must be in \(0, 1\)"),
        (lambda: clipped_laplace.Mechanism(epsilon=1.0, clip=0.0), [0.0], "clip must be > 0"),
        (lambda: clipped_laplace.Mechanism(), [0.0], "neither epsilon nor scale"),
        (lambda: LAPLACE, 1.0, "takes vectors, got one number"),
        (lambda: LAPLACE, [np.inf], "finite numbers"),
    ],
)
def test_bad_input_is_one_line(build, values, problem):
    with pytest.raises(BadInput, match=problem):
        build().sample(np.array(values), np.random.default_rng(1))
