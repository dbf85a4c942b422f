import math

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory.cell_attacks import laplace_sum_above
from leakgauge.theory.square_sums import SquareSums


@pytest.fixture(scope="module", params=[4, 10, 29])
def law(request):
    return SquareSums.of(request.param)


def masses(law):
    return np.diff(law.below, axis=1, prepend=0.0)


def test_the_sum_alone_has_its_known_law(law):
    rows = law.below[:, -1]
    step = law.sums[1]
    assert rows.sum() == pytest.approx(1, abs=1e-6)
    for x in (0.5, 2.0, 6.0):
        i = round(x / step)
        half_open = rows[law.sums > (i + 0.25) * step].sum()
        expected = laplace_sum_above((i + 0.5) * step / law.spread, law.m)
        assert half_open == pytest.approx(expected, abs=2e-4)


def test_the_squares_have_their_known_moments(law):
    table, q = masses(law), law.step * np.arange(law.below.shape[1])
    per_variable = 2 * law.spread**2 - 145 * math.exp(-11)  # E x^2 = 2, and its part beyond 11 is left out
    assert (table.sum(axis=0) @ q) / law.m == pytest.approx(per_variable, rel=2e-4)
    assert law.sums @ table.sum(axis=1) == pytest.approx(0, abs=1e-6)
    assert law.sums**2 @ table.sum(axis=1) / law.m == pytest.approx(per_variable, rel=2e-4)


def test_a_test_that_asks_for_nothing_rejects_always_and_one_sided_half_of_the_time(law):
    not_zero = 1 - law.below[0, -1]  # a sum of exactly zero is rejected by no test
    assert law.rejected(0.0, 1e-9, both_sides=True) == pytest.approx(not_zero, abs=1e-5)
    assert law.rejected(0.0, 1e-9, both_sides=False) == pytest.approx(not_zero / 2, abs=1e-5)


def test_far_moved_variables_are_always_noticed(law):
    assert law.rejected(40.0, 2.0, both_sides=False) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("m", [3, 101, 4.5, math.nan])
def test_other_numbers_of_variables_are_refused(m):
    with pytest.raises(BadInput, match="whole number in"):
        SquareSums.of(m)


@pytest.mark.slow
@pytest.mark.parametrize("m", [4, 5, 10, 29, 60])
@pytest.mark.parametrize("shift", [0.0, 0.4, 2.0])
def test_rejections_are_as_frequent_as_in_a_simulation(m, shift):
    rng, n = np.random.default_rng([m, int(10 * shift)]), 1_500_000
    law = SquareSums.of(m)
    counts = np.zeros(2)
    for _ in range(5):
        values = rng.laplace(shift, size=(n // 5, m))
        t = values.mean(axis=1) / (values.std(axis=1, ddof=1) / math.sqrt(m))
        counts += [(np.abs(t) > 2.1).sum(), (t > 2.1).sum()]
    for both_sides, share in zip((True, False), counts / n):
        found = law.rejected(shift, 2.1, both_sides=both_sides)
        assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / n) + 4e-4
