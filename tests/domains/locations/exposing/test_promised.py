import numpy as np
import pytest

from leakgauge.core.guarantee import Unit
from leakgauge.domains.locations.exposing.promised import promised
from leakgauge.domains.locations.promises import composed
from leakgauge.mechanisms import gaussian, laplace

LAPLACE = laplace.Mechanism(epsilon=0.5, unit=Unit.EVENT)


def test_everybody_gets_the_composition_over_their_own_cells():
    found = promised(LAPLACE, np.array([20, 1, 20, 7]))
    for person, n in enumerate((20, 1, 20, 7)):
        alone = composed(LAPLACE, n)
        assert found.kairouz[person] == pytest.approx(alone.kairouz)
        assert found.tight[person] == pytest.approx(alone.tight)
    assert (found.nominal, found.unit) == (0.5, "event")
    assert found.delta.tolist() == [1e-5] * 4


def test_who_moves_nothing_is_promised_everything():
    found = promised(LAPLACE, np.array([0, 3]))
    assert (found.kairouz[0], found.tight[0]) == (0.0, 0.0)


def test_of_many_numbers_no_bound_is_too_small_nor_above_kairouz():
    numbers = np.arange(1, 400)
    found = promised(LAPLACE, numbers)
    for n in (5, 64, 65, 130, 287, 399):
        exact = composed(LAPLACE, n)
        assert exact.tight - 1e-9 <= found.tight[n - 1] <= 1.06 * exact.tight
    assert (found.tight <= found.kairouz).all()
    assert (np.diff(found.tight) >= -1e-9).all()


def test_the_deltas_of_gaussian_cells_grow_with_their_number():
    noise = gaussian.Mechanism(sigma=4.0, delta=1e-6, unit=Unit.EVENT)
    numbers = np.arange(1, 300)
    found = promised(noise, numbers)
    np.testing.assert_allclose(found.delta, 1 - (1 - 1e-6) ** numbers * (1 - 1e-5), rtol=1e-9)
    assert found.tight[249] == pytest.approx(composed(noise, 250).tight)
