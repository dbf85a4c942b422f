"""The law of a sum of privacy losses on a lattice, by Fourier transform."""

from collections.abc import Sequence
from math import ceil, floor, sqrt

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from leakgauge.core.game import Reals
from leakgauge.theory.polygon import Half

_TAIL = 38.0  # a probability of e^-38 = 3e-17 may lie outside the window
_NORMAL_TAIL = 9.0  # standard deviations: 1e-19


def window(moments: Sequence[tuple[float, float, float, int]], mu: float) -> tuple[float, float]:
    """Where a sum lies: (mean, variance, largest, number) of each kind of loss; a Gaussian loss of ``mu``.

    Bernstein's inequality (1927) for the bounded losses, at most twice the largest away from their mean.
    """
    mean = sum(n * mean for mean, _, _, n in moments)
    variance = sum(n * variance for _, variance, _, n in moments)
    most = sum(n * largest for _, _, largest, n in moments)
    linear = max((2 * largest for _, _, largest, _ in moments), default=0.0) * _TAIL / 3
    reach = linear + sqrt(linear**2 + 2 * variance * _TAIL)
    low, high = max(-most, mean - reach), min(most, mean + reach)
    return low + mu * (mu / 2 - _NORMAL_TAIL), high + mu * (mu / 2 + _NORMAL_TAIL)


def summed(laws: Sequence[tuple[Reals, int]], mu: float, step: float) -> Half:
    """Add up independent losses: lattice laws, each so many times, and a Gaussian loss of ``mu``.

    Without a Gaussian part the bins of the result are atoms on the lattice.
    """
    low, high = window([(*_moments(law, step), n) for law, n in laws], mu)
    if sum(n for _, n in laws) == 1 and mu == 0:
        return _atoms(laws[0][0][1:], 1, step)
    first, last = floor(low / step) - 1, ceil(high / step) + 1
    size = next_fast_len(last - first + 1, real=True)
    transform = rfft(_gaussian(mu, step, size)) if mu > 0 else np.ones(size // 2 + 1, dtype=complex)
    for law, n in laws:
        transform *= rfft(_both_sides(law, step, size)) ** n
    total = np.maximum(irfft(transform, size), 0.0)
    if mu == 0:
        last = min(last, sum(n * (law.size - 1) for law, n in laws))
        return _atoms(total[np.arange(max(first, 1), last + 1) % size], max(first, 1), step)
    return _bins(total, max(first, 0), last, first, step)


def _atoms(members: Reals, first: int, step: float) -> Half:
    losses: Reals = step * np.arange(first, first + members.size, dtype=np.float64)[::-1]
    return Half(losses, losses, members[::-1], members[::-1] * np.exp(-losses))


def _bins(total: Reals, first: int, last: int, lowest: int, step: float) -> Half:
    """Bins [j step, (j + 1) step); the mirror image of a bin holds its probability for a non-member."""
    places = np.arange(first, last + 1)[::-1]
    members = total[places % total.size]
    most = members * np.exp(-step * places)
    mirror = np.where(-1 - places >= lowest, total[(-1 - places) % total.size], 0.0)
    others = np.clip(mirror, most * np.exp(-step), most)
    low: Reals = step * places.astype(np.float64)
    return Half(low, low + step, members, others)


def _both_sides(law: Reals, step: float, size: int) -> Reals:
    places = np.arange(law.size)
    circle = np.zeros(size)
    np.add.at(circle, places % size, law)
    np.add.at(circle, -places[1:] % size, law[1:] * np.exp(-step * places[1:]))
    return circle


def _gaussian(mu: float, step: float, size: int) -> Reals:
    """Probabilities, for a member, of the bins [j step, (j + 1) step) of a loss N(mu^2 / 2, mu^2)."""
    low, high = (floor(mu * (mu / 2 + side * _NORMAL_TAIL) / step) for side in (-1, 1))
    places: npt.NDArray[np.int64] = np.arange(low, high + 2)
    edges = step * places / mu - mu / 2
    upper = edges[:-1] > 0  # differences of small numbers, not of numbers near 1
    masses = np.where(upper, -np.diff(ndtr(-edges)), np.diff(ndtr(edges)))
    circle = np.zeros(size)
    np.add.at(circle, places[:-1] % size, masses)
    return circle


def _moments(law: Reals, step: float) -> tuple[float, float, float]:
    losses = step * np.arange(law.size)
    mirror = np.exp(-losses)
    mean = float(losses @ (law * (1 - mirror)))
    return mean, max(0.0, float(losses**2 @ (law * (1 + mirror))) - mean**2), float(losses[-1])
