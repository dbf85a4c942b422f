from itertools import product

import numpy as np
import pytest
import scipy

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.theory import gdp, tradeoff
from leakgauge.theory.tradeoff import (
    PositiveLosses,
    curve_from_profile,
    curve_through,
    inner_curve,
    outer_curve,
)

PAIRS = [(0.0, 0.0), (0.0, 0.2), (0.3, 0.0), (1.0, 0.05), (3.0, 1e-5), (9.0, 0.0)]


def worst_laws(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """The four-output laws that reach (epsilon, delta) with equality: two of them betray a world for sure."""
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    others = np.array([0, (1 - delta) * (1 - truth), (1 - delta) * truth, delta])
    return others, others[::-1].copy()


def all_events(others: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """FPR and TPR of every event."""
    chosen = np.array(list(product([0, 1], repeat=others.size)))
    return chosen @ others, chosen @ members


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_curve_matches_worst_case_distributions(epsilon, delta):
    fpr = np.linspace(0, 1, 2001)
    exact = tradeoff.exact_curve(*worst_laws(epsilon, delta))
    ours = tradeoff.max_tpr(fpr, Guarantee(epsilon=epsilon, delta=delta))
    np.testing.assert_allclose(ours, tradeoff.max_tpr(fpr, exact), atol=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_curve_is_minimum_of_two_lines(epsilon, delta):
    fpr = np.linspace(0, 1, 2001)
    lines = np.minimum(delta + np.exp(epsilon) * fpr, 1 - (1 - delta - fpr) * np.exp(-epsilon))
    ours = tradeoff.max_tpr(fpr, Guarantee(epsilon=epsilon, delta=delta))
    np.testing.assert_allclose(ours, np.clip(lines, 0, 1), atol=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_auc_and_accuracy_match_enumeration(epsilon, delta):
    others, members = worst_laws(epsilon, delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(members / others, nan=1.0, posinf=np.inf)
    wins = (ratio[:, None] > ratio[None, :]) + 0.5 * (ratio[:, None] == ratio[None, :])
    fpr, tpr = all_events(others, members)
    guarantee = Guarantee(epsilon=epsilon, delta=delta)
    assert tradeoff.max_auc(guarantee) == pytest.approx(members @ wins @ others, abs=1e-12)
    assert tradeoff.max_accuracy(guarantee) == pytest.approx((1 + (tpr - fpr).max()) / 2, abs=1e-12)


def test_curve_of_two_distributions_passes_through_best_events():
    rng = np.random.default_rng(1)
    for _ in range(20):
        others, members = rng.dirichlet(np.full(6, 0.5), size=2)
        fpr, tpr = all_events(others, members)
        curve = tradeoff.exact_curve(others, members)
        assert (tradeoff.max_tpr(np.clip(fpr, 0, 1), curve) >= tpr - 1e-12).all()
        for x, y in zip(curve.fpr, curve.tpr):
            assert np.min(np.abs(fpr - x) + np.abs(tpr - y)) < 1e-12


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_epsilon_and_delta_of_curve_match_enumeration(delta):
    rng = np.random.default_rng(2)
    for _ in range(20):
        others, members = rng.dirichlet(np.full(6, 2.0), size=2)
        fpr, tpr = all_events(others, members)
        curve = tradeoff.exact_curve(others, members)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.concatenate([(tpr - delta) / fpr, (fpr - delta) / tpr])
        brute = np.log(np.nanmax(np.append(ratios[np.isfinite(ratios)], 1.0)))
        assert tradeoff.epsilon_at(curve, delta) == pytest.approx(max(brute, 0), abs=1e-9)
        for epsilon in (0.0, 0.5, 2.0):
            lost = np.concatenate([tpr - np.exp(epsilon) * fpr, fpr - np.exp(epsilon) * tpr]).max()
            assert tradeoff.delta_at(curve, epsilon) == pytest.approx(max(lost, 0), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 1.0, 20.0, 50.0, 300.0, 700.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.5])
def test_guarantee_recovers_its_epsilon_and_delta(epsilon, delta):
    guarantee = Guarantee(epsilon=epsilon, delta=delta)
    assert tradeoff.epsilon_at(guarantee, delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-9)
    assert tradeoff.delta_at(guarantee, epsilon) == pytest.approx(delta, abs=1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.5])
def test_huge_epsilon_still_limits_tpr_at_zero_fpr(delta):
    guarantee = Guarantee(epsilon=2000.0, delta=delta)
    np.testing.assert_array_equal(tradeoff.max_tpr([0.0, 1e-300, 0.5, 1.0], guarantee), [delta, 1, 1, 1])
    assert tradeoff.max_auc(guarantee) == tradeoff.max_accuracy(guarantee) == 1
    assert tradeoff.epsilon_at(guarantee, delta) == np.inf


def test_infinite_epsilon_limits_nothing():
    guarantee = Guarantee(epsilon=np.inf)
    np.testing.assert_array_equal(tradeoff.max_tpr([0.0, 0.5, 1.0], guarantee), [1, 1, 1])
    assert tradeoff.max_auc(guarantee) == tradeoff.max_accuracy(guarantee) == 1


def test_guarantee_uses_its_curve():
    curve = TradeoffCurve(np.array([0.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.1, 0.7, 1.0]))
    guarantee = Guarantee(epsilon=5.0, curve=curve)
    np.testing.assert_allclose(tradeoff.max_tpr([0.0, 0.25, 0.5, 1.0], guarantee), [0.1, 0.4, 0.7, 1.0])
    assert tradeoff.max_auc(guarantee) == pytest.approx(0.2 + 0.425)
    assert tradeoff.max_accuracy(guarantee) == pytest.approx(0.6)
    assert tradeoff.curve(guarantee) is curve


def test_curve_is_symmetric_in_presence_and_absence():
    curve = tradeoff.exact_curve([0.5, 0.5], [0.0, 1.0])
    assert tradeoff.epsilon_at(curve, 0.0) == np.inf
    assert tradeoff.epsilon_at(curve, 0.5) == pytest.approx(np.log(1.0))
    assert tradeoff.delta_at(curve, 10.0) == pytest.approx(0.5)


@pytest.mark.parametrize("fpr", [-0.1, 1.1, np.nan])
def test_rejects_rate_outside_unit_interval(fpr):
    with pytest.raises(BadInput, match="false-positive rate"):
        tradeoff.max_tpr(fpr, Guarantee(epsilon=1.0))


@pytest.mark.parametrize("law", [[0.5, 0.4], [1.5, -0.5], [np.nan, 1.0]])
def test_rejects_invalid_distributions(law):
    with pytest.raises(BadInput, match="probabilities"):
        tradeoff.exact_curve(law, [0.5, 0.5])


FPR = np.linspace(0, 1, 3001)


def random_half(rng: np.random.Generator, n: int) -> PositiveLosses:
    """Atoms of a symmetric pair: strongest evidence first."""
    losses = np.sort(rng.uniform(0, 4, n))[::-1]
    masses = rng.dirichlet(np.ones(n)) * 0.9
    masses /= np.sum(masses * (1 + np.exp(-losses))) / 0.9
    return PositiveLosses(losses, losses, masses, masses * np.exp(-losses))


def both_laws(half: PositiveLosses) -> tuple[np.ndarray, np.ndarray]:
    zero = 1 - half.members.sum() - half.others.sum()
    members = np.concatenate([half.members, [zero], half.others])
    others = np.concatenate([half.others, [zero], half.members])
    return others, members


def test_atoms_give_the_neyman_pearson_polygon():
    rng = np.random.default_rng(4)
    for n in (1, 5, 40):
        half = random_half(rng, n)
        exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(*both_laws(half)))
        for curve in (inner_curve(half), outer_curve(half)):
            np.testing.assert_allclose(tradeoff.max_tpr(FPR, curve), exact, atol=1e-12)


@pytest.mark.parametrize("n", [2, 7, 50])
def test_coarser_polygons_bracket_exact_curve(n):
    half = random_half(np.random.default_rng(5), 200)
    exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(*both_laws(half)))
    coarse = half.coarser(n)
    assert coarse.low.size <= n
    low, high = (tradeoff.max_tpr(FPR, draw(coarse)) for draw in (inner_curve, outer_curve))
    assert (low <= exact + 1e-12).all()
    assert (high >= exact - 1e-12).all()
    assert np.max(high - low) < 1 / n


def test_merging_bins_keeps_total_probability():
    half = random_half(np.random.default_rng(6), 300)
    coarse = half.coarser(11)
    assert coarse.members.sum() == pytest.approx(half.members.sum())
    assert coarse.others.sum() == pytest.approx(half.others.sum())
    assert (coarse.high >= coarse.low).all()
    assert coarse.low[-1] == half.low[-1]
    assert coarse.high[0] == half.high[0]


def test_rounding_errors_are_corrected_and_curves_are_read_only():
    curve = curve_through(np.array([0.0, 0.3, 0.3 - 1e-17, 1 + 1e-16]), np.array([-1e-17, 0.5, 0.6, 1.0]))
    assert (np.diff(curve.fpr) >= 0).all()
    assert (curve.fpr[-1], curve.tpr[-1]) == (1, 1)
    with pytest.raises(ValueError, match="read-only"):
        curve.fpr[0] = 1


RATES = np.linspace(0, 1, 501)


def test_single_pair_gives_its_trade_off():
    curve = curve_from_profile(np.array([1.3]), np.array([0.02]))
    expected = tradeoff.max_tpr(RATES, Guarantee(epsilon=1.3, delta=0.02))
    np.testing.assert_allclose(tradeoff.max_tpr(RATES, curve), expected, atol=1e-14)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_many_gaussian_pairs_bound_the_curve_from_above(mu):
    epsilons = np.linspace(0, gdp.epsilon_at(mu, 1e-12), 2001)
    curve = curve_from_profile(epsilons, np.array([gdp.delta_at(mu, epsilon) for epsilon in epsilons]))
    above = tradeoff.max_tpr(RATES, curve) - gdp.max_tpr(RATES, mu)
    assert above.min() > -1e-12
    assert above.max() < 1e-5


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [
        ([], []),
        ([1.0, 1.0], [0.1, 0.1]),
        ([-1.0], [0.1]),
        ([1.0], [np.nan]),
        ([1.0], [1.1]),
        ([1.0], [0.1, 0.2]),
    ],
)
def test_rejects_invalid_profile(epsilons, deltas):
    with pytest.raises(BadInput, match="privacy profile"):
        curve_from_profile(np.array(epsilons, dtype=float), np.array(deltas, dtype=float))


def test_corner_of_a_promise_is_exactly_the_logistic_function():
    edges = [0.0, 5e-324, 36.7, 709.78, 709.79, 745.2, 1e308, np.inf]
    epsilons = np.concatenate([np.linspace(0, 800, 4001), np.logspace(-300, 2, 303), edges])
    expected = scipy.special.expit(-epsilons)
    assert [tradeoff._share_of_the_smaller(float(epsilon)) for epsilon in epsilons] == expected.tolist()
