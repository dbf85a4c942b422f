import math

import mpmath
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import query_splitting

# Simulated elsewhere: answers, epsilon of each, success of the midpoint and of the likelihood.
SIMULATED = [
    (10, 1.0, 0.873, 0.916),
    (29, 0.33, 0.737, 0.802),
    (10, 0.3, 0.636, 0.675),
    (4, 2.5, 0.960, 0.971),
]


@pytest.mark.parametrize(("m", "epsilon", "midpoint", "likelihood"), SIMULATED)
def test_success_matches_simulation(m, epsilon, midpoint, likelihood):
    assert query_splitting.midpoint_laplace(m, epsilon) == pytest.approx(midpoint, abs=1.5e-3)
    low, high = query_splitting.optimum_laplace(m, epsilon)
    assert high - low < 1e-5
    assert low == pytest.approx(likelihood, abs=1.5e-3)


@pytest.mark.parametrize(("m", "epsilon"), [(4, 2.5), (10, 0.3), (29, 0.33)])
def test_midpoint_matches_characteristic_function_inversion(m, epsilon):
    mpmath.mp.dps = 25
    x = m * epsilon / 2
    integral = mpmath.quad(
        lambda t: mpmath.sin(t * x) / (t * (1 + t * t) ** m), [*mpmath.linspace(0, 8, 17), 40, mpmath.inf]
    )
    assert query_splitting.midpoint_laplace(m, epsilon) == pytest.approx(
        float(0.5 + integral / mpmath.pi), abs=1e-8
    )


def test_optimal_attack_on_two_answers_matches_quadrature():
    r = 0.8
    assert query_splitting.optimum_laplace(1, r)[0] == pytest.approx(1 - math.exp(-r / 2) / 2, abs=1e-6)

    # Two answers: total variation of the products of the two laws, on a fine grid cut at the kinks.
    ends = np.concatenate(
        [np.linspace(-30, 0, 1501), np.linspace(0, r, 401)[1:], np.linspace(r, 30, 1501)[1:]]
    )
    x, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    out, member = (np.exp(-np.abs(x - centre)) / 2 * width for centre in (0.0, r))
    apart = np.abs(np.outer(member, member) - np.outer(out, out)).sum() / 2
    assert query_splitting.optimum_laplace(2, r)[0] == pytest.approx((1 + apart) / 2, abs=1e-4)


@pytest.mark.parametrize(
    ("m", "rate", "shift"), [(1, 1.0, 1), (2, 0.7, 1), (5, 0.3, 2), (10, 1.0, 1), (4, 0.5, 3)]
)
def test_geometric_success_matches_direct_sum(m, rate, shift):
    places = np.arange(-400, 401)
    one = np.exp(-rate * np.abs(places)) * math.tanh(rate / 2)
    total = np.ones(1)
    for _ in range(m):
        total = np.convolve(total, one)
    sums = np.arange(total.size) - total.size // 2
    wrong = total[sums > m * shift / 2].sum() + total[sums == m * shift / 2].sum() / 2
    assert query_splitting.midpoint_geometric(m, rate, shift) == pytest.approx(1 - wrong, abs=1e-10)


def test_optimal_geometric_attack_matches_direct_sum():
    places = np.arange(-200, 201)
    out, member = (np.exp(-0.7 * np.abs(places - centre)) * math.tanh(0.35) for centre in (0, 1))
    apart = np.abs(np.outer(member, member) - np.outer(out, out)).sum() / 2
    assert query_splitting.optimum_geometric(2, 0.7)[1] == pytest.approx((1 + apart) / 2, abs=1e-9)


def test_no_rule_beats_the_optimal_attack():
    for m in (2, 7, 29):
        assert query_splitting.midpoint_laplace(m, 0.4) < query_splitting.optimum_laplace(m, 0.4)[1]
        assert (
            query_splitting.midpoint_geometric(m, 0.4) < query_splitting.optimum_geometric(m, 0.4)[1] + 1e-12
        )


def test_gaussian_answers_scale_with_square_root():
    assert query_splitting.midpoint_gaussian(16, 0.5) == pytest.approx(
        0.5 + math.erf(1 / math.sqrt(2)) / 2, abs=1e-12
    )


def test_value_of_half_bound_has_half_epsilon():
    ratio = query_splitting.laplace_ratio(1.0, value=50.0, bound=100.0)
    assert query_splitting.midpoint_laplace(10, ratio) == query_splitting.midpoint_laplace(10, 0.5)
    assert query_splitting.laplace_ratio(1.0, value=0.0, bound=3.0) == 0


@pytest.mark.parametrize(("epsilon", "bound"), [(0.0, 1.0), (math.nan, 1.0), (1.0, math.inf), (1.0, -1.0)])
def test_rejects_bad_numbers(epsilon, bound):
    with pytest.raises(BadInput, match="must be > 0 and finite"):
        query_splitting.laplace_ratio(epsilon, 1.0, bound)
    with pytest.raises(BadInput, match="whole number >= 1"):
        query_splitting.midpoint_geometric(0, 1.0)
