"""Cells of any distribution on a lattice, and the best attack on many of them."""

from functools import reduce

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import loss_composition, tradeoff
from leakgauge.theory.asymmetric_composition import (
    DistributionPair,
    LatticeLaw,
    best_attack,
    mirrored_law,
    mixture,
    round_pair,
    spread_pair,
)
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell, ResponseCell

FPR = np.linspace(0, 1, 2001)


def random_pair(rng: np.random.Generator, n: int, *, one_sided: bool = False) -> DistributionPair:
    members, others = rng.dirichlet(np.ones(n), 2)
    if one_sided:
        members[0] = others[-1] = 0
    return DistributionPair.of(members / members.sum(), others / others.sum())


def roc(law: LatticeLaw) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the thresholds on the scores of a law, sure revelations first."""
    fpr = np.cumsum(np.concatenate([[0.0], law.others[::-1], [law.sure_others]]))
    tpr = np.cumsum(np.concatenate([[law.sure_members], law.members[::-1], [0.0]]))
    return fpr, tpr


@pytest.mark.parametrize("step", [0.03, 0.4, 5.0])
@pytest.mark.parametrize("one_sided", [False, True])
def test_lattice_brackets_exact_curve(step, one_sided):
    rng = np.random.default_rng(1)
    for _ in range(20):
        pair = random_pair(rng, 12, one_sided=one_sided)
        exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(pair.others, pair.members))
        for law, sign in ((round_pair(pair, step), 1), (spread_pair(pair, step), -1)):
            for masses, sure in ((law.members, law.sure_members), (law.others, law.sure_others)):
                assert (masses >= 0).all()
                assert masses.sum() + sure == pytest.approx(1, abs=1e-12)
            found = np.interp(FPR, *roc(law))
            assert (sign * (exact - found) >= -1e-12).all()


@pytest.mark.parametrize("step", [0.03, 0.4])
def test_losses_are_log_ratios(step):
    law = spread_pair(random_pair(np.random.default_rng(2), 30, one_sided=True), step)
    losses = step * (law.first + np.arange(law.members.size))
    np.testing.assert_allclose(law.others * np.exp(losses), law.members, rtol=1e-9, atol=1e-18)


def test_outputs_of_one_world_are_certain():
    pair = DistributionPair.of([0.0, 0.7, 0.3], [0.2, 0.8, 0.0])
    for law in (round_pair(pair, 0.1), spread_pair(pair, 0.1)):
        assert law.sure_members == pytest.approx(0.3)
        assert law.sure_others == pytest.approx(0.2)


def test_grouped_outputs_are_spread_over_their_losses():
    fine_members, fine_others = np.array([[0.1, 0.2, 0.3, 0.4], [0.35, 0.25, 0.25, 0.15]])
    fine = DistributionPair.of(fine_members, fine_others)
    low, high = fine.losses.reshape(2, 2).min(axis=1), fine.losses.reshape(2, 2).max(axis=1)
    coarse = DistributionPair.of(
        fine_members.reshape(2, 2).sum(axis=1), fine_others.reshape(2, 2).sum(axis=1), low, high
    )
    exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(fine_others, fine_members))
    assert (np.interp(FPR, *roc(spread_pair(coarse, 0.01))) >= exact - 1e-12).all()
    assert (np.interp(FPR, *roc(round_pair(coarse, 0.01))) <= exact + 1e-12).all()


@pytest.mark.parametrize(("low", "high"), [(-np.inf, 0.5), (-0.5, np.inf), (-np.inf, np.inf)])
def test_unknown_losses_may_reveal_anything(low, high):
    pair = DistributionPair.of([0.5, 0.5], [0.5, 0.5], [low, 0.0], [high, 0.0])
    law = spread_pair(pair, 0.1)
    assert law.members.sum() + law.sure_members == pytest.approx(1)
    assert law.others.sum() + law.sure_others == pytest.approx(1)
    assert law.sure_members == pytest.approx(0 if high < 1 else 0.5 * (1 - np.exp(low)), abs=0.02)
    assert law.sure_others == pytest.approx(0 if low > -1 else 0.5 * (1 - np.exp(-high)), abs=0.02)


def test_extreme_losses_are_kept():
    tiny = 1e-300
    pair = DistributionPair.of([1 - tiny, tiny, 0.0], [0.5, 0.5 - 1e-40, 1e-40])
    for law in (round_pair(pair, 0.01), spread_pair(pair, 0.01)):
        assert law.members.sum() + law.sure_members == pytest.approx(1)
        assert law.others.sum() + law.sure_others == pytest.approx(1)
        assert law.members.size < 20_000


def test_observed_mixture_has_mean_curve():
    rng = np.random.default_rng(3)
    pairs, weights = [random_pair(rng, 4) for _ in range(3)], np.array([0.5, 0.5, 1.0])
    mixed = mixture(pairs, weights)
    exact = sum(w * abs(p.members - p.others).sum() / 2 for p, w in zip(pairs, weights / 2))
    assert abs(mixed.members - mixed.others).sum() / 2 == pytest.approx(exact)
    assert mixed.members.sum() == pytest.approx(1)


def test_swapping_worlds_negates_losses():
    pair = random_pair(np.random.default_rng(4), 5, one_sided=True)
    np.testing.assert_array_equal(pair.swapped.losses, -pair.losses)
    np.testing.assert_array_equal(pair.swapped.low, -pair.high)


def test_mirrored_pair_is_symmetric():
    law = mirrored_law(np.array([0.2, 0.3, 0.1]), 0.5)
    np.testing.assert_allclose(law.members, [0.1 * np.exp(-1), 0.3 * np.exp(-0.5), 0.2, 0.3, 0.1])
    np.testing.assert_array_equal(law.others, law.members[::-1])
    assert law.first == -2


@pytest.mark.parametrize(
    ("members", "others"),
    [([0.5, 0.5], [1.0]), ([0.5, 0.6], [0.5, 0.5]), ([1.5, -0.5], [0.5, 0.5]), ([np.nan], [1.0])],
)
def test_rejects_invalid_pairs(members, others):
    with pytest.raises(BadInput):
        DistributionPair.of(members, others)


def random_laws(
    rng: np.random.Generator, n_cells: int, *, one_sided: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    found = []
    for _ in range(n_cells):
        members, others = rng.dirichlet(np.full(5, 0.7), 2)
        if one_sided:
            members[0] = others[3] = 0.0
        found.append((members / members.sum(), others / others.sum()))
    return found


def suppressed(count: int, suppress: int, most: int, scale: float) -> np.ndarray:
    """P(output | count) of Laplace noise, rounded down, clamped and suppressed, from the definition."""
    from scipy.stats import laplace

    edges = np.concatenate([[-np.inf], np.arange(suppress + 1, most + 1), [np.inf]])
    return np.diff(laplace.cdf(edges, count, scale))


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_several_cells_match_product_distribution(seed, one_sided):
    laws = random_laws(np.random.default_rng(seed), 5, one_sided=one_sided)
    members, others = (reduce(lambda a, b: np.outer(a, b).ravel(), world) for world in zip(*laws))
    exact = tradeoff.exact_curve(others, members)
    best = best_attack([(DistributionPair.of(*law), 1) for law in laws])
    low, high = best.tpr_at(FPR)
    assert (low <= tradeoff.max_tpr(FPR, exact) + 1e-12).all()
    assert (high >= tradeoff.max_tpr(FPR, exact) - 1e-12).all()
    assert np.max(high - low) < 2e-4
    for (below, above), value in (
        (best.accuracy, tradeoff.max_accuracy(exact)),
        (best.auc, tradeoff.max_auc(exact)),
    ):
        assert below - 1e-12 <= value <= above + 1e-12
        assert above - below < 1e-6


def test_suppressed_counts_match_enumeration():
    cells = [(0, 1), (1, 2), (2, 1), (7, 2)]  # count, how many
    laws = {count: (suppressed(count + 1, 2, 9, 1.5), suppressed(count, 2, 9, 1.5)) for count, _ in cells}
    rows = [laws[count] for count, n in cells for _ in range(n)]
    members, others = (reduce(lambda a, b: np.outer(a, b).ravel(), world) for world in zip(*rows))
    exact = tradeoff.exact_curve(others, members)
    best = best_attack([(DistributionPair.of(*laws[count]), n) for count, n in cells])
    low, high = best.accuracy
    assert low - 1e-12 <= tradeoff.max_accuracy(exact) <= high + 1e-12
    assert high - low < 1e-7


@pytest.mark.parametrize("n", [1, 7, 60, 400])
def test_symmetric_cells_match_symmetric_composition(n):
    truth = 1 / (1 + np.exp(-0.3))
    asymmetric = best_attack([(DistributionPair.of([truth, 1 - truth], [1 - truth, truth]), n)])
    symmetric = loss_composition.best_attack([(ResponseCell(0.3), n)])
    for found, exact in ((asymmetric.accuracy, symmetric.accuracy), (asymmetric.auc, symmetric.auc)):
        assert found[0] - 1e-11 <= exact[1]
        assert found[1] + 1e-11 >= exact[0]
        assert found[1] - found[0] < 1e-4


@pytest.mark.parametrize(
    "cells", [[(LaplaceCell(0.5), 20)], [(LaplaceCell(0.5), 3), (GeometricCell(0.7, 2), 4)]]
)
def test_symmetric_and_asymmetric_cells_combine(cells):
    nothing = DistributionPair.of([0.3, 0.7], [0.3, 0.7])
    found, exact = best_attack([*cells, (nothing, 5)]), loss_composition.best_attack(cells)
    for ours, theirs in ((found.accuracy, exact.accuracy), (found.auc, exact.auc)):
        assert ours[0] - 1e-9 <= theirs[1]
        assert ours[1] + 1e-9 >= theirs[0]
        assert ours[1] - ours[0] < 2e-5


def test_binned_continuous_outputs_bracket_closed_form():
    ratio, edges = 0.5, np.concatenate([[-np.inf], np.linspace(0, 0.5, 60), [np.inf]])
    laplace = np.where(edges < 0, np.exp(edges) / 2, 1 - np.exp(-np.abs(edges)) / 2)
    shifted = np.where(edges < ratio, np.exp(edges - ratio) / 2, 1 - np.exp(-np.abs(edges - ratio)) / 2)
    loss = np.clip(2 * edges - ratio, -ratio, ratio)
    pair = DistributionPair.of(np.diff(shifted), np.diff(laplace), loss[:-1], loss[1:])
    exact, found = loss_composition.best_attack([(LaplaceCell(ratio), 20)]), best_attack([(pair, 20)])
    assert found.accuracy[0] <= exact.accuracy[1]
    assert found.accuracy[1] >= exact.accuracy[0]
    assert found.accuracy[1] - found.accuracy[0] < 2e-4


@pytest.mark.parametrize("n", [1, 6, 40])
def test_bracket_contains_public_accountant(n):
    from dp_accounting.pld import privacy_loss_distribution as pld

    law = (suppressed(3, 2, 12, 1.0), suppressed(2, 2, 12, 1.0))
    logs = [dict(enumerate(np.log(world).tolist())) for world in law]
    public = pld.from_two_probability_mass_functions(
        logs[1], logs[0], value_discretization_interval=1e-5
    ).self_compose(n)
    best = best_attack([(DistributionPair.of(*law), n)])
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        delta = public.get_delta_for_epsilon(epsilon)
        assert tradeoff.delta_at(best.low, epsilon) == pytest.approx(delta, abs=1e-5)
        assert delta - 1e-5 <= tradeoff.delta_at(best.high, epsilon) < delta + 2e-4


def test_raw_counts_reveal_lone_visit():
    nobody = DistributionPair.of([0.0, 1.0], [1.0, 0.0])
    best = best_attack([(nobody, 1), (DistributionPair.of([0.5, 0.5], [0.5, 0.5]), 3)])
    assert best.accuracy == (1.0, 1.0)
    assert best.auc == (1.0, 1.0)


def test_unmoved_cells_reveal_nothing():
    for cells in (
        [],
        [(DistributionPair.of([0.3, 0.7], [0.3, 0.7]), 40)],
        [(DistributionPair.of([0.1, 0.9], [0.9, 0.1]), 0)],
    ):
        best = best_attack(cells)
        assert best.accuracy == pytest.approx((0.5, 0.5), abs=1e-9)
        assert best.auc == pytest.approx((0.5, 0.5), abs=1e-9)


def test_two_hundred_cell_kinds_match_simulation():
    rng = np.random.default_rng(5)
    cells = [(DistributionPair.of(*law), 1) for law in random_laws(rng, 200, one_sided=False)]
    weak = [(DistributionPair.of(0.97 * p.others + 0.03 * p.members, p.others), n) for p, n in cells]
    best, n = best_attack(weak), 20_000
    scores = np.zeros((2, n))
    for pair, _ in weak:
        for world, law in enumerate((pair.others, pair.members)):
            scores[world] += pair.losses[rng.choice(law.size, n, p=law)]
    order = np.sort(scores[0])
    wins = (np.searchsorted(order, scores[1], "left") + np.searchsorted(order, scores[1], "right")) / (2 * n)
    assert best.auc[0] - 0.012 < wins.mean() < best.auc[1] + 0.012
    assert best.accuracy[0] - 0.012 < (1 + np.mean(scores[1] > 0) - np.mean(scores[0] > 0)) / 2
    assert best.accuracy[1] - best.accuracy[0] < 1e-6


def test_rejects_fractional_number_of_cells():
    for n in (-1, 0.5, np.nan):
        with pytest.raises(BadInput):
            best_attack([(DistributionPair.of([1.0], [1.0]), n)])
