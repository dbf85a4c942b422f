import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

from leakgauge.theory.loss_tables import LossTables
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell, ResponseCell

CELLS = (LaplaceCell(0.7), GeometricCell(0.3, 4), ResponseCell(1.1), LaplaceCell(0.02))


def test_characteristic_functions_and_moments_match_definition():
    tables, times = LossTables.of(CELLS), np.array([0.2, 1.0, 6.0])
    outputs = np.arange(-300, 301)
    geometric = [np.tanh(0.15) * np.exp(-0.3 * np.abs(outputs - moved)) for moved in (4, 0)]
    share = 1 / (1 + np.exp(-1.1))
    laws = [
        (np.log(geometric[0] / geometric[1]), geometric[0]),
        (np.array([1.1, -1.1]), np.array([share, 1 - share])),
    ]
    found = tables.waves(times)
    for row, (losses, masses) in zip((1, 2), laws):
        expected = [(masses * np.exp(1j * t * losses)).sum() for t in times]
        np.testing.assert_allclose(found[row], expected, atol=3e-5)
        mean = masses @ losses
        assert tables.mean[row] == pytest.approx(mean, rel=1e-4)
        assert tables.variance[row] == pytest.approx(masses @ (losses - mean) ** 2, rel=1e-4)
    assert tables.mean[3] == pytest.approx(0.02 + np.expm1(-0.02), rel=1e-4)
    np.testing.assert_allclose(tables.largest, [0.7, 1.2, 1.1, 0.02], rtol=1e-3)


def test_many_gaussian_losses_have_epsilon_above_exact_one():
    """Of Gaussian noise alone the epsilon is known; Renyi divergences give no less, and little more."""
    (found,) = LossTables.of(CELLS).epsilons(csr_array((1, 4)), np.array([1.0]), 1e-5)
    exact = 4.3772
    assert norm.cdf(0.5 - exact) - np.exp(exact) * norm.cdf(-0.5 - exact) == pytest.approx(1e-5, rel=1e-3)
    assert exact < found < 1.1 * exact


def test_epsilon_never_exceeds_largest_losses_by_much():
    counts = csr_array(np.array([[1, 0, 0, 0], [0, 2, 1, 0], [0, 0, 0, 0]]))
    found = LossTables.of(CELLS).epsilons(counts, np.zeros(3), 1e-12)
    np.testing.assert_allclose(found, [0.7, 3.5, 0.0], rtol=0.03)
