"""Curves short enough to draw."""

import numpy as np

from leakgauge.core.game import Reals


def thin(fpr: Reals, tpr: Reals, most: int = 500) -> tuple[Reals, Reals]:
    """Keep at most so many points of a rising curve, half of them where false positives are rare.

    Corners between points that lie on one line are dropped first.
    """
    turn = np.ones(fpr.size, bool)
    turn[1:-1] = (np.diff(fpr)[:-1] * np.diff(tpr)[1:]) != (np.diff(fpr)[1:] * np.diff(tpr)[:-1])
    fpr, tpr = fpr[turn], tpr[turn]
    if fpr.size <= most:
        return fpr, tpr
    positive = fpr[fpr > 0]
    low = np.geomspace(positive[0], 1.0, most // 2 - 2)
    places = np.searchsorted(fpr, np.concatenate([low, np.linspace(0, 1, most // 2 - 2)]), side="right") - 1
    keep = np.unique(np.concatenate([[0, fpr.size - 1], places]))
    return fpr[keep], tpr[keep]
