"""How often an attacker is right about one target, averaged over targets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_lasting_targets
from leakgauge.referee.confidence_sequence import fitted_sequence_estimate
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_COUNTED
from leakgauge.referee.jackknife import rate_estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.thresholds import best_thresholds, calibrated_decisions, jackknife_mean_accuracy


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """(TPR + TNR) / 2 of each target on one half of the rounds, at its own threshold from the other."""

    mean_of: ClassVar[str] = "accuracy"
    limited_as: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "Accuracy with calibrated thresholds"
    meaning: ClassVar[str] = (
        "how often the attacker is right about who is in and who is not, averaged over targets, with a "
        "threshold for each target calibrated on other releases with known members, which a real attacker "
        "may not have"
    )
    rank: ClassVar[int] = 110
    is_share: ClassVar[bool] = True
    chance_level: ClassVar[float] = 0.5
    has_sequence: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_lasting_targets(trials, "accuracy_mean")
        targets = np.unique(trials.targets, return_inverse=True)[1].astype(np.int64)
        says_member, counts = calibrated_decisions(trials, targets)
        if not counts.any():
            raise BadInput("accuracy_mean needs at least two rounds: one to choose a threshold, one to count")
        decisions = says_member[counts]
        others = "splits" if counts.all() else "rounds"
        return rate_estimate(
            lambda rows: jackknife_mean_accuracy(rows, decisions),
            trials.where(counts),
            self.confidence,
            f"mean over targets, each at its own threshold chosen on other {others}",
            FEWEST_COUNTED,
        )

    def threshold_loss(self, trials: Trials) -> float:
        """The accuracy at the thresholds that are best on the counted rounds, minus the estimate."""
        counted = trials.where(calibrated_decisions(trials, np.zeros(len(trials), np.int64))[1])
        names, targets = np.unique(counted.targets, return_inverse=True)
        thresholds = best_thresholds(targets, counted.scores, counted.members, names.size)
        best = jackknife_mean_accuracy(counted, counted.scores >= thresholds[targets]).value
        return max(0.0, best - (self(trials).value or best))

    def sequence(self, trials: Trials, block: int) -> Estimate:
        """The share of right decisions at the thresholds of earlier blocks, with bounds for any time."""
        need_lasting_targets(trials, "accuracy_mean")
        targets = np.unique(trials.targets, return_inverse=True)[1].astype(np.int64)
        return fitted_sequence_estimate(trials, targets, block, self.confidence)
