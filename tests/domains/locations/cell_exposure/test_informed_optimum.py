import numpy as np
import pytest
from scipy.special import ndtr

from leakgauge.domains.locations.cell_exposure.informed_optimum import informed_optimum_by_cells
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms import discrete_gaussian, gaussian, geometric, laplace, logistic
from leakgauge.theory import asymmetric_composition
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.loss_composition import best_attack
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell
from mechanisms import independent_optimum

NUMBERS = np.array([3, 0, 60, 1, 20, 3])


@pytest.mark.parametrize(
    ("noise", "cell"),
    [
        (laplace.Mechanism(scale=2.0), LaplaceCell(0.5)),
        (geometric.Mechanism(scale=2.0), GeometricCell(0.5)),
    ],
    ids=["laplace", "geometric"],
)
def test_unrounded_noise_matches_tight_composition(noise, cell):
    found, error = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9), NUMBERS)
    assert error < 1e-5
    for i, n in enumerate(NUMBERS.tolist()):
        best = best_attack([(cell, n)])
        assert best.accuracy[0] - 1e-12 <= found.accuracy[i] <= best.accuracy[1] + 1e-12
        assert best.auc[0] - 1e-12 <= found.auc[i] <= best.auc[1] + 1e-12
        low, high = best.tpr_at(0.01)
        assert low - 1e-12 <= found.tpr[i] <= high + 1e-12


@pytest.mark.parametrize(
    ("noise", "losses"),
    [
        (logistic.Mechanism(scale=2.0), independent_optimum.logistic_losses(2.0)),
        (
            discrete_gaussian.Mechanism(sigma=3.0, delta=1e-5),
            independent_optimum.discrete_gaussian_losses(3.0),
        ),
    ],
    ids=["logistic", "discrete_gaussian"],
)
def test_other_noise_matches_textbook_distribution(noise, losses):
    found, error = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9), NUMBERS)
    assert error < 1e-4
    expected = [independent_optimum.best_accuracy(*losses, n) for n in NUMBERS.tolist()]
    np.testing.assert_allclose(found.accuracy, expected, atol=3e-4)


@pytest.mark.parametrize("noise", [logistic.Mechanism(scale=2.0), laplace.Mechanism(scale=2.0)])
def test_rounding_does_not_increase_optimum(noise):
    """Rounded noise is computed by another way than noise alone."""
    numbers = np.array([1, 5, 20])
    plain, _ = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9), numbers)
    less, error = informed_optimum_by_cells(ReleaseChain(noise=noise, group_size=9, round=True), numbers)
    assert (less.accuracy <= plain.accuracy + error + 1e-5).all()
    assert (less.accuracy >= 0.5).all()


def test_gaussian_noise_matches_closed_form():
    found, error = informed_optimum_by_cells(
        ReleaseChain(noise=gaussian.Mechanism(sigma=8.0, delta=1e-5), group_size=9), NUMBERS
    )
    assert error == 0
    np.testing.assert_allclose(found.accuracy, ndtr(np.sqrt(NUMBERS) / 16))
    np.testing.assert_allclose(found.auc, ndtr(np.sqrt(NUMBERS / 2) / 8))


def test_rounded_laplace_has_three_losses():
    """Laplace noise rounded down leaves a loss of +-epsilon or of zero."""
    found, _ = informed_optimum_by_cells(
        ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=9, round=True), NUMBERS
    )
    falls = np.exp(-1.0)
    members = np.array([1, 1 - falls, falls]) / 2
    for i, n in enumerate(NUMBERS.tolist()):
        best = asymmetric_composition.best_attack([(DistributionPair.of(members, members[::-1]), n)])
        assert found.accuracy[i] == pytest.approx(best.accuracy[0], abs=2e-5)
        assert found.auc[i] == pytest.approx(best.auc[0], abs=2e-5)


def test_raw_counts_reveal_everyone_to_informed_attacker():
    found, _ = informed_optimum_by_cells(ReleaseChain(noise=None, group_size=9), NUMBERS)
    np.testing.assert_array_equal(found.auc, np.where(NUMBERS > 0, 1.0, 0.5))


def test_many_cells_stay_within_stated_error():
    numbers = np.arange(1, 400)
    found, error = informed_optimum_by_cells(
        ReleaseChain(noise=laplace.Mechanism(scale=10.0), group_size=9), numbers
    )
    assert error < 1e-5
    for n in (1, 2, 37, 111, 253):
        best = best_attack([(LaplaceCell(0.1), n)])
        assert found.accuracy[n - 1] == pytest.approx(np.mean(best.accuracy), abs=2e-5)
        assert found.auc[n - 1] == pytest.approx(np.mean(best.auc), abs=2e-5)
        assert found.tpr[n - 1] == pytest.approx(float(np.mean(best.tpr_at(0.01))), abs=2e-5)


def test_person_without_visits_is_not_exposed():
    found, error = informed_optimum_by_cells(
        ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=9), np.zeros(2, dtype=np.int64)
    )
    assert (found.accuracy.tolist(), found.auc.tolist(), found.tpr.tolist()) == (
        [0.5] * 2,
        [0.5] * 2,
        [0.01] * 2,
    )
    assert error == 0
