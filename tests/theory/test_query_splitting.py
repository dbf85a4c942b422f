import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
from leakgauge.theory import query_splitting
from leakgauge.theory.query_splitting import SQRT_2, SquareSums
from leakgauge.theory.threshold_attacks import laplace_sum_above
from night import others_at_night

# (answers, epsilon of each): simulated elsewhere with Laplace noise, two-sided textbook, two-sided as printed
# and one-sided textbook.
SIMULATED_T_TEST = [
    (10, 1.0, 0.766, 0.777, 0.825),
    (29, 0.33, 0.600, 0.604, 0.655),
    (10, 0.3, 0.532, 0.533, 0.564),
]


@pytest.mark.parametrize(("m", "epsilon", "textbook", "paper", "one_sided"), SIMULATED_T_TEST)
def test_laplace_success_matches_simulation(m, epsilon, textbook, paper, one_sided):
    assert query_splitting.success_laplace(m, epsilon) == pytest.approx(textbook, abs=0.0025)
    assert query_splitting.success_laplace(m, epsilon, form="paper") == pytest.approx(paper, abs=0.0025)
    assert query_splitting.success_laplace(m, epsilon, sides=1) == pytest.approx(one_sided, abs=0.0025)


def test_four_strong_answers_match_simulation():
    assert query_splitting.success_laplace(4, 2.5) == pytest.approx(0.843, abs=0.0015)


@pytest.mark.parametrize(
    ("m", "paper_normal", "textbook", "paper"),
    [(4, 0.070, 0.032, 0.048), (10, 0.060, 0.042, 0.052), (29, 0.054, 0.048, 0.052)],
)
def test_sizes_match_known_values(m, paper_normal, textbook, paper):
    assert query_splitting.size_normal(m) == pytest.approx(0.05, abs=1e-12)
    assert query_splitting.size_normal(m, form="paper") == pytest.approx(paper_normal, abs=6e-4)
    assert query_splitting.size_laplace(m) == pytest.approx(textbook, abs=1e-3)
    assert query_splitting.size_laplace(m, form="paper") == pytest.approx(paper, abs=1.2e-3)


@pytest.mark.parametrize(("m", "epsilon"), [(10, 1.0), (29, 0.33), (4, 2.5), (2, 0.1)])
def test_theorem_5_matches_quadrature(m, epsilon):
    mpmath.mp.dps = 20

    def density(t):
        return (
            mpmath.gamma(m / 2)
            / (mpmath.sqrt((m - 1) * mpmath.pi) * mpmath.gamma((m - 1) / 2))
            * (1 + t * t / (m - 1)) ** (-m / 2)
        )

    for misprint, freedom in ((False, m - 1), (True, m)):
        critical, shift = stats.t.ppf(0.975, freedom), math.sqrt(m) * epsilon / SQRT_2
        integral = mpmath.quad(density, np.linspace(-critical - shift, critical - shift, 9).tolist())
        found = query_splitting.success_as_printed(m, epsilon / SQRT_2, misprint=misprint)
        assert found == pytest.approx(float((1.95 - integral) / 2), abs=1e-9)


def test_both_theories_underestimate_ten_answers():
    assert query_splitting.success_as_printed(10, 1 / SQRT_2) == pytest.approx(0.720, abs=5e-4)
    assert query_splitting.success_normal(10, 1 / SQRT_2) == pytest.approx(0.732, abs=5e-4)
    assert query_splitting.success_laplace(10, 1.0) > query_splitting.success_normal(10, 1 / SQRT_2) + 0.03


@pytest.mark.parametrize(("m", "ratio"), [(10, 0.7), (29, 0.23), (4, 1.8)])
def test_normal_power_matches_integral(m, ratio):
    mpmath.mp.dps = 20
    nu, shift, critical = m - 1, math.sqrt(m) * ratio, stats.t.ppf(0.975, m - 1)

    def rejected(y):
        """Given S = y / sqrt(nu) standard deviations."""
        log_chi = (
            (1 - nu / 2) * mpmath.log(2) - mpmath.loggamma(nu / 2) + (nu - 1) * mpmath.log(y) - y * y / 2
        )
        limit = critical * y / mpmath.sqrt(nu)
        return mpmath.exp(log_chi) * (mpmath.ncdf(shift - limit) + mpmath.ncdf(-shift - limit))

    power = mpmath.quad(rejected, np.linspace(1e-12, math.sqrt(nu) + 9, 13).tolist())
    assert query_splitting.success_normal(m, ratio) == pytest.approx(float((0.95 + power) / 2), abs=1e-8)


@pytest.mark.parametrize("form", ["textbook", "paper"])
@pytest.mark.parametrize("sides", [1, 2])
def test_normal_success_matches_simulation(form, sides):
    rng, m, ratio, n = np.random.default_rng(1), 6, 0.6, 100_000
    answers = rng.normal(size=(2, n, m)) + np.array([0.0, ratio])[:, None, None]
    deviation = answers.std(axis=2, ddof=1 if form == "textbook" else 0)
    t = answers.mean(axis=2) / deviation * math.sqrt(m)
    critical = stats.t.ppf(1 - 0.05 / sides, m - 1)
    says = (t if sides == 1 else np.abs(t)) > critical
    simulated = (1 - says[0].mean() + says[1].mean()) / 2
    assert query_splitting.success_normal(m, ratio, form=form, sides=sides) == pytest.approx(
        simulated, abs=0.006
    )


def test_zero_shift_has_success_one_half():
    assert query_splitting.success_laplace(10, [0.0, 0.0]).tolist() == pytest.approx([0.5, 0.5], abs=1e-12)
    assert query_splitting.success_normal([2, 50], 0.0) == pytest.approx(0.5, abs=1e-9)
    assert query_splitting.success_as_printed([2, 50], 0.0) == pytest.approx(0.5, abs=1e-9)


def test_many_laplace_answers_approach_normal():
    assert query_splitting.success_laplace(100, 0.2) == pytest.approx(
        query_splitting.success_normal(100, 0.2 / SQRT_2), abs=0.005
    )


def test_t_test_rejects_bad_numbers():
    with pytest.raises(BadInput, match="whole number >= 2"):
        query_splitting.success_as_printed(1, 0.5)
    with pytest.raises(BadInput, match="finite, got nan"):
        query_splitting.success_normal(10, math.nan)
    with pytest.raises(BadInput, match="level must be in"):
        query_splitting.success_laplace(10, 0.5, level=math.nan)
    with pytest.raises(BadInput, match="known: textbook, paper"):
        query_splitting.success_normal(10, 0.5, form="book")


@pytest.fixture(scope="module", params=[4, 10, 29])
def law(request):
    return SquareSums.of(request.param)


def masses(law):
    return np.diff(law.below, axis=1, prepend=0.0)


def test_sum_matches_known_distribution(law):
    rows = law.below[:, -1]
    step = law.sums[1]
    assert rows.sum() == pytest.approx(1, abs=1e-6)
    for x in (0.5, 2.0, 6.0):
        i = round(x / step)
        half_open = rows[law.sums > (i + 0.25) * step].sum()
        expected = laplace_sum_above((i + 0.5) * step / law.spread, law.m)
        assert half_open == pytest.approx(expected, abs=2e-4)


def test_squares_match_known_moments(law):
    table, q = masses(law), law.step * np.arange(law.below.shape[1])
    per_variable = 2 * law.spread**2 - 145 * math.exp(-11)  # E x^2 = 2, and its part beyond 11 is left out
    assert (table.sum(axis=0) @ q) / law.m == pytest.approx(per_variable, rel=2e-4)
    assert law.sums @ table.sum(axis=1) == pytest.approx(0, abs=1e-6)
    assert law.sums**2 @ table.sum(axis=1) / law.m == pytest.approx(per_variable, rel=2e-4)


def test_zero_critical_value_rejects_all_or_half(law):
    not_zero = 1 - law.below[0, -1]  # a sum of exactly zero is rejected by no test
    assert law.rejected(0.0, 1e-9, both_sides=True) == pytest.approx(not_zero, abs=1e-5)
    assert law.rejected(0.0, 1e-9, both_sides=False) == pytest.approx(not_zero / 2, abs=1e-5)


def test_large_shift_is_always_rejected(law):
    assert law.rejected(40.0, 2.0, both_sides=False) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("m", [3, 101, 4.5, math.nan])
def test_rejects_unsupported_number_of_variables(m):
    with pytest.raises(BadInput, match="whole number in"):
        SquareSums.of(m)


@pytest.mark.parametrize("m", others_at_night([4, 5, 10, 29, 60], 4, 29))
def test_rejection_rate_matches_simulation(m):
    rng, n, shifts = np.random.default_rng(m), 1_500_000, (0.0, 0.4, 2.0)
    law = SquareSums.of(m)
    counts = np.zeros((3, 2))
    for _ in range(10):
        noise = rng.laplace(size=(n // 10, m))
        means, errors = noise.mean(axis=1), noise.std(axis=1, ddof=1) / math.sqrt(m)
        for i, shift in enumerate(shifts):
            t = (means + shift) / errors
            counts[i] += [(np.abs(t) > 2.1).sum(), (t > 2.1).sum()]
    for shift, shares in zip(shifts, counts / n):
        for both_sides, share in zip((True, False), shares):
            found = law.rejected(shift, 2.1, both_sides=both_sides)
            assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / n) + 4e-4


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
