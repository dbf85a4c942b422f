"""Where to cut a score, for a batch in which one row may be the target."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals


@dataclass(frozen=True)
class BatchRates:
    """How often a batch with the target is told, and how often one without it."""

    tpr: float
    tnr: float

    @property
    def won(self) -> float:
        """The share of games won: Adv of Nguyen et al. (eq. 3)."""
        return (self.tpr + self.tnr) / 2


def batch_rates(own: Reals, others: Reals, n_others: int, threshold: float = 0.0) -> BatchRates:
    """The rates by these scores, if a batch is told by any of its rows above the threshold.

    That none of ``n_others`` rows is above it has the probability (1 - FPR)^n: rows are independent. The
    chance that one of them is above it where the target is not, which would be a game won by luck, is left
    out of the TPR.

    >>> batch_rates(np.array([1.0, -1.0]), np.array([-1.0, -2.0, -3.0, 1.0]), 2)
    BatchRates(tpr=0.5, tnr=0.5625)
    """
    return BatchRates(float(np.mean(own > threshold)), float(np.mean(others <= threshold)) ** n_others)


def best_batch_threshold(own: Reals, others: Reals, n_others: int) -> tuple[float, float]:
    """The threshold that wins most games by these scores, and the share it wins.

    A game is won if the target is above it, or if none of ``n_others`` other rows is: the mean of TPR and
    (1 - FPR)^n. It is midway between two scores; where several win as often, those farthest apart.

    >>> best_batch_threshold(np.array([1.0, 3.0]), np.array([0.0, 2.0, 2.1]), 2)
    (2.55, 0.75)
    """
    scores = np.unique(np.concatenate([own, others]))
    cuts = np.concatenate([[scores[0] - 1], (scores[1:] + scores[:-1]) / 2, [scores[-1] + 1]])
    gaps = np.concatenate([[0.0], np.diff(scores), [0.0]])
    tpr = 1 - np.searchsorted(np.sort(own), cuts, side="right") / own.size
    fpr = 1 - np.searchsorted(np.sort(others), cuts, side="right") / others.size
    won = (tpr + (1 - fpr) ** n_others) / 2
    best = np.flatnonzero(won >= won.max() - 1e-12)
    return float(cuts[best[np.argmax(gaps[best])]]), float(won.max())
