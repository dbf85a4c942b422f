from itertools import product

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.randomized_response import Mechanism
from leakgauge.theory import tradeoff


def law_of(mechanism: Mechanism, value: float) -> np.ndarray:
    outputs = np.arange(float(mechanism.categories))
    return np.exp(mechanism.log_law(outputs, np.full(mechanism.categories, value)))


@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_distribution_has_odds_of_exp_epsilon(epsilon, categories):
    mechanism = Mechanism(epsilon=epsilon, categories=categories)
    law = law_of(mechanism, 1.0)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(law[1] / np.delete(law, 1), np.exp(epsilon))


@pytest.mark.parametrize("categories", [2, 3, 10])
def test_guarantee_is_largest_log_ratio(categories):
    mechanism = Mechanism(epsilon=1.3, categories=categories)
    laws = np.array([law_of(mechanism, float(v)) for v in range(categories)])
    assert np.log(laws[:, None] / laws[None]).max() == pytest.approx(mechanism.guarantee.epsilon, rel=1e-12)


@pytest.mark.parametrize("categories", [2, 4])
def test_curves_match_enumeration(categories):
    mechanism, fpr = Mechanism(epsilon=0.8, categories=categories), np.linspace(0, 1, 201)
    low, high = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])
    outputs = np.array(list(product(range(categories), repeat=3)), dtype=float)
    laws = [
        np.exp(mechanism.log_law(outputs, np.tile(v, (len(outputs), 1))).sum(axis=1)) for v in (low, high)
    ]
    exact = tradeoff.max_tpr(fpr, tradeoff.exact_curve(*laws))
    np.testing.assert_allclose(tradeoff.max_tpr(fpr, mechanism.curve(low, high)), exact, atol=1e-12)
    one = tradeoff.exact_curve(law_of(mechanism, 0.0), law_of(mechanism, 1.0))
    allowed = tradeoff.max_tpr(fpr, mechanism.guarantee)
    np.testing.assert_allclose(allowed, tradeoff.max_tpr(fpr, one), atol=1e-12)


def test_wrong_answers_are_equally_likely():
    mechanism = Mechanism(epsilon=0.5, categories=4)
    outputs = mechanism.sample(np.full(200_000, 2.0), np.random.default_rng(1))
    shares = np.bincount(outputs.astype(int), minlength=4) / outputs.size
    np.testing.assert_allclose(shares, law_of(mechanism, 2.0), atol=5e-3)


def test_unknown_category_is_impossible():
    law = Mechanism(epsilon=1.0).log_law(np.array([-1.0, 0.5, 2.0]), np.zeros(3))
    assert law.tolist() == [-np.inf] * 3


@pytest.mark.parametrize("value", [-1.0, 0.5, 2.0, np.nan])
def test_rejects_values_that_are_no_categories(value):
    mechanism = Mechanism(epsilon=1.0)
    for call in (
        lambda: mechanism.sample(np.array([value]), np.random.default_rng(1)),
        lambda: mechanism.log_law(np.zeros(1), np.array([value])),
        lambda: mechanism.curve(np.zeros(1), np.array([value])),
    ):
        with pytest.raises(BadInput, match="from 0 to 1"):
            call()


@pytest.mark.parametrize("categories", [1, 0, 2.5, np.nan])
def test_rejects_fewer_than_two_categories(categories):
    with pytest.raises(BadInput, match="categories must be a whole number >= 2"):
        Mechanism(epsilon=1.0, categories=categories)
