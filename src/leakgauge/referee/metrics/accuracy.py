"""How often an attacker is right, at a threshold chosen on other rounds."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.confidence_sequence import fitted_sequence_estimate
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_COUNTED
from leakgauge.referee.jackknife import rate_estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.thresholds import best_thresholds, calibrated_decisions, jackknife_accuracy


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """(TPR + TNR) / 2 on one half of the rounds, at the threshold that was best on the other."""

    title: ClassVar[str] = "Accuracy with a calibrated threshold"
    meaning: ClassVar[str] = (
        "how often the attacker is right about who is in and who is not, with one threshold for all targets "
        "calibrated on other releases with known members, which a real attacker may not have"
    )
    rank: ClassVar[int] = 20
    is_share: ClassVar[bool] = True
    chance_level: ClassVar[float] = 0.5
    pools_trials: ClassVar[bool] = True
    has_sequence: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_both_worlds(trials, "accuracy")
        says_member, counts = calibrated_decisions(trials, np.zeros(len(trials), np.int64))
        if not counts.all():
            need_both_worlds(trials.where(~counts), "accuracy")
            need_both_worlds(trials.where(counts), "accuracy")
        decisions = says_member[counts]
        return rate_estimate(
            lambda rows: jackknife_accuracy(rows, decisions),
            trials.where(counts),
            self.confidence,
            f"balanced accuracy at a threshold chosen on other {'splits' if counts.all() else 'rounds'}",
            FEWEST_COUNTED,
        )

    def threshold_loss(self, trials: Trials) -> float:
        """The accuracy at the threshold that is best on the counted rounds, minus the estimate."""
        counted = trials.where(calibrated_decisions(trials, np.zeros(len(trials), np.int64))[1])
        threshold = best_thresholds(np.zeros(len(counted), np.int64), counted.scores, counted.members, 1)[0]
        best = jackknife_accuracy(counted, counted.scores >= threshold).value
        return max(0.0, best - (self(trials).value or best))

    def sequence(self, trials: Trials, block: int) -> Estimate:
        """The share of right decisions at the threshold of earlier blocks, with bounds for any time."""
        return fitted_sequence_estimate(trials, np.zeros(len(trials), np.int64), block, self.confidence)
