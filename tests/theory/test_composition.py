from itertools import product

import mpmath
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Unit
from leakgauge.theory import composition, gdp, tradeoff

# k, accuracy for (0.5, 0), accuracy for (0.5, 1/3998): statistics by another program
TABLE = [
    (1, 0.6225, 0.6226),
    (5, 0.7206, 0.7209),
    (10, 0.7785, 0.7791),
    (20, 0.8640, 0.8647),
    (40, 0.9410, 0.9416),
    (60, 0.9725, 0.9729),
    (80, 0.9867, 0.9870),
    (100, 0.9935, 0.9936),
    (120, 0.9967, 0.9968),
    (140, 0.9984, 0.9984),
]


def enumerated(epsilon: float, delta: float, n: int):
    """The trade-off of n worst releases, output by output."""
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    others = np.array([0, (1 - delta) * (1 - truth), (1 - delta) * truth, delta])
    rows = np.array(list(product(range(4), repeat=n)))
    return tradeoff.exact_curve(others[rows].prod(axis=1), others[::-1][rows].prod(axis=1))


def kov_delta(epsilon: float, delta: float, n: int, i: int) -> tuple[float, float]:
    """Epsilon and delta of theorem 3.3 of Kairouz, Oh and Viswanath (2015), with many digits."""
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon)
        terms = (
            mpmath.binomial(n, j) * (mpmath.exp((n - j) * e) - mpmath.exp((n - 2 * i + j) * e))
            for j in range(i)
        )
        lost = sum(terms, mpmath.mpf(0)) / (1 + mpmath.exp(e)) ** n
        return float((n - 2 * i) * e), float(1 - (1 - mpmath.mpf(delta)) ** n * (1 - lost))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.3, 0.0), (0.5, 0.05), (0.0, 0.1)])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_curve_matches_enumerated_worst_case(epsilon, delta, n):
    fpr, brute = np.linspace(0, 1, 1001), enumerated(epsilon, delta, n)
    guarantee = Guarantee(epsilon=epsilon, delta=delta)
    ours = composition.optimal(guarantee, n)
    np.testing.assert_allclose(tradeoff.max_tpr(fpr, ours), tradeoff.max_tpr(fpr, brute), atol=1e-12)
    assert composition.optimal_accuracy(guarantee, n) == pytest.approx(
        tradeoff.max_accuracy(brute), abs=1e-12
    )


@pytest.mark.parametrize(("epsilon", "delta", "n"), [(0.5, 0.0, 30), (0.1, 1e-4, 50), (0.01, 1e-6, 1001)])
def test_curve_matches_published_epsilons_and_deltas(epsilon, delta, n):
    curve = composition.optimal(Guarantee(epsilon=epsilon, delta=delta), n)
    for i in {0, 1, n // 4, n // 2}:
        total, lost = kov_delta(epsilon, delta, n, i)
        assert tradeoff.delta_at(curve, total) == pytest.approx(lost, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("n", "pure", "approximate"), TABLE)
def test_table_of_many_cells_is_reproduced(n, pure, approximate):
    assert composition.optimal_accuracy(Guarantee(epsilon=0.5), n) == pytest.approx(pure, abs=1e-4)
    guarantee = Guarantee(epsilon=0.5, delta=1 / 3998)
    assert composition.optimal_accuracy(guarantee, n) == pytest.approx(approximate, abs=1e-4)
    assert tradeoff.max_accuracy(composition.optimal(guarantee, n)) == pytest.approx(approximate, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "n"), [(0.01, 1000), (0.001, 7777), (0.05, 5000)])
def test_thousands_of_releases_keep_precision(epsilon, n):
    with mpmath.workdps(80):
        q = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        brute = mpmath.mpf(0)
        for j in range(n // 2 + 1, n + 1):
            brute += mpmath.binomial(n, j) * (q**j * (1 - q) ** (n - j) - (1 - q) ** j * q ** (n - j))
    guarantee = Guarantee(epsilon=epsilon)
    assert composition.optimal_advantage(guarantee, n) == pytest.approx(float(brute), abs=1e-11)
    assert tradeoff.max_accuracy(composition.optimal(guarantee, n)) == pytest.approx(
        (1 + float(brute)) / 2, abs=1e-11
    )


def test_basic_composition_adds_epsilons_and_deltas():
    guarantee = Guarantee(epsilon=0.5, delta=1e-3, unit=Unit.EVENT, nominal_epsilon=0.4, exact_epsilon=0.3)
    total = composition.basic(guarantee, 10)
    assert total.epsilon == 5
    assert total.delta == pytest.approx(1 - 0.999**10)
    assert total.delta <= 10 * 1e-3
    assert (total.unit, total.nominal_epsilon, total.exact_epsilon, total.curve) == (
        Unit.EVENT,
        0.4,
        None,
        None,
    )


def test_basic_composition_is_never_below_optimal_one():
    guarantee, fpr = Guarantee(epsilon=0.3, delta=0.01), np.linspace(0, 1, 500)
    for n in (1, 2, 7, 50):
        optimal = tradeoff.max_tpr(fpr, composition.optimal(guarantee, n))
        assert (optimal <= tradeoff.max_tpr(fpr, composition.basic(guarantee, n)) + 1e-12).all()


def test_zero_releases_reveal_nothing_and_many_everything():
    guarantee = Guarantee(epsilon=0.5, delta=0.1)
    assert composition.optimal_accuracy(guarantee, 0) == 0.5
    assert tradeoff.max_accuracy(composition.optimal(guarantee, 0)) == 0.5
    assert composition.optimal_accuracy(guarantee, 10_000) == 1
    assert composition.basic(guarantee, 10_000).delta < 1


@pytest.mark.parametrize("epsilon", [2000.0, np.inf])
def test_huge_epsilons_compose_without_warning(epsilon):
    assert composition.optimal_accuracy(Guarantee(epsilon=epsilon), 3) == 1
    assert tradeoff.max_auc(composition.optimal(Guarantee(epsilon=epsilon), 3)) == 1


@pytest.mark.parametrize("n", [-1, 1.5, np.nan])
def test_rejects_fractional_number_of_releases(n):
    with pytest.raises(BadInput, match="whole number"):
        composition.optimal(Guarantee(epsilon=1.0), n)


def kov_epsilon(epsilon: float, delta: float, n: int, slack: float) -> float:
    """The least epsilon of n releases, from theorem 3.3 of Kairouz, Oh and Viswanath (2015), many digits.

    Between its listed epsilons the divergence of n randomized responses is summed term by term:
    delta(x) = sum over j of C(n, j) max(0, e^((n - j) e) - e^(x + j e)) / (1 + e^e)^n.
    """
    with mpmath.workdps(50):
        e = mpmath.mpf(epsilon)

        def lost(x):
            terms = (
                mpmath.binomial(n, j) * (mpmath.exp((n - j) * e) - mpmath.exp(x + j * e))
                for j in range(n + 1)
                if (n - j) * e > x + j * e
            )
            return sum(terms, mpmath.mpf(0)) / (1 + mpmath.exp(e)) ** n

        low, high = mpmath.mpf(0), n * e
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if lost(middle) > slack else (low, middle)
        return float(high)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n", "slack"),
    [
        (0.5, 0.0, 1, 1e-5),
        (0.5, 0.0, 20, 1e-5),
        (0.1, 0.0, 140, 1e-6),
        (1.0, 1e-6, 33, 1e-5),
        (2.0, 1e-3, 7, 0.1),
        (10.0, 0.0, 100, 1e-5),
    ],
)
def test_optimal_epsilon_with_slack_matches_theorem(epsilon, delta, n, slack):
    found = composition.with_slack(Guarantee(epsilon=epsilon, delta=delta), n, slack)
    assert found.epsilon == pytest.approx(kov_epsilon(epsilon, delta, n, slack), abs=1e-7)
    assert found.delta == pytest.approx(1 - (1 - delta) ** n * (1 - slack), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "n", "i"), [(0.5, 20, 3), (0.2, 51, 20), (1.0, 8, 1)])
def test_listed_epsilons_follow_from_their_deltas(epsilon, n, i):
    total, lost = kov_delta(epsilon, 0.0, n, i)
    assert composition.with_slack(Guarantee(epsilon=epsilon), n, lost).epsilon == pytest.approx(
        total, abs=1e-6
    )


def test_slack_never_costs_more_than_basic_composition():
    for n in (0, 1, 3, 5000):
        found = composition.with_slack(Guarantee(epsilon=0.5), n, 1e-5)
        assert found.epsilon <= 0.5 * n
    assert composition.with_slack(Guarantee(epsilon=0.5, delta=0.5), 200, 0.5).delta < 1


@pytest.mark.parametrize("slack", [0.0, 1.0, np.nan])
def test_rejects_invalid_slack(slack):
    with pytest.raises(BadInput, match="slack must be in"):
        composition.with_slack(Guarantee(epsilon=1.0), 2, slack)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 400.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
def test_zcdp_conversion_matches_opendp(sigma, delta):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=sigma)
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)
    assert noise.map(1.0) == pytest.approx(1 / (2 * sigma**2), rel=1e-9)
    assert composition.zcdp_epsilon(1 / (2 * sigma**2), delta) == pytest.approx(theirs, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_zcdp_conversion_covers_gaussian_noise(mu, delta):
    exact = gdp.epsilon_at(mu, delta)
    assert exact <= composition.zcdp_epsilon(mu**2 / 2, delta) <= 1.3 * exact + 0.01


def test_rho_zero_has_epsilon_zero():
    assert composition.zcdp_epsilon(0.0, 1e-5) == 0


@pytest.mark.parametrize(
    ("rho", "delta"), [(-1.0, 0.1), (np.nan, 0.1), (np.inf, 0.1), (1.0, 0.0), (1.0, np.nan)]
)
def test_rejects_invalid_rho_or_delta(rho, delta):
    with pytest.raises(BadInput, match="must be"):
        composition.zcdp_epsilon(rho, delta)
