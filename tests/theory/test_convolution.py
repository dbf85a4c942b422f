import numpy as np
import pytest

from leakgauge.theory.cells import Geometric, Laplace, Response
from leakgauge.theory.convolution import summed, window


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
        [(Laplace(0.5), 1)],
        [(Laplace(0.5), 4)],
        [(Response(0.5), 7)],
        [(Geometric(0.25, 3), 3), (Response(0.5), 2), (Laplace(1.0), 2)],
    ],
)
def test_the_transform_adds_up_like_plain_convolution(cells):
    step = 0.05
    laws = [(cell.spread(step), n) for cell, n in cells]
    losses, masses = direct_sum(laws, step)
    half = summed(laws, 0.0, step)
    assert half.low is half.high
    for loss, members, others in zip(half.low, half.members, half.others):
        place = np.argmin(np.abs(losses - loss))
        assert members == pytest.approx(masses[place], abs=1e-14)
        assert others == pytest.approx(masses[losses.size - 1 - place], abs=1e-14)
    assert half.members.sum() == pytest.approx(masses[losses > step / 2].sum(), abs=1e-12)


def test_a_gaussian_part_is_added_without_a_lattice_of_its_own():
    from scipy.stats import norm

    step, mu = 0.05, 0.8
    laws = [(Laplace(0.5).gathered(step), 2)]
    losses, masses = direct_sum(laws, step)
    half = summed(laws, mu, step)
    for world, sign in ((half.members, 1), (half.others, -1)):
        laws_masses = masses if sign == 1 else masses[::-1]
        exact = [
            laws_masses
            @ np.diff(norm.cdf(np.subtract.outer([low, high], losses), sign * mu**2 / 2, mu), axis=0)[0]
            for low, high in zip(half.low, half.high)
        ]
        np.testing.assert_allclose(world, exact, atol=1e-13)


def test_the_window_holds_all_but_a_negligible_part():
    step = 0.01
    for cell, n in ((Laplace(0.5), 40), (Response(0.3), 200), (Geometric(1.0, 2), 30)):
        law = cell.spread(step)
        losses, masses = direct_sum([(law, n)], step) if n <= 40 else (None, None)
        low, high = window([(*cell.moments, cell.largest, n)], 0.0)
        assert low >= -n * cell.largest
        assert high <= n * cell.largest
        if losses is not None:
            assert masses[(losses < low - step) | (losses > high + step)].sum() < 1e-15


def test_thousands_of_cells_fit_on_a_short_lattice():
    low, high = window([(*Laplace(0.5).moments, 0.5, 100_000)], 0.0)
    assert high - low < 0.05 * 2 * 100_000 * 0.5
