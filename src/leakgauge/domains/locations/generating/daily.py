"""The day of a city: when people are seen, and when they are at home."""

import numpy as np

from leakgauge.core.game import Reals

# Relative numbers of visits by hour of the day, on weekdays and at weekends.
_WEEKDAY = (3, 2, 1, 1, 1, 2, 4, 8, 10, 9, 8, 9, 11, 11, 9, 9, 10, 12, 13, 12, 10, 9, 7, 5)
_WEEKEND = (5, 4, 3, 2, 1, 1, 2, 3, 5, 7, 9, 10, 11, 11, 10, 10, 11, 11, 11, 10, 9, 8, 7, 6)
# How far those who are seen are at home.
_AT_HOME = (9, 9, 9, 9, 9, 9, 8, 6, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8)
_HOUR = 3600


def rhythm(n_epochs: int, length: int, home: float) -> tuple[Reals, Reals]:
    """The share of visits in each epoch, and the chance in each that a visit is at home.

    Epochs of ``length`` seconds begin on Monday 00:00; ``home`` is the share of all visits that are at home.

    >>> rhythm(168, 3600, home=0.3)[0].sum().round(9)
    np.float64(1.0)
    """
    weights = _integral(np.array(_WEEKDAY * 5 + _WEEKEND * 2, dtype=float), n_epochs, length)
    weights /= weights.sum()
    base = _integral(np.array(_AT_HOME * 7) / 10, n_epochs, length) / length
    return weights, _shifted(np.log(base / (1 - base)), weights, home)


def _shifted(odds: Reals, weights: Reals, share: float) -> Reals:
    """Shift log-odds alike so that the mean chance is the one asked for."""
    if share == 0:
        return np.zeros(odds.size)
    low, high = -50.0, 50.0
    for _ in range(60):  # the mean grows with the shift
        shift = (low + high) / 2
        low, high = (shift, high) if weights @ _chance(odds + shift) < share else (low, shift)
    return _chance(odds + low)


def _chance(odds: Reals) -> Reals:
    return 1 / (1 + np.exp(-odds))


def _integral(week: Reals, n_epochs: int, length: int) -> Reals:
    """Integrate an hourly rate, which repeats every week, over epochs."""
    ends = np.arange(n_epochs + 1, dtype=float) * length / _HOUR
    weeks, hours = np.divmod(ends, week.size)
    total = np.concatenate([[0.0], np.cumsum(week)])
    summed = weeks * total[-1] + np.interp(hours, np.arange(week.size + 1), total)
    return np.diff(summed) * _HOUR
