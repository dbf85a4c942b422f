"""Confidence bounds on the mean of a quantity that cannot leave a known range, whatever its distribution."""

import numpy as np
import scipy

from leakgauge.core.arrays import Reals

_SMALL = 1e-3  # below, the correction of the root is rounding
_MOST_DISTINCT = 4_096  # more are spread over a grid


def mean_low(values: Reals, lowest: float, error: float) -> float:
    """Lower confidence bound on the mean of independent values, none of which can be below ``lowest``.

    One value at ``lowest`` is added, for what could happen and was not seen, and all get random weights that
    sum to 1, every such set being as likely as another: the bound is the quantile of the weighted mean
    (Gaffke 2005). For values of 0 and 1 it is that of Clopper and Pearson. No distribution is known for which
    it exceeds the mean more often than ``error``; that it never does is proved for two values only.

    The quantile is that of a sum of exponential variables, by its saddlepoint (Lugannani and Rice 1980), and
    differs from the exact one by less than 0.002 from 10 values on.

    >>> round(mean_low(np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 0.0, 0.05), 2)
    0.61
    """
    from scipy.optimize import brentq

    lowest = min(lowest, float(values.min()))
    distinct, counts = _counted(np.append(values, lowest))
    highest, mean = float(distinct[-1]), float(distinct @ counts) / (values.size + 1)
    if not highest - lowest > 1e-12:  # less is rounding
        return lowest
    wanted, edge = float(scipy.special.ndtri(error)), 1e-9 * (mean - lowest)

    def excess(level: float) -> float:
        return _normal_score(level, distinct, counts) - wanted

    width = (2 - wanted) * float(np.sqrt(counts @ np.square(distinct - mean))) / (values.size + 1)
    while not excess(below := max(mean - width, lowest + edge)) < 0:
        if below <= lowest + edge:
            return lowest
        width *= 2
    return float(brentq(excess, below, mean, xtol=1e-8 * (highest - lowest)))


def mean_high(values: Reals, highest: float, error: float) -> float:
    """Upper confidence bound on the mean of independent values, none of which can be above ``highest``."""
    return -mean_low(-values, -highest, error)


def _counted(values: Reals) -> tuple[Reals, Reals]:
    """The distinct values in order, and how often each occurs.

    Very many are divided between their two neighbours on an even grid: that keeps the mean and adds a little
    to the spread, so a bound moves outwards by next to nothing.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size <= _MOST_DISTINCT:
        return distinct, counts.astype(np.float64)
    grid = np.linspace(distinct[0], distinct[-1], _MOST_DISTINCT)
    place = (distinct - distinct[0]) / (distinct[-1] - distinct[0]) * (_MOST_DISTINCT - 1)
    below = np.minimum(place.astype(np.int64), _MOST_DISTINCT - 2)
    share = place - below
    masses = np.zeros(_MOST_DISTINCT)
    np.add.at(masses, below, counts * (1 - share))
    np.add.at(masses, below + 1, counts * share)
    return grid[masses > 0], masses[masses > 0]


def _normal_score(level: float, values: Reals, counts: Reals) -> float:
    """The normal quantile of the chance that the weighted mean is at most ``level``.

    That is the chance that the sum of (value - level) times an exponential variable is at most 0.
    """
    distances = values - level
    tilt = _saddlepoint(distances, counts)
    growth = float(counts @ np.log1p(-tilt * distances))  # minus the cumulant generating function
    root = np.sign(tilt) * np.sqrt(max(2 * growth, 0.0))
    if abs(root) < _SMALL:
        return float(root)
    spread = tilt * np.sqrt(counts @ np.square(distances / (1 - tilt * distances)))
    return float(root + np.log(spread / root) / root)


def _saddlepoint(distances: Reals, counts: Reals) -> float:
    """Where the derivative of the cumulant generating function is 0: Newton's steps, halved at the edges."""
    low, high, tilt = 1 / float(distances[0]), 1 / float(distances[-1]), 0.0
    smallest = 1e-6 / float(distances[-1] - distances[0])
    for _ in range(100):
        terms = distances / (1 - tilt * distances)
        slope = float(counts @ terms)
        low, high = (low, tilt) if slope > 0 else (tilt, high)
        step = tilt - slope / float(counts @ np.square(terms))
        step = step if low < step < high else (low + high) / 2
        if abs(step - tilt) <= 1e-9 * max(abs(step), smallest):
            return step
        tilt = step
    return tilt
