import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from leakgauge.core.errors import BadInput
from leakgauge.theory import privacy_loss
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell, ResponseCell

STEPS = [0.003, 0.01, 0.1, 0.37, 2.0]


def lost_on_lattice(law: np.ndarray, step: float, epsilon: float) -> float:
    """Delta at an epsilon, from all losses of a lattice law."""
    losses = step * np.arange(law.size)
    both = np.concatenate([losses, -losses[1:]])
    masses = np.concatenate([law, law[1:] * np.exp(-losses[1:])])
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    return float(np.sum(masses * np.maximum(0, 1 - np.exp(epsilon - both))))


def lost_under_laplace(ratio: float, epsilon: float) -> float:
    def excess(x):
        return max(0.0, laplace.pdf(x, ratio) - np.exp(epsilon) * laplace.pdf(x))

    if abs(epsilon) >= ratio:
        return max(0.0, -np.expm1(epsilon)) if epsilon < 0 else 0.0
    cut = (ratio + epsilon) / 2  # where the densities' ratio is e^epsilon
    parts = [(cut, ratio), (ratio, ratio + 40)]
    return sum(quad(excess, a, b, epsabs=1e-13)[0] for a, b in parts)


def finite_laws(cell) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all outputs in both worlds, output by output."""
    if isinstance(cell, ResponseCell):
        k = cell.categories
        others = np.full(k, 1 / (np.exp(cell.epsilon) + k - 1))
        members = others.copy()
        others[0] *= np.exp(cell.epsilon)
        members[1] *= np.exp(cell.epsilon)
        return others, members
    far = int(60 / cell.rate)
    outputs = np.arange(-far, far + cell.shift + 1)
    fall = np.exp(-cell.rate)
    level = (1 - fall) / (1 + fall)
    return level * fall ** np.abs(outputs), level * fall ** np.abs(outputs - cell.shift)


ATOMS = [
    GeometricCell(0.5),
    GeometricCell(0.31, 3),
    GeometricCell(0.8, 4),
    ResponseCell(0.7),
    ResponseCell(1.3, 5),
]


@pytest.mark.parametrize("ratio", [0.01, 0.37, 0.5, 1.0, 3.3])
@pytest.mark.parametrize("step", STEPS)
def test_lattice_brackets_laplace_cell(ratio, step):
    cell = LaplaceCell(ratio)
    for epsilon in np.linspace(-1.2 * ratio, 1.2 * ratio, 13):
        exact = lost_under_laplace(ratio, epsilon)
        assert lost_on_lattice(cell.pessimistic_lattice(step), step, epsilon) >= exact - 1e-10
        assert lost_on_lattice(cell.optimistic_lattice(step), step, epsilon) <= exact + 1e-10


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.3])
@pytest.mark.parametrize("parts", [16, 17, 20.3])
def test_fine_lattice_is_close_to_laplace_cell(ratio, parts):
    step = ratio / parts
    width = [
        lost_on_lattice(LaplaceCell(ratio).pessimistic_lattice(step), step, epsilon)
        - lost_on_lattice(LaplaceCell(ratio).optimistic_lattice(step), step, epsilon)
        for epsilon in np.linspace(-ratio, ratio, 21)
    ]
    assert max(width) < (step**2 if parts == int(parts) else step**1.5)


@pytest.mark.parametrize("cell", ATOMS)
@pytest.mark.parametrize("step", STEPS)
def test_lattice_brackets_discrete_cells(cell, step):
    others, members = finite_laws(cell)
    for epsilon in np.linspace(-1.2 * cell.largest, 1.2 * cell.largest, 13):
        exact = np.maximum(0, members - np.exp(epsilon) * others).sum()
        assert lost_on_lattice(cell.pessimistic_lattice(step), step, epsilon) >= exact - 1e-10
        assert lost_on_lattice(cell.optimistic_lattice(step), step, epsilon) <= exact + 1e-10


@pytest.mark.parametrize("cell", ATOMS)
def test_unit_lattice_holds_atoms_exactly(cell):
    others, members = finite_laws(cell)
    np.testing.assert_allclose(
        cell.pessimistic_lattice(cell.unit), cell.optimistic_lattice(cell.unit), atol=1e-15
    )
    for epsilon in np.linspace(-cell.largest, cell.largest, 9):
        exact = np.maximum(0, members - np.exp(epsilon) * others).sum()
        assert lost_on_lattice(cell.pessimistic_lattice(cell.unit), cell.unit, epsilon) == pytest.approx(
            exact, abs=1e-12
        )


@pytest.mark.parametrize("cell", ATOMS)
def test_atom_moments_match_enumeration(cell):
    others, members = finite_laws(cell)
    losses = np.log(members / others)
    mean, variance = cell.moments
    assert mean == pytest.approx(members @ losses, abs=1e-9)
    assert variance == pytest.approx(members @ losses**2 - mean**2, abs=1e-9)
    assert cell.largest == pytest.approx(losses.max())


@pytest.mark.parametrize("ratio", [0.01, 0.5, 1.0, 3.3, 20.0])
def test_laplace_moments_match_quadrature(ratio):
    def moment(power):
        middle = quad(lambda x: (2 * x - ratio) ** power * laplace.pdf(x, ratio), 0, ratio, epsabs=1e-13)[0]
        return middle + ratio**power / 2 + (-ratio) ** power * np.exp(-ratio) / 2

    mean, variance = LaplaceCell(ratio).moments
    assert mean == pytest.approx(moment(1), rel=1e-7)
    assert moment(2) - moment(1) ** 2 <= variance


def test_extreme_cells_raise_no_warning():
    for cell in (
        LaplaceCell(2000.0),
        LaplaceCell(1e-9),
        GeometricCell(800.0),
        GeometricCell(1e-9, 3),
        ResponseCell(2000.0),
    ):
        for law in (cell.pessimistic_lattice(cell.largest / 7), cell.optimistic_lattice(cell.largest / 7)):
            assert np.isfinite(law).all()
            assert (law >= 0).all()


@pytest.mark.parametrize("bad", [np.nan, 0.0, -1.0, np.inf])
def test_rejects_unmoved_or_noiseless_cell(bad):
    for kind in (LaplaceCell, GeometricCell, ResponseCell):
        with pytest.raises(BadInput):
            kind(bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_rejects_fractional_geometric_shift(bad):
    with pytest.raises(BadInput, match="whole number"):
        GeometricCell(0.5, bad)


def test_rejects_single_category():
    with pytest.raises(BadInput, match="at least 2"):
        ResponseCell(1.0, 1)


def both_worlds(law: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    losses = step * np.arange(law.size)
    members = np.concatenate([law, law[1:] * np.exp(-losses[1:])])
    others = np.concatenate([law[:1], law[1:] * np.exp(-losses[1:]), law[1:]])
    return members, others


@pytest.mark.parametrize("step", [0.07, 0.5, 3.0])
def test_lattice_probabilities_sum_to_one_in_both_worlds(step):
    losses, masses = np.array([0.4, 1.0, 2.2]), np.array([0.2, 0.1, 0.3])
    for law in (
        privacy_loss.spread_on_lattice(losses, masses, step),
        privacy_loss.gather_on_lattice(losses, masses, step),
    ):
        for world in both_worlds(law, step):
            assert (world >= 0).all()
            assert world.sum() == pytest.approx(1, abs=1e-14)


def test_spreading_keeps_atom_probability():
    law = privacy_loss.spread_on_lattice(np.array([0.25]), np.array([0.4]), 0.1)
    np.testing.assert_allclose(law[2] + law[3], 0.4)
    np.testing.assert_allclose(law[2] * np.exp(-0.2) + law[3] * np.exp(-0.3), 0.4 * np.exp(-0.25))


def test_gathering_keeps_probability_of_mirrored_pair():
    law = privacy_loss.gather_on_lattice(np.array([0.25]), np.array([0.4]), 0.1)
    np.testing.assert_allclose(law[2] * (1 + np.exp(-0.2)), 0.4 * (1 + np.exp(-0.25)))


def test_loss_on_lattice_is_stable_under_rounding():
    whole, rest = privacy_loss.whole_and_rest(0.1 * 3, 0.1)
    assert (int(whole), float(rest)) == (3, 0.0)
    whole, rest = privacy_loss.whole_and_rest([0.35, 0.1], 0.1)
    np.testing.assert_array_equal(whole, [3, 1])
    np.testing.assert_allclose(rest, [0.05, 0.0], atol=1e-12)
