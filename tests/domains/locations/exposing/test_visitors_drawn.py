import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.exposing.visitors_drawn import Draw, Masses


@pytest.mark.parametrize("visitors", [0, 1, 7, 200, 4_999, 5_000])
@pytest.mark.parametrize("size", [0, 1, 1_000, 5_000])
def test_the_law_is_the_hypergeometric_one(visitors, size):
    from scipy.stats import hypergeom

    found = Draw(5_000, size).of(visitors)
    counts = found.first + np.arange(found.chances.size)
    np.testing.assert_allclose(found.chances, hypergeom.pmf(counts, 5_000, visitors, size), atol=1e-10)
    assert found.chances.sum() == pytest.approx(1)


def test_a_law_over_a_wider_range_is_the_same():
    masses = Masses(3, np.array([0.25, 0.75]))
    np.testing.assert_array_equal(masses.over(1, 6), [0, 0, 0.25, 0.75, 0, 0])
    assert masses.last == 4


@pytest.mark.parametrize("size", [-1, 11])
def test_a_group_larger_than_the_crowd_is_refused(size):
    with pytest.raises(BadInput, match="cannot be drawn from 10 people"):
        Draw(10, size)
