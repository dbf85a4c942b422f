import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

from leakgauge.core.errors import BadInput
from leakgauge.theory.loss_composition import best_attack
from leakgauge.theory.loss_sums import LossKinds, loss_sum_rates
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell


def kinds(rates, shifts=None):
    return LossKinds(np.array(rates, dtype=float), np.array(shifts or [0] * len(rates)))


def numbers(rates, counts, shifts=None, mu=0.0):
    found = loss_sum_rates(kinds(rates, shifts), csr_array(np.atleast_2d(counts)), np.array([mu**2]))
    return float(found.accuracy[0]), float(found.auc[0]), float(found.tpr[0])


def geometric_laws(rate, shift, reach=400):
    """Probabilities of outputs with and without the target, by the definition of the noise."""
    outputs = np.arange(-reach, reach + 1)
    noise = np.tanh(rate / 2) * np.exp(-rate * np.abs(outputs))
    return np.tanh(rate / 2) * np.exp(-rate * np.abs(outputs - shift)), noise


@pytest.mark.parametrize("ratio", [0.05, 0.7, 4.0])
def test_laplace_characteristic_function_matches_integral(ratio):
    def density(y, centre):
        return np.exp(-abs(y - centre)) / 2

    def part(turn, t):
        def integrand(y):
            return density(y, ratio) * turn(t * (abs(y) - abs(y - ratio)))

        return sum(
            quad(integrand, *ends, limit=200)[0] for ends in ((-40, 0), (0, ratio), (ratio, ratio + 40))
        )

    found = kinds([ratio]).waves(0.3, 37)[0]
    some = [0, 4, 5, 17, 36]
    expected = [part(np.cos, t) + 1j * part(np.sin, t) for t in 0.3 * (1 + np.array(some))]
    assert found.shape == (37,)
    np.testing.assert_allclose(found[some], expected, atol=1e-9)


@pytest.mark.parametrize(("rate", "shift"), [(0.7, 1), (0.2, 4), (1.5, 3), (0.1, 7)])
def test_geometric_characteristic_function_and_mean_match_sums(rate, shift):
    members, others = geometric_laws(rate, shift)
    losses = np.log(members / others)
    expected = [(members * np.exp(1j * t * losses)).sum() for t in 0.1 * np.arange(1, 51)]
    np.testing.assert_allclose(kinds([rate], [shift]).waves(0.1, 50)[0], expected, atol=1e-9)
    assert kinds([rate], [shift]).mean[0] == pytest.approx(members @ losses, abs=1e-9)


def test_one_laplace_answer_matches_closed_form():
    for ratio in (0.1, 1.0, 5.0):
        assert numbers([ratio], [1])[0] == pytest.approx(1 - np.exp(-ratio / 2) / 2, abs=5e-4)


def test_gaussian_answers_match_closed_form():
    mus = np.array([0.01, 0.5, 2.0, 6.0])
    found = loss_sum_rates(kinds([1.0]), csr_array((4, 1)), mus**2)
    np.testing.assert_allclose(found.accuracy, ndtr(mus / 2), atol=1e-4)
    np.testing.assert_allclose(found.auc, ndtr(mus / np.sqrt(2)), atol=1e-4)
    np.testing.assert_allclose(found.tpr, ndtr(ndtri(0.01) + mus), atol=3e-4)


@pytest.mark.parametrize(("m", "ratio", "success"), [(10, 1.0, 0.917), (29, 0.33, 0.802), (10, 0.3, 0.675)])
def test_split_queries_match_published_experiments(m, ratio, success):
    assert numbers([ratio], [m])[0] == pytest.approx(success, abs=1e-3)


def test_two_geometric_answers_match_enumeration():
    worlds = []
    for world in (0, 1):
        one, other = geometric_laws(0.7, 1, 60)[world], geometric_laws(0.2, 4, 120)[world]
        worlds.append(np.multiply.outer(one, other).ravel())
    exact = (1 + np.abs(worlds[0] - worlds[1]).sum() / 2) / 2
    assert numbers([0.7, 0.2], [1, 1], [1, 4])[0] == pytest.approx(exact, abs=5e-4)


def test_mixed_scales_match_simulation():
    rng = np.random.default_rng(3)
    rates = np.array([0.1, 0.25, 0.6, 1.1])
    counts = np.array([8, 5, 3, 1])
    every = np.repeat(rates, counts)
    noise = rng.laplace(size=(400_000, every.size))
    member = (np.abs(noise + every) - np.abs(noise)).sum(axis=1)
    accuracy, auc, tpr = numbers(rates, counts)
    assert accuracy == pytest.approx((member > 0).mean() + (member == 0).mean() / 2, abs=0.003)
    absent = -(np.abs(noise[::-1] + every) - np.abs(noise[::-1])).sum(axis=1)
    assert auc == pytest.approx((member > absent).mean(), abs=0.003)
    assert tpr == pytest.approx((member > np.quantile(absent, 0.99)).mean(), abs=0.004)


def test_results_lie_in_exact_brackets():
    rng = np.random.default_rng(1)
    rates, shifts = [0.3, 1.0, 0.05, 0.7, 0.2], [0, 0, 0, 1, 4]
    counts = rng.poisson(np.array([0.3, 1, 3, 20])[np.arange(16) % 4, None], size=(16, 5))
    squares = np.where(np.arange(16) % 3 == 0, rng.exponential(0.5, 16), 0.0)
    found = loss_sum_rates(kinds(rates, shifts), csr_array(counts), squares)
    cells = [GeometricCell(rate, shift) if shift else LaplaceCell(rate) for rate, shift in zip(rates, shifts)]
    for i, row in enumerate(counts.tolist()):
        best = best_attack(zip(cells, row), mu=float(np.sqrt(squares[i])))
        assert found.accuracy[i] == pytest.approx(np.mean(best.accuracy), abs=3e-4)
        assert found.auc[i] == pytest.approx(np.mean(best.auc), abs=3e-4)
        assert found.tpr[i] == pytest.approx(np.mean(best.tpr_at(0.01)), abs=5e-4)


def test_auc_equals_accuracy_with_doubled_answers():
    assert numbers([0.2, 0.5], [7, 4])[1] == pytest.approx(numbers([0.2, 0.5], [14, 8])[0], abs=2e-4)


def test_unmoved_record_has_accuracy_one_half():
    assert numbers([1.0], [0]) == (0.5, 0.5, 0.01)


def test_many_answers_give_certainty():
    assert min(numbers([1.0], [100_000])) > 1 - 1e-4


def test_rejects_unmoved_cell():
    for rate in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match="rate"):
            kinds([rate])


@pytest.mark.parametrize(("rate", "shift", "mu"), [(1.8902, 2, 0.03697), (1.3174, 3, 0.0461)])
def test_slightly_blurred_atoms_are_separated(rate, shift, mu):
    """Hits by the exact law: each lump of the geometric loss, spread as a normal loss."""
    members, others = geometric_laws(rate, shift, 60)
    losses = np.log(members / others)

    def hits(threshold, masses, sign):
        return masses @ ndtr((losses + sign * mu**2 / 2 - threshold) / mu)

    low, high = -10.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if hits(middle, others, -1) > 0.01 else (low, middle)
    found = numbers([rate], [1], [shift], mu)[2]
    assert found == pytest.approx(hits(low, members, 1), abs=3e-4)


def test_kinds_that_nobody_has_change_nothing():
    """Not in a bit: with and without kinds between and after those of the targets."""
    few = kinds([0.1, 0.7, 0.2], [0, 0, 3])
    many = kinds([0.05, 0.1, 0.3, 0.7, 0.2, 2.0], [0, 0, 0, 0, 3, 0])
    counts, squares = np.array([[3, 0, 1], [40, 2, 0], [0, 0, 9], [0, 0, 0]]), np.array([0.0, 0.5, 0.0, 1.0])
    wide = np.zeros((4, 6), dtype=int)
    wide[:, [1, 3, 4]] = counts
    alone = loss_sum_rates(few, csr_array(counts), squares)
    among = loss_sum_rates(many, csr_array(wide), squares)
    for name in ("accuracy", "auc", "tpr"):
        assert (getattr(alone, name) == getattr(among, name)).all()
