"""The ROC curve of trials, ties included."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Coins, Reals, Trials  # noqa: F401 (Coins serves the doctest)
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

    Equal scores enter together, for no rule can separate what the adversary did
    not separate; a constant score therefore gets the diagonal.

    >>> roc(Trials(np.arange(4), np.zeros(4, int), np.array([1, 1, 0, 0], bool), np.zeros(4), Coins.FAIR)).auc
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
