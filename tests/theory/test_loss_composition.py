from itertools import product

import numpy as np
import pytest
import scipy

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.theory import composition, gdp, loss_composition, tradeoff
from leakgauge.theory.loss_composition import best_attack, fast_length, sum_losses
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell, ResponseCell, bernstein_window


def direct_sum(laws, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses and probabilities of the sum for a member, by plain convolution."""
    total = np.ones(1)
    for law, n in laws:
        below = (law[1:] * np.exp(-step * np.arange(1, law.size)))[::-1]
        for _ in range(n):
            total = np.convolve(total, np.concatenate([below, law]))
    half = total.size // 2
    return step * np.arange(-half, half + 1), total


@pytest.mark.parametrize(
    "cells",
    [
        [(LaplaceCell(0.5), 1)],
        [(LaplaceCell(0.5), 4)],
        [(ResponseCell(0.5), 7)],
        [(GeometricCell(0.25, 3), 3), (ResponseCell(0.5), 2), (LaplaceCell(1.0), 2)],
    ],
)
def test_fft_matches_direct_convolution(cells):
    step = 0.05
    laws = [(cell.pessimistic_lattice(step), n) for cell, n in cells]
    losses, masses = direct_sum(laws, step)
    half = sum_losses(laws, 0.0, step)
    assert half.low is half.high
    for loss, members, others in zip(half.low, half.members, half.others):
        place = np.argmin(np.abs(losses - loss))
        assert members == pytest.approx(masses[place], abs=1e-14)
        assert others == pytest.approx(masses[losses.size - 1 - place], abs=1e-14)
    assert half.members.sum() == pytest.approx(masses[losses > step / 2].sum(), abs=1e-12)


def test_gaussian_part_needs_no_lattice():
    from scipy.stats import norm

    step, mu = 0.05, 0.8
    laws = [(LaplaceCell(0.5).optimistic_lattice(step), 2)]
    losses, masses = direct_sum(laws, step)
    half = sum_losses(laws, mu, step)
    for world, sign in ((half.members, 1), (half.others, -1)):
        laws_masses = masses if sign == 1 else masses[::-1]
        exact = [
            laws_masses
            @ np.diff(norm.cdf(np.subtract.outer([low, high], losses), sign * mu**2 / 2, mu), axis=0)[0]
            for low, high in zip(half.low, half.high)
        ]
        np.testing.assert_allclose(world, exact, atol=1e-13)


def test_window_has_negligible_tail():
    step = 0.01
    for cell, n in ((LaplaceCell(0.5), 40), (ResponseCell(0.3), 200), (GeometricCell(1.0, 2), 30)):
        law = cell.pessimistic_lattice(step)
        losses, masses = direct_sum([(law, n)], step) if n <= 40 else (None, None)
        low, high = bernstein_window([(*cell.moments, cell.largest, n)], 0.0)
        assert low >= -n * cell.largest
        assert high <= n * cell.largest
        if losses is not None:
            assert masses[(losses < low - step) | (losses > high + step)].sum() < 1e-15


def test_thousands_of_cells_use_a_short_lattice():
    low, high = bernstein_window([(*LaplaceCell(0.5).moments, 0.5, 100_000)], 0.0)
    assert high - low < 0.05 * 2 * 100_000 * 0.5


# cells, best accuracy, for Laplace noise of scale 2 and shift 1: statistics by another program
TABLE = [
    (1, 0.6106),
    (5, 0.7028),
    (10, 0.7691),
    (20, 0.8509),
    (40, 0.9290),
    (60, 0.9639),
    (80, 0.9810),
    (100, 0.9898),
    (120, 0.9945),
    (140, 0.9970),
]
FPR = np.concatenate([[0.0], np.logspace(-6, 0, 400)])


def simulated(shifts: np.ndarray, scale: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood ratios of non-members and members under Laplace noise."""
    rng = np.random.default_rng(seed)
    noise = rng.laplace(scale=scale, size=(2, n, shifts.size))
    noise[1] += shifts
    scores = ((np.abs(noise) - np.abs(noise - shifts)) / scale).sum(axis=2).round(9)  # sums of atoms are ties
    return scores[0], scores[1]


def accuracy_of(absent: np.ndarray, present: np.ndarray) -> float:
    return (1 + np.mean(present > 0) - np.mean(absent > 0)) / 2


def tpr_of(absent: np.ndarray, present: np.ndarray, fpr: float) -> float:
    """TPR at the threshold of this FPR; ties enter in the share that fits."""
    cut = np.quantile(absent, 1 - fpr, method="higher")
    share = (fpr - np.mean(absent > cut)) / np.mean(absent == cut)
    return np.mean(present > cut) + share * np.mean(present == cut)


@pytest.mark.parametrize(("n", "accuracy"), TABLE)
def test_table_of_many_cells_is_reproduced(n, accuracy):
    low, high = best_attack([(LaplaceCell(0.5), n)]).accuracy
    assert low == pytest.approx(accuracy, abs=1e-4)
    assert high == pytest.approx(accuracy, abs=1e-4)
    assert 0 <= high - low + 1e-12 < 1e-6


@pytest.mark.parametrize("ratio", [0.01, 0.5, 1.0, 5.0, 30.0])
def test_one_laplace_cell_matches_closed_form(ratio):
    best = best_attack([(LaplaceCell(ratio), 1)])
    exact = np.where(
        np.exp(-ratio) / 2 > FPR, np.exp(ratio) * FPR, 1 - np.exp(-ratio) / (4 * np.maximum(FPR, 1e-9))
    )
    exact = np.where(FPR > 0.5, 1 - np.exp(-ratio) * (1 - FPR), exact)
    low, high = best.tpr_at(FPR)
    assert (low <= exact + 1e-12).all()
    assert (high >= exact - 1e-12).all()
    assert np.max(high - low) < 1e-5
    assert best.accuracy[1] == pytest.approx(1 - np.exp(-ratio / 2) / 2, abs=1e-9)
    assert tradeoff.epsilon_at(best.high, 0.0) == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize("shifts", [[1.0] * 6, [1.0, 2.0, 0.5, 3.0], [1.0, np.pi / 7, np.sqrt(2)]])
def test_optimal_attack_matches_simulation(shifts):
    shifts, n = np.array(shifts), 200_000
    absent, present = simulated(shifts, 2.0, n, seed=8)
    best = best_attack(loss_composition.cells_under_laplace(shifts, 2.0))
    low, high = best.accuracy
    assert low - 0.004 < accuracy_of(absent, present) < high + 0.004
    order = np.sort(absent)
    wins = (np.searchsorted(order, present, "left") + np.searchsorted(order, present, "right")) / (2 * n)
    low, high = best.auc
    assert low - 0.004 < wins.mean() < high + 0.004
    for fpr in (0.1, 0.01):
        low, high = best.tpr_at(fpr)
        assert low - 0.01 < tpr_of(absent, present, fpr) < high + 0.01


@pytest.mark.parametrize("cells", [[(LaplaceCell(0.5), 10)], [(LaplaceCell(0.5), 3), (LaplaceCell(1.25), 4)]])
def test_bracket_contains_public_accountant(cells):
    from dp_accounting.pld import privacy_loss_distribution as pld

    composed = None
    for cell, n in cells:
        one = pld.from_laplace_mechanism(1 / cell.ratio, value_discretization_interval=1e-4).self_compose(n)
        composed = one if composed is None else composed.compose(one)
    best = best_attack(cells)
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        public = composed.get_delta_for_epsilon(epsilon)
        assert tradeoff.delta_at(best.low, epsilon) <= public + 1e-9
        assert tradeoff.delta_at(best.high, epsilon) == pytest.approx(public, abs=3e-6)


def test_randomized_response_matches_optimal_composition():
    for n in (1, 2, 20, 400):
        best, exact = best_attack([(ResponseCell(0.3), n)]), composition.optimal(Guarantee(epsilon=0.3), n)
        for curve in (best.low, best.high):
            np.testing.assert_allclose(
                tradeoff.max_tpr(FPR, curve), tradeoff.max_tpr(FPR, exact), atol=1e-11 if n < 100 else 1e-8
            )


def test_different_responses_match_enumeration():
    epsilons = [0.5, 0.5, 0.3, np.pi / 3, 1.7]
    truth = 1 / (1 + np.exp(-np.array(epsilons)))
    rows = np.array(list(product([0, 1], repeat=5)))
    members = np.where(rows, truth, 1 - truth).prod(axis=1)
    exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(members[::-1], members))
    low, high = best_attack([(ResponseCell(epsilon), 1) for epsilon in epsilons]).tpr_at(FPR)
    assert (low <= exact + 1e-12).all()
    assert (high >= exact - 1e-12).all()
    assert np.max(high - low) < 1e-4


def test_geometric_cells_match_enumeration():
    outputs = np.arange(-70, 74)
    fall = np.exp(-0.5)
    level = (1 - fall) / (1 + fall)
    laws = []
    for center in ([0, 0], [1, 3]):
        one, other = (level * fall ** np.abs(outputs - c) for c in center)
        law = np.outer(one, other).ravel()
        laws.append(law / law.sum())
    exact = tradeoff.exact_curve(*laws)
    best = best_attack(loss_composition.cells_under_geometric([1, 3], scale=2.0))
    for curve in (best.low, best.high):
        np.testing.assert_allclose(tradeoff.max_tpr(FPR, curve), tradeoff.max_tpr(FPR, exact), atol=1e-9)


def test_laplace_and_gaussian_cells_match_simulation():
    rng, n, mu = np.random.default_rng(9), 200_000, 0.9
    absent, present = simulated(np.ones(5), 2.0, n, seed=10)
    absent = absent + rng.normal(-(mu**2) / 2, mu, n)
    present = present + rng.normal(mu**2 / 2, mu, n)
    best = best_attack([(LaplaceCell(0.5), 5)], mu=mu)
    assert best.accuracy[0] - 0.004 < accuracy_of(absent, present) < best.accuracy[1] + 0.004
    assert best.accuracy[1] - best.accuracy[0] < 1e-5
    assert best.auc[1] - best.auc[0] < 1e-5


def test_gaussian_cells_match_closed_form():
    best = best_attack(mu=1.3)
    assert best.accuracy == pytest.approx((gdp.max_accuracy(1.3),) * 2, abs=1e-9)
    low, high = best.tpr_at(FPR)
    assert (low <= gdp.max_tpr(FPR, 1.3) + 1e-12).all()
    assert (high >= gdp.max_tpr(FPR, 1.3) - 1e-12).all()


def test_tiny_gaussian_part_changes_little():
    alone, joint = best_attack([(LaplaceCell(0.5), 20)]), best_attack([(LaplaceCell(0.5), 20)], mu=1e-4)
    assert joint.accuracy == pytest.approx(alone.accuracy, abs=1e-5)


def test_nearly_equal_shifts_are_bracketed():
    shifts = np.random.default_rng(11).uniform(0.05, 0.4, 600)
    absent, present = simulated(shifts, 2.0, 20_000, seed=12)
    best = best_attack(loss_composition.cells_under_laplace(shifts, 2.0))
    assert best.accuracy[0] - 0.015 < accuracy_of(absent, present) < best.accuracy[1] + 0.015
    assert 0 <= best.accuracy[1] - best.accuracy[0] < 2e-3


def test_one_large_shift_reveals_more_than_many_small():
    one = best_attack([(LaplaceCell(1.2), 1)]).tpr_at(FPR)[0]
    for split in ([0.6, 0.6], [1.0, 0.2], [0.4, 0.4, 0.4], [0.1] * 12):
        assert (best_attack([(LaplaceCell(part), 1) for part in split]).tpr_at(FPR)[1] <= one + 1e-5).all()
    whole = best_attack([(GeometricCell(0.3, 6), 1)]).tpr_at(FPR)[0]
    for split in ([3, 3], [5, 1], [2, 2, 2], [1] * 6):
        assert (
            best_attack([(GeometricCell(0.3, part), 1) for part in split]).tpr_at(FPR)[1] <= whole + 1e-9
        ).all()


def test_thousands_of_cells_and_huge_shifts_raise_no_warning():
    low, high = best_attack([(LaplaceCell(0.01), 100_000)]).accuracy
    assert high - low < 1e-5
    _, variance = LaplaceCell(0.01).moments
    assert high == pytest.approx(gdp.max_accuracy(np.sqrt(100_000 * variance)), abs=2e-3)
    assert best_attack([(LaplaceCell(2000.0), 3), (LaplaceCell(0.5), 2)]).accuracy[1] == pytest.approx(
        1, abs=1e-9
    )
    assert best_attack([(LaplaceCell(0.5), 20_000)]).accuracy[1] == pytest.approx(1, abs=1e-9)


def test_unmoved_cells_reveal_nothing():
    assert best_attack().accuracy == (0.5, 0.5)
    assert best_attack([(LaplaceCell(1.0), 0)]).accuracy == (0.5, 0.5)
    assert loss_composition.cells_under_laplace([0.0, 0.0], 1.0) == []


def test_results_are_cached():
    assert best_attack([(LaplaceCell(0.5), 2), (LaplaceCell(1.0), 3)]) is best_attack(
        [(LaplaceCell(1.0), 3), (LaplaceCell(0.5), 2)]
    )


@pytest.mark.parametrize("n", [-1, 0.5, np.nan])
def test_rejects_fractional_number_of_cells(n):
    with pytest.raises(BadInput, match="whole number"):
        best_attack([(LaplaceCell(0.5), n)])


def test_rejects_invalid_shifts():
    with pytest.raises(BadInput, match="finite"):
        loss_composition.cells_under_laplace([np.nan], 1.0)
    with pytest.raises(BadInput, match="whole"):
        loss_composition.cells_under_geometric([0.5], 1.0)


def test_fast_length_is_that_of_scipy():
    lengths = [*range(1, 3_000), 131_073, 262_145, 999_983, 2**20 + 1]
    assert [fast_length(n) for n in lengths] == [scipy.fft.next_fast_len(n, real=True) for n in lengths]
