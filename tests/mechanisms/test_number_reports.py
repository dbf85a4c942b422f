"""Duchi's one bit and the piecewise mechanism against closed forms, enumeration and simulation."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import duchi, mechanism_class, piecewise
from leakgauge.theory import tradeoff

FPR = np.linspace(0, 1, 101)
VALUES = np.array([-1.0, -0.3, 0.0, 0.8, 1.0])


def cells(mechanism, value: float, edges: np.ndarray) -> np.ndarray:
    """The probability of each output of one value, or of each interval between edges of constant density."""
    if isinstance(mechanism, duchi.Mechanism):
        outputs = np.array([-mechanism.output, mechanism.output])
        return np.exp(mechanism.log_law(outputs[:, None], np.full((2, 1), value))).ravel()
    middles = (edges[1:] + edges[:-1]) / 2
    return np.exp(mechanism.log_law(middles[:, None], np.full((middles.size, 1), value))).ravel() * np.diff(
        edges
    )


def edges_of(epsilon: float) -> np.ndarray:
    """All places where the density of one of VALUES jumps, by the formulas of the paper."""
    c = (np.exp(epsilon / 2) + 1) / (np.exp(epsilon / 2) - 1)
    left = (c + 1) / 2 * VALUES - (c - 1) / 2
    return np.unique(np.round(np.concatenate([[-c, c], left, left + c - 1]), 12))


@pytest.mark.parametrize("kind", [duchi.Mechanism, piecewise.Mechanism])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_curves_between_all_values_match_enumeration(kind, epsilon):
    mechanism, edges = kind(epsilon=epsilon), edges_of(epsilon)
    laws = [cells(mechanism, value, edges) for value in VALUES]
    allowed = tradeoff.max_tpr(FPR, mechanism.guarantee)
    for i, j in product(range(VALUES.size), repeat=2):
        assert laws[i].sum() == pytest.approx(1, abs=1e-9)
        exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(laws[i], laws[j]))
        stated = tradeoff.max_tpr(FPR, mechanism.curve(VALUES[[i]], VALUES[[j]]))
        np.testing.assert_allclose(stated, exact, atol=2e-5)
        assert (stated >= exact - 1e-9).all()
        assert (exact <= allowed + 1e-9).all()
        ratios = np.abs(np.log(laws[i] / laws[j]))
        assert mechanism.epsilon_between(VALUES[[i]], VALUES[[j]]) == pytest.approx(ratios.max(), abs=1e-6)


@pytest.mark.parametrize("kind", [duchi.Mechanism, piecewise.Mechanism])
def test_rows_compose_over_their_features(kind):
    mechanism, edges = kind(epsilon=2.0, features=2), edges_of(1.0)
    low, high = np.array([-1.0, 0.8]), np.array([1.0, -0.3])
    one = kind(epsilon=1.0)
    joint = [np.outer(*(cells(one, value, edges) for value in row)).ravel() for row in (low, high)]
    exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(*joint))
    stated = tradeoff.max_tpr(FPR, mechanism.curve(low, high))
    np.testing.assert_allclose(stated, exact, atol=5e-4)
    assert (stated >= exact - 1e-9).all()
    assert mechanism.guarantee.epsilon == pytest.approx(2.0)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_variance_of_duchi_is_the_published_one(epsilon):
    """((e^epsilon + 1) / (e^epsilon - 1))^2 - v^2 (Wang et al. 2019, eq. 3)."""
    c = (np.exp(epsilon) + 1) / (np.exp(epsilon) - 1)
    np.testing.assert_allclose(
        duchi.Mechanism(epsilon=epsilon).variance(VALUES[:, None]).ravel(), c**2 - VALUES**2
    )


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_variance_of_piecewise_is_the_published_one(epsilon):
    """v^2 / (h - 1) + (h + 3) / (3 (h - 1)^2) with h = e^(epsilon / 2) (Wang et al. 2019, lemma 1)."""
    h = np.exp(epsilon / 2)
    published = VALUES**2 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    found = piecewise.Mechanism(epsilon=epsilon).variance(VALUES[:, None]).ravel()
    np.testing.assert_allclose(found, published, rtol=1e-9)


@pytest.mark.parametrize("kind", [duchi.Mechanism, piecewise.Mechanism])
@pytest.mark.parametrize("bound", [1.0, 3.0])
def test_reports_are_unbiased_with_the_stated_variance(kind, bound):
    mechanism, rng, n = kind(epsilon=1.0, bound=bound), np.random.default_rng(5), 100_000
    for value in bound * np.array([-1.0, 0.4]):
        outputs = mechanism.sample(np.full((n, 1), value), rng)
        variance = float(mechanism.variance(np.array([value]))[0])
        assert abs(outputs.mean() - value) < 5 * np.sqrt(variance / n)
        fourth = np.mean((outputs - value) ** 4)
        assert abs(np.var(outputs) - variance) < 6 * np.sqrt(fourth / n)


@pytest.mark.parametrize("epsilon", [0.01, 2.0, 20.0])
def test_piecewise_outputs_follow_their_density(epsilon):
    mechanism = piecewise.Mechanism(epsilon=epsilon, bound=2.0)
    outputs = mechanism.sample(np.full((20_000, 1), 1.2), np.random.default_rng(6)).ravel() / 2
    c, value = 1 / np.tanh(epsilon / 4), 0.6
    left = (c + 1) / 2 * value - (c - 1) / 2
    places, heights = [-c, left, left + c - 1, c], np.exp([-epsilon, 0, -epsilon])
    mass = heights * np.diff(places)
    below = np.concatenate([[0], np.cumsum(mass)]) / mass.sum()
    assert kstest(outputs, lambda x: np.interp(x, places, below)).pvalue > 1e-4
    law = mechanism.log_law(2 * outputs[:, None], np.full((outputs.size, 1), 1.2))
    assert np.isfinite(law).all()


def test_extreme_epsilons_are_stable():
    for epsilon in (1e-3, 0.01, 20.0, 60.0):
        for kind in (duchi.Mechanism, piecewise.Mechanism):
            mechanism = kind(epsilon=epsilon)
            outputs = mechanism.sample(np.linspace(-1, 1, 999)[:, None], np.random.default_rng(1))
            assert np.isfinite(mechanism.log_law(outputs, np.linspace(-1, 1, 999)[:, None])).all()
            assert np.isfinite(mechanism.variance(np.array([0.5]))).all()
            assert mechanism.guarantee.epsilon == pytest.approx(epsilon)


@pytest.mark.parametrize("name", ["duchi", "piecewise"])
def test_bad_input_is_one_line(name):
    mechanism, rng = mechanism_class(name)(epsilon=1.0, features=2), np.random.default_rng(1)
    for values, problem in (
        (np.zeros((4, 3)), "rows of 3 values, but the promise is to rows of 2"),
        (np.array([np.nan, 0.0]), "finite numbers"),
    ):
        with pytest.raises(BadInput, match=f"{name}: .*{problem}"):
            mechanism.sample(values, rng)
    with pytest.raises(BadInput, match="beyond \\+-1 and would be cut off"):
        mechanism.require_range(np.full((10, 2), 1.5))
    with pytest.raises(BadInput, match="bound must be > 0"):
        mechanism_class(name)(epsilon=1.0, bound=0.0)


@pytest.mark.parametrize("kind", [duchi.Mechanism, piecewise.Mechanism])
def test_memoised_reports_reveal_one(kind):
    values = np.tile([0.3, -0.9], (40, 1))
    made = {same: kind(epsilon=1.0, features=2, reports=4, memoised=same) for same in (True, False)}
    assert made[True].guarantee.epsilon == pytest.approx(1.0)
    assert made[False].guarantee.epsilon == pytest.approx(4.0)
    outputs = made[True].sample(values, np.random.default_rng(1))
    assert outputs.shape == (40, 2, 4)
    assert (outputs == outputs[..., :1]).all()
    one = kind(epsilon=1.0, features=2)
    np.testing.assert_allclose(made[True].log_law(outputs, values), one.log_law(outputs[..., 0], values))
