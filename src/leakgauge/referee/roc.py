"""The ROC curve of trials, ties included, and curves thinned for drawing."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals, Trials
from leakgauge.referee.assumptions import need_both_worlds


@dataclass(frozen=True, eq=False)
class Roc:
    """Rates of the rule "member if score >= threshold", strictest rule first."""

    thresholds: Reals
    fpr: Reals
    tpr: Reals

    @property
    def auc(self) -> float:
        return float(np.trapezoid(self.tpr, self.fpr))


def roc(trials: Trials) -> Roc:
    """Trace the ROC curve.

    Equal scores are accepted together, because no threshold can separate them; a constant score therefore
    gets the diagonal.

    >>> from leakgauge.core.game import Coins
    >>> members, scores = np.array([True, True, False, False]), np.zeros(4)
    >>> roc(Trials(np.arange(4), np.zeros(4, int), members, scores, Coins.FAIR)).auc
    0.5
    """
    need_both_worlds(trials, "a ROC curve")
    members = trials.members
    order = np.argsort(-trials.scores, kind="stable")
    ranked = trials.scores[order]
    last_of_tie = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
    hits = np.cumsum(members[order])[last_of_tie]
    alarms = last_of_tie + 1 - hits
    return Roc(
        thresholds=np.append(np.inf, ranked[last_of_tie]),
        fpr=np.append(0.0, alarms / (~members).sum()),
        tpr=np.append(0.0, hits / members.sum()),
    )


def thin_curve(fpr: Reals, tpr: Reals, most: int = 500) -> tuple[Reals, Reals]:
    """Return at most ``most`` points of a rising curve, half of them where false positives are rare.

    Points on a straight line between their neighbours are dropped first. Both ends are kept, and so is the
    largest TPR without a false positive.
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
