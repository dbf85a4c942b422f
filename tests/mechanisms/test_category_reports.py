"""Reports of categories against all outputs, simulation, and the published variances of Wang et al. 2017."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import local_hashing, mechanism_class, randomized_response, unary_encoding
from leakgauge.mechanisms.unary_encoding import UnaryVariant
from leakgauge.theory import tradeoff

SYMMETRIC, OPTIMIZED = UnaryVariant.SYMMETRIC, UnaryVariant.OPTIMIZED
FPR = np.linspace(0, 1, 201)


def small(epsilon: float) -> dict:
    """One of each, small enough to enumerate all outputs of one value."""
    return {
        "randomized_response": randomized_response.Mechanism(epsilon=epsilon, categories=4),
        "symmetric": unary_encoding.Mechanism(epsilon=epsilon, categories=4, variant=SYMMETRIC),
        "optimized": unary_encoding.Mechanism(epsilon=epsilon, categories=4, variant=OPTIMIZED),
        "blh": local_hashing.Mechanism(epsilon=epsilon, categories=4, buckets=2, prime=7),
        "olh": local_hashing.Mechanism(epsilon=epsilon, categories=4, buckets=3, prime=11),
    }


def all_outputs(mechanism) -> np.ndarray:
    """Every output of one value; written without regard to the mechanism's own code."""
    k = mechanism.categories
    if isinstance(mechanism, randomized_response.Mechanism):
        return np.arange(float(k))
    if isinstance(mechanism, unary_encoding.Mechanism):
        return np.array(list(product([0.0, 1.0], repeat=k)))
    prime, buckets = mechanism.prime, mechanism.n_buckets
    return np.array(list(product(range(1, prime), range(prime), range(buckets))), dtype=float)


def laws(mechanism) -> np.ndarray:
    """The probability of every output (columns) given every category (rows)."""
    outputs = all_outputs(mechanism)
    return np.exp(
        [mechanism.log_law(outputs, np.full(len(outputs), float(v))) for v in range(mechanism.categories)]
    )


@pytest.mark.parametrize("name", small(1.0))
@pytest.mark.parametrize("epsilon", [0.01, 1.3, 20.0])
def test_epsilon_and_curve_are_those_of_all_outputs(name, epsilon):
    mechanism = small(epsilon)[name]
    law = laws(mechanism)
    np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-12)
    with np.errstate(divide="ignore"):
        largest = np.log(law[:, None] / law[None]).max()
    assert largest == pytest.approx(epsilon, rel=1e-9)
    assert mechanism.guarantee.epsilon == pytest.approx(largest, rel=1e-9)
    allowed = tradeoff.max_tpr(FPR, mechanism.guarantee)
    for low, high in product(range(4), repeat=2):
        exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(law[low], law[high]))
        stated = tradeoff.max_tpr(FPR, mechanism.curve(np.array(float(low)), np.array(float(high))))
        np.testing.assert_allclose(stated, exact, atol=1e-9)
        assert (exact <= allowed + 1e-9).all()


@pytest.mark.parametrize("name", small(1.0))
def test_support_and_variance_are_those_of_all_outputs(name):
    mechanism = small(1.0)[name]
    support = laws(mechanism) @ mechanism.supported(all_outputs(mechanism))  # true x supported
    others = support[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(np.diag(support), mechanism.support_true, atol=1e-12)
    np.testing.assert_allclose(others, mechanism.support_other, atol=1e-12)


def published_variance(name: str, epsilon: float, k: int) -> float:
    """Times the number of reports, of a rare category (Wang et al. 2017, table 1)."""
    e = np.exp(epsilon)
    return {
        "randomized_response": (e + k - 2) / (e - 1) ** 2,
        "symmetric": np.exp(epsilon / 2) / (np.exp(epsilon / 2) - 1) ** 2,
        "optimized": 4 * e / (e - 1) ** 2,
        "blh": (e + 1) ** 2 / (e - 1) ** 2,
        "olh": 4 * e / (e - 1) ** 2,
    }[name]


@pytest.mark.parametrize("epsilon", [0.01, np.log(3), np.log(9), 5.0])
@pytest.mark.parametrize("name", ["randomized_response", "symmetric", "optimized", "blh", "olh"])
def test_variances_are_the_published_ones(name, epsilon):
    k = 1_000_000
    made = {
        "randomized_response": randomized_response.Mechanism(epsilon=epsilon, categories=k),
        "symmetric": unary_encoding.Mechanism(epsilon=epsilon, categories=k, variant=SYMMETRIC),
        "optimized": unary_encoding.Mechanism(epsilon=epsilon, categories=k),
        "blh": local_hashing.Mechanism(epsilon=epsilon, categories=k, buckets=2),
        "olh": local_hashing.Mechanism(epsilon=epsilon, categories=k),
    }[name]
    # OLH rounds the number of buckets, where the published formula has e^epsilon + 1 of them.
    slack = 1e-6 if name != "olh" or round(np.exp(epsilon), 9) % 1 == 0 else 0.01
    assert made.variance == pytest.approx(published_variance(name, epsilon, k), rel=slack)


@pytest.mark.parametrize("name", ["randomized_response", "symmetric", "optimized", "blh", "olh"])
def test_frequencies_are_unbiased_with_the_stated_variance(name):
    k, n, repeats = 8, 500, 400
    made = {
        "randomized_response": randomized_response.Mechanism(epsilon=1.5, categories=k),
        "symmetric": unary_encoding.Mechanism(epsilon=1.5, categories=k, variant=SYMMETRIC),
        "optimized": unary_encoding.Mechanism(epsilon=1.5, categories=k),
        "blh": local_hashing.Mechanism(epsilon=1.5, categories=k, buckets=2),
        "olh": local_hashing.Mechanism(epsilon=1.5, categories=k),
    }[name]
    rng, values = np.random.default_rng(3), np.repeat([0.0, 1.0], [n // 4, n - n // 4])
    found = np.array([made.frequencies(made.report(values, rng)) for _ in range(repeats)])
    spread = np.sqrt(made.variance / n / repeats)
    truth = np.array([0.25, 0.75] + [0.0] * (k - 2))
    assert np.abs(found.mean(axis=0) - truth).max() < 6 * 1.5 * spread
    # Of 6 x 400 estimates of absent categories, which are nearly independent; 5 standard errors.
    seen = found[:, 2:].var(ddof=1)
    assert seen == pytest.approx(made.variance / n, rel=5 * np.sqrt(2 / (2 * repeats)))


def test_collisions_are_counted_over_all_hash_functions():
    for prime, buckets in ((7, 2), (7, 3), (11, 4), (13, 13)):
        mechanism = local_hashing.Mechanism(epsilon=1.0, categories=5, buckets=buckets, prime=prime)
        functions = list(product(range(1, prime), range(prime)))
        for v, w in ((0, 1), (1, 4), (2, 3)):
            same = [(a * v + b) % prime % buckets == (a * w + b) % prime % buckets for a, b in functions]
            assert np.mean(same) == pytest.approx(mechanism.collision, abs=1e-12)


def test_large_hash_functions_are_computed_without_overflow():
    mechanism = local_hashing.Mechanism(epsilon=20.0, categories=2**31 - 1, buckets=2)
    values = np.full(2_000, 2.0**31 - 2)
    outputs = mechanism.sample(values, np.random.default_rng(1))
    prime = mechanism.prime
    for (a, b, bucket), value in zip(outputs.astype(int).tolist(), values.astype(int).tolist(), strict=True):
        assert (a * value + b) % prime % mechanism.n_buckets == bucket  # any lie has a chance of 4e-6
    assert mechanism.guarantee.epsilon == pytest.approx(20.0, rel=1e-12)


def test_optimal_number_of_buckets_has_the_least_variance():
    variances = {
        g: local_hashing.Mechanism(epsilon=np.log(7), categories=100, buckets=g).variance
        for g in range(2, 20)
    }
    best = local_hashing.Mechanism(epsilon=np.log(7), categories=100).n_buckets
    assert best == min(variances, key=variances.get) == 8


@pytest.mark.parametrize("name", small(1.0))
def test_several_reports_add_up_unless_memoised(name):
    one = small(0.7)[name]
    fresh, memoised = (replace(one, reports=2, memoised=same) for same in (False, True))
    law = laws(one)
    joint = [np.outer(law[v], law[v]).ravel() for v in (0, 1)]
    exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(*joint))
    low, high = np.array(0.0), np.array(1.0)
    np.testing.assert_allclose(tradeoff.max_tpr(FPR, fresh.curve(low, high)), exact, atol=1e-9)
    assert fresh.guarantee.epsilon == pytest.approx(1.4)
    assert memoised.guarantee.epsilon == pytest.approx(0.7)
    np.testing.assert_allclose(
        tradeoff.max_tpr(FPR, memoised.curve(low, high)), tradeoff.max_tpr(FPR, one.curve(low, high))
    )


@pytest.mark.parametrize("name", small(1.0))
def test_reports_of_one_value_have_the_stated_distribution(name):
    one = small(0.7)[name]
    values = np.tile([1.0, 2.0], (50, 1))
    fresh = replace(one, reports=3)
    outputs = fresh.sample(values, np.random.default_rng(2))
    assert outputs.shape[:3] == (50, 2, 3)
    each = sum(one.log_law(outputs[:, :, i], values) for i in range(3))
    np.testing.assert_allclose(fresh.log_law(outputs, values), each)
    memoised = replace(one, reports=3, memoised=True)
    outputs = memoised.sample(values, np.random.default_rng(2))
    assert (outputs == outputs[:, :, :1]).all()
    np.testing.assert_allclose(memoised.log_law(outputs, values), one.log_law(outputs[:, :, 0], values))
    mixed = fresh.sample(values, np.random.default_rng(2))
    differ = (mixed != mixed[:, :, :1]).reshape(50, 2, -1).any(axis=-1)
    assert differ.any()
    assert np.isneginf(memoised.log_law(mixed, values)[differ]).all()


@pytest.mark.parametrize("name", ["unary_encoding", "local_hashing", "randomized_response"])
@pytest.mark.parametrize(
    ("parameters", "value", "problem"),
    [
        ({"categories": 1}, 0.0, "categories must be a whole number >= 2, got 1"),
        ({"categories": 2.5}, 0.0, "categories must be a whole number >= 2, got 2.5"),
        ({"categories": 2**40}, 0.0, "categories must be at most"),
        ({"categories": 3}, 3.0, "whole numbers from 0 to 2, got 3.0"),
        ({"categories": 3}, -1.0, "whole numbers from 0 to 2, got -1.0"),
        ({"categories": 3}, np.nan, "whole numbers from 0 to 2, got nan"),
        ({"categories": 3, "reports": 0}, 0.0, "reports must be a whole number >= 1, got 0"),
    ],
)
def test_bad_input_is_one_line(name, parameters, value, problem):
    with pytest.raises(BadInput, match=problem) as caught:
        mechanism_class(name)(epsilon=1.0, **parameters).sample(np.array([value]), np.random.default_rng(1))
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"buckets": 1}, "buckets must be a whole number >= 2"),
        ({"prime": 9}, "must be a prime number"),
        ({"prime": 5}, "must be at least categories = 10"),
    ],
)
def test_hash_functions_are_checked(parameters, problem):
    with pytest.raises(BadInput, match=problem):
        local_hashing.Mechanism(epsilon=1.0, categories=10, **parameters)


def test_impossible_outputs_have_no_probability():
    hashing = local_hashing.Mechanism(epsilon=1.0, categories=4, buckets=2, prime=7)
    wrong = np.array([[0.0, 0, 0], [7, 0, 0], [1, 7, 0], [1, 0, 2], [1, 0.5, 0]])
    assert np.isneginf(hashing.log_law(wrong, np.zeros(5))).all()
    bits = unary_encoding.Mechanism(epsilon=1.0, categories=2)
    assert np.isneginf(bits.log_law(np.array([[0.0, 2.0], [0.5, 1.0]]), np.zeros(2))).all()
    for mechanism in (hashing, bits):
        with pytest.raises(BadInput, match="got an array of shape"):
            mechanism.log_law(np.zeros((2, 7)), np.zeros(2))
