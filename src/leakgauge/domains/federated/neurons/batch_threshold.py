"""The best threshold of a score for batches in which one row may be the target."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Reals


@dataclass(frozen=True)
class BatchRates:
    """How often batches with the target, and batches without it, are classified correctly."""

    tpr: float
    tnr: float

    @property
    def won(self) -> float:
        """The share of games won: Adv of Nguyen et al. (eq. 3)."""
        return (self.tpr + self.tnr) / 2


def batch_rates(own: Reals, others: Reals, n_others: int, threshold: float = 0.0) -> BatchRates:
    """Return the rates if a batch is classified as a member's when any of its rows is above the threshold.

    None of ``n_others`` independent rows is above it with probability (1 - FPR)^n. The TPR counts only the
    target, not the chance that another row is above the threshold when the target is not.

    >>> batch_rates(np.array([1.0, -1.0]), np.array([-1.0, -2.0, -3.0, 1.0]), 2)
    BatchRates(tpr=0.5, tnr=0.5625)
    """
    return BatchRates(float(np.mean(own > threshold)), float(np.mean(others <= threshold)) ** n_others)


def best_batch_threshold(own: Reals, others: Reals, n_others: int) -> tuple[float, float]:
    """Return the threshold that wins most games by these scores, and the share it wins.

    The share of games won is the mean of TPR and (1 - FPR)^n with n = ``n_others``. The threshold is midway
    between two scores; of several that are equally good, the one with the widest gap is taken.

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
