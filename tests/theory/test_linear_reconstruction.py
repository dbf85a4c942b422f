"""Least squares for secret bits: against normal equations, brute force and simulation."""

import math

import numpy as np
import pytest

from leakgauge.theory.linear_reconstruction import least_squares


def rng(*key):
    return np.random.default_rng([16, *key])


def design_of(n_answers, n_bits, *key):
    return (rng(n_answers, n_bits, *key).random((n_answers, n_bits)) < 0.5).astype(float)


def simulated(design, noise, n_rounds, *key):
    """How often each bit is recovered by a solver that shares nothing with ours."""
    source = rng(9, *key)
    bits = source.random((n_rounds, design.shape[1])) < 0.5
    answers = bits @ design.T + noise(source, (n_rounds, len(design)))
    found = np.linalg.lstsq(design, (answers - design.sum(axis=1) / 2).T, rcond=None)[0].T
    return ((found >= 0) == bits).mean(axis=0)


def gaussian(sigma):
    return lambda source, shape: source.normal(0.0, sigma, shape)


def laplace(scale):
    return lambda source, shape: source.laplace(0.0, scale, shape)


def test_weights_and_variances_are_those_of_the_normal_equations():
    design = design_of(40, 6) * [1, 2, -1, 0.5, 3, 1]
    found = least_squares(design, 0.7)
    inverse = np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(found.weights, inverse @ design.T, atol=1e-12)
    np.testing.assert_allclose(found.variances, 0.49 * np.diag(inverse))
    np.testing.assert_allclose(found.gains, 1.0)


@pytest.mark.parametrize("m", [1, 10, 100])
def test_single_bit_is_the_mean_of_its_answers(m):
    """Recovered where a normal variable of deviation sigma / sqrt m is below one half."""
    recovery = least_squares(np.ones((m, 1)), 2.0).recovery
    assert recovery[0] == pytest.approx(0.5 + math.erf(math.sqrt(m) / 4 / math.sqrt(2)) / 2)


@pytest.mark.parametrize(("n_answers", "sigma"), [(10, 0.3), (30, 1.0), (80, 1.0), (80, 4.0)])
def test_gaussian_noise_is_exact(n_answers, sigma):
    design, n_rounds = design_of(n_answers, 8), 40_000
    expected = least_squares(design, sigma).recovery
    error = np.sqrt(expected * (1 - expected) / n_rounds)
    assert (
        abs(simulated(design, gaussian(sigma), n_rounds, n_answers) - expected) < 4.5 * error + 1e-4
    ).all()


def test_laplace_noise_approaches_the_normal_limit():
    """Of the same variance; the difference falls with the number of questions."""
    differences = []
    for n_answers, scale in ((20, 0.7), (80, 1.7), (600, 5.0)):
        design = design_of(n_answers, 8)
        recovery = least_squares(design, math.sqrt(2) * scale).recovery
        found = simulated(design, laplace(scale), 40_000, n_answers)
        differences.append(abs(found.mean() - recovery.mean()))
    assert differences[0] > differences[-1]
    assert differences[0] < 0.02
    assert differences[-1] < 0.003


def test_few_questions_leave_other_bits_as_further_noise():
    design = design_of(12, 30)
    recovery = least_squares(design, 0.5).recovery
    assert 0.5 < recovery.mean() < 0.8
    assert simulated(design, gaussian(0.5), 20_000).mean() == pytest.approx(recovery.mean(), abs=0.01)


@pytest.mark.parametrize("n_answers", [10, 24, 60, 300])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 8.0])
def test_prior_gives_the_best_linear_estimate(n_answers, sigma):
    """The closed form of ridge regression; it recovers what is stated, and no less than without a prior."""
    design, n_rounds = design_of(n_answers, 24), 4_000
    found = least_squares(design, sigma, prior_variance=0.25)
    ridge = np.linalg.solve(design.T @ design + 4 * sigma**2 * np.eye(24), design.T)
    np.testing.assert_allclose(found.weights, ridge, atol=1e-10)
    assert (found.recovery >= least_squares(design, sigma).recovery - 1e-12).all()
    source = rng(10, n_answers)
    bits = source.random((n_rounds, 24)) < 0.5
    answers = bits @ design.T + source.normal(0.0, sigma, (n_rounds, n_answers))
    right = (((answers - design.sum(axis=1) / 2) @ ridge.T >= 0) == bits).mean(axis=1)
    error = right.std() / np.sqrt(n_rounds)
    assert abs(right.mean() - found.recovery.mean()) < 4 * error + 0.002


def test_bit_without_answer_is_a_coin_toss():
    design = np.array([[1.0, 0.0], [1.0, 0.0]])
    found = least_squares(design, 1.0)
    assert found.recovery[1] == 0.5
    assert found.log_odds_factors[1] == 0.0
    assert found.recovery[0] > 0.5


def test_log_odds_are_those_of_normal_estimates():
    """log N(e; 1, sd) - log N(e; 0, sd) = (e - 1/2) / sd^2."""
    found = least_squares(design_of(50, 4), 1.5)
    np.testing.assert_allclose(found.log_odds_factors, 1 / found.variances)


def test_recovery_falls_with_noise_and_grows_with_questions():
    by_noise = [least_squares(design_of(100, 20), sigma).recovery.mean() for sigma in (0.5, 1, 2, 4, 8)]
    assert by_noise == sorted(by_noise, reverse=True)
    by_questions = [least_squares(design_of(n, 20), 2.0).recovery.mean() for n in (10, 40, 100, 400)]
    assert by_questions == sorted(by_questions)
