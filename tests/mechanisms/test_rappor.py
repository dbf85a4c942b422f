"""Both stages of RAPPOR against all outputs, all permanent bits, and the formulas of Erlingsson et al."""

from itertools import product

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import rappor
from leakgauge.theory import tradeoff

FPR = np.linspace(0, 1, 201)


def law_by_hand(value, categories, reports, f, p, q):
    """The probability of every output of a value, summed over all permanent responses."""
    law = {}
    for permanent in product((0, 1), repeat=categories):
        chance = np.prod([1 - f / 2 if bit == (i == value) else f / 2 for i, bit in enumerate(permanent)])
        for bits in product((0, 1), repeat=reports * categories):
            output = np.reshape(bits, (reports, categories))
            ones = np.where(permanent, q, p)
            law[bits] = law.get(bits, 0.0) + chance * np.prod(np.where(output, ones, 1 - ones))
    return law


@pytest.mark.parametrize("reports", [1, 2, 3])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.75), (0.1, 0.6), (0.0, 1.0)])
def test_distribution_epsilon_and_curve_are_those_of_all_outputs(reports, p, q):
    epsilon, categories = 2.0, 3
    mechanism = rappor.Mechanism(epsilon=epsilon, categories=categories, reports=reports, p=p, q=q)
    f = 2 / (np.exp(epsilon / 2) + 1)
    by_hand = [law_by_hand(value, categories, reports, f, p, q) for value in range(2)]
    shape = (-1, reports, categories) if reports > 1 else (-1, categories)
    outputs = np.array(list(by_hand[0]), float).reshape(shape)
    exact = [np.array(list(law.values())) for law in by_hand]
    for value in range(2):
        found = np.exp(mechanism.log_law(outputs, np.full(len(outputs), float(value))))
        np.testing.assert_allclose(found, exact[value], atol=1e-15)
    possible = exact[0] > 0
    largest = np.log(exact[0][possible] / exact[1][possible]).max()
    assert mechanism.guarantee.epsilon == pytest.approx(largest, rel=1e-9)
    np.testing.assert_allclose(
        tradeoff.max_tpr(FPR, mechanism.curve(np.array(0.0), np.array(1.0))),
        tradeoff.max_tpr(FPR, tradeoff.exact_curve(*exact)),
        atol=1e-9,
    )


def test_epsilons_are_the_published_ones():
    """Theorem 1 and section 3.2 of Erlingsson et al. 2014, with one hash function."""
    f, p, q = 0.5, 0.5, 0.75
    permanent = 2 * np.log((1 - f / 2) / (f / 2))
    true, other = ((f * (p + q) / 2 + (1 - f) * chance) for chance in (q, p))
    one = np.log(true * (1 - other) / (other * (1 - true)))
    mechanism = rappor.Mechanism(epsilon=permanent, categories=5, p=p, q=q)
    assert mechanism.guarantee.epsilon == pytest.approx(one)
    many = rappor.Mechanism(epsilon=permanent, categories=5, p=p, q=q, reports=2_000)
    assert many.guarantee.epsilon == pytest.approx(permanent)
    assert (mechanism.support_true, mechanism.support_other) == pytest.approx((true, other))


def test_reports_of_a_value_share_the_permanent_response():
    mechanism = rappor.Mechanism(epsilon=1.0, categories=3, reports=400, p=0.1, q=0.9)
    outputs = mechanism.sample(np.full(200, 1.0), np.random.default_rng(1))
    assert outputs.shape == (200, 400, 3)
    shares = outputs.mean(axis=1)
    assert ((np.abs(shares - 0.1) < 0.08) | (np.abs(shares - 0.9) < 0.08)).all()
    kept = (shares[:, 1] > 0.5).mean()
    assert abs(kept - mechanism.kept) < 4 * np.sqrt(kept * (1 - kept) / 200)


def test_frequencies_are_unbiased():
    mechanism = rappor.Mechanism(epsilon=3.0, categories=4)
    values = np.random.default_rng(2).choice(4, size=40_000, p=[0.5, 0.3, 0.2, 0.0]).astype(float)
    found = mechanism.frequencies(mechanism.sample(values, np.random.default_rng(3)))
    error = np.sqrt(mechanism.variance / len(values))
    assert (np.abs(found - [0.5, 0.3, 0.2, 0.0]) < 5 * error + 0.01).all()


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"p": 0.8}, "p < q"),
        ({"q": 1.5}, "probabilities"),
        ({"memoised": True}, "leave it out"),
        ({"categories": 1}, "categories must be"),
    ],
)
def test_bad_parameters_are_refused(parameters, problem):
    with pytest.raises(BadInput, match=problem):
        rappor.Mechanism(**{"epsilon": 1.0, "categories": 3} | parameters)
