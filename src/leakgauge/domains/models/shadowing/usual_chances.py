"""The probability that models usually give to a record's class, be it a member or not."""

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.models.shadowing.signals import log_mean

_GRID = np.linspace(0.0, 1.0, 11)


def with_and_without(logs: Reals, members: Bits) -> Reals:
    """The mean over shadows with a record and over those without it, in equal parts; in logarithms.

    (Zarifzadeh, Liu and Shokri 2024.) Both arguments are shadows x records.
    """
    return np.logaddexp(log_mean(logs, members), log_mean(logs, ~members)) - np.log(2)


def from_without(logs: Reals, others: Bits, a: float) -> Reals:
    """The same from shadows without a record alone: with it, the mean p is taken to be 1 - a (1 - p).

    (Zarifzadeh, Liu and Shokri 2024: a p + 1 - a.)
    """
    return _corrected(log_mean(logs, others), a)


def best_a(logs: Reals, members: Bits) -> float:
    """The ``a`` that tells best which rows a shadow was trained on, by the other shadows.

    Best is the mean over shadows of the AUC, of ties the largest ``a``. A shadow without both kinds of rows
    has no say.
    """
    found = np.array([_aucs(logs, members, place) for place in range(len(logs))])
    means = found.mean(axis=0)
    return float(_GRID[means >= means.max() - 1e-12][-1])


def _aucs(logs: Reals, members: Bits, place: int) -> Reals:
    """For one shadow, at each ``a``."""
    others = ~members
    others[place] = False
    rows = others.any(axis=0)
    of_shadow, truth = logs[place, rows], members[place, rows]
    if truth.all() or not truth.any():
        return np.full(_GRID.size, 0.5)
    without = log_mean(logs[:, rows], others[:, rows])
    ratios = (of_shadow - _corrected(without, a) for a in _GRID.tolist())
    return np.array([_auc(one[truth], one[~truth]) for one in ratios])


def _corrected(without: Reals, a: float) -> Reals:
    return np.log(((1 + a) * np.exp(without) + (1 - a)) / 2)


def _auc(members: Reals, others: Reals) -> float:
    """The chance that a member is above another row; ties count half."""
    others = np.sort(others)
    below = np.searchsorted(others, members, "left") + np.searchsorted(others, members, "right")
    return float(below.mean() / (2 * others.size))
