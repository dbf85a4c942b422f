import math

import mpmath
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import threshold_attacks
from leakgauge.theory.threshold_attacks import (
    cell_error_gaussian,
    cell_error_laplace,
    laplace_sum_above,
    one_threshold_as_printed,
    one_threshold_clt,
    one_threshold_laplace,
    two_threshold,
    two_threshold_clt,
)

SIGMA = math.sqrt(2 * math.log(1.25 * 2 * 1999)) / 0.5

# Computed twice elsewhere (inversion of the characteristic function, Fourier convolution) and simulated:
# cells, sum and vote under Laplace noise of scale 2, sum and vote under Gaussian noise of sigma 8.2543.
TABLE = [
    (1, 0.6106, 0.6106, 0.5241, 0.5241),
    (5, 0.6648, 0.7007, 0.5539, 0.5452),
    (10, 0.7185, 0.7552, 0.5759, 0.5592),
    (20, 0.7888, 0.8387, 0.6068, 0.5845),
    (40, 0.8695, 0.9204, 0.6492, 0.6193),
    (60, 0.9150, 0.9580, 0.6805, 0.6453),
    (80, 0.9432, 0.9771, 0.7060, 0.6667),
    (100, 0.9614, 0.9873, 0.7277, 0.6851),
    (120, 0.9735, 0.9928, 0.7465, 0.7014),
    (140, 0.9817, 0.9959, 0.7632, 0.7159),
]


@pytest.mark.parametrize(("n", "laplace_sum", "laplace_vote", "gaussian_sum", "gaussian_vote"), TABLE)
def test_the_known_table_is_reached(n, laplace_sum, laplace_vote, gaussian_sum, gaussian_vote):
    assert abs(one_threshold_laplace(n, 0.5) - laplace_sum) < 6e-5
    assert abs(two_threshold(n, cell_error_laplace(0.5)) - laplace_vote) < 6e-5
    assert abs(one_threshold_clt(n, 1 / SIGMA) - gaussian_sum) < 6e-5
    assert abs(two_threshold(n, cell_error_gaussian(1 / SIGMA)) - gaussian_vote) < 6e-5


@pytest.mark.parametrize(("n", "x"), [(2, 0.5), (3, 4.0), (8, 2.0), (25, 6.25)])
def test_a_sum_of_laplace_variables_has_the_law_its_characteristic_function_says(n, x):
    mpmath.mp.dps = 30
    inverted = mpmath.quad(
        lambda t: mpmath.sin(t * x) / (t * (1 + t * t) ** n),
        [*mpmath.linspace(0, 8, 9), 40, 1000, mpmath.inf],
    )
    assert abs(laplace_sum_above(x, n) - float(mpmath.mpf(1) / 2 - inverted / mpmath.pi)) < 1e-9


def test_one_and_two_laplace_variables_have_their_closed_forms():
    for x in (0.0, 0.7, 3.0):
        assert laplace_sum_above(x, 1) == pytest.approx(math.exp(-x) / 2, rel=1e-13)
        assert laplace_sum_above(x, 2) == pytest.approx((2 + x) * math.exp(-x) / 4, rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 31, 60])
@pytest.mark.parametrize("error", [0.05, 0.3894, 0.5])
def test_the_vote_counts_every_outcome(n, error):
    """Against the plain sum over counts, ties given to members as in equation 10, and to non-members."""

    def chance(hits, p):
        return math.comb(n, hits) * p**hits * (1 - p) ** (n - hits)

    for least in (math.ceil(n / 2), n // 2 + 1):
        tpr = sum(chance(hits, 1 - error) for hits in range(least, n + 1))
        fpr = sum(chance(hits, error) for hits in range(least, n + 1))
        assert two_threshold(n, error) == pytest.approx((1 + tpr - fpr) / 2, abs=1e-12)


def test_one_cell_is_wrong_as_often_as_its_law_says():
    rng = np.random.default_rng(20240501)
    noise = rng.laplace(scale=2.0, size=400_000)
    assert abs((noise >= 0.5).mean() - cell_error_laplace(0.5)) < 4 * math.sqrt(0.24 / 400_000)
    assert abs((1 + noise < 0.5).mean() - cell_error_laplace(0.5)) < 4 * math.sqrt(0.24 / 400_000)
    noise = rng.normal(scale=2.0, size=400_000)
    assert abs((1 + noise < 0.5).mean() - cell_error_gaussian(0.5)) < 4 * math.sqrt(0.25 / 400_000)


def test_the_approximations_are_those_of_the_paper():
    error = cell_error_laplace(0.5)
    known = [(1, 0.590), (5, 0.694), (20, 0.845), (60, 0.9605), (100, 0.988), (140, 0.996)]
    for n, rate in known:
        assert abs(two_threshold_clt(n, error) - rate) < 6e-4
    assert one_threshold_clt(60, 0.5 / math.sqrt(2)) == pytest.approx(0.9145, abs=1e-4)
    assert one_threshold_as_printed([1, 60], 0.5 / math.sqrt(2)).tolist() == pytest.approx(
        [0.570] * 2, abs=2e-4
    )


def test_the_central_limit_theorem_is_right_in_the_end():
    assert one_threshold_laplace(2000, 0.05) == pytest.approx(
        float(one_threshold_clt(2000, 0.05 / math.sqrt(2))), abs=2e-4
    )


def test_many_cells_are_no_trouble():
    rates = one_threshold_laplace(np.arange(1, 400), 0.5)
    assert (np.diff(rates) > 0).all()
    assert abs(rates[-1] - math.erfc(-math.sqrt(399) / 8) / 2) < 2e-5


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, math.inf])
def test_a_number_of_cells_is_whole_and_positive(n):
    for rate in (one_threshold_laplace, one_threshold_clt, one_threshold_as_printed):
        with pytest.raises(BadInput, match="number of cells"):
            rate(n, 0.5)
    for rate in (two_threshold, two_threshold_clt):
        with pytest.raises(BadInput, match="number of cells"):
            rate(n, 0.4)


def test_noise_has_a_scale_and_a_cell_an_error():
    for ratio in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(BadInput, match="ratio"):
            one_threshold_laplace(1, ratio)
        with pytest.raises(BadInput, match="ratio"):
            threshold_attacks.cell_error_gaussian(ratio)
    for error in (0.0, 0.51, math.nan):
        with pytest.raises(BadInput, match="error of a cell"):
            two_threshold(1, error)
    with pytest.raises(BadInput, match="finite"):
        laplace_sum_above(-1.0, 3)
