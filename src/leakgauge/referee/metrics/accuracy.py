"""How often the adversary is right, at a threshold chosen on other rounds."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import rate_estimate
from leakgauge.referee.sample_split import selection_half
from leakgauge.referee.thresholds import best_thresholds, jackknife_accuracy


@dataclass(frozen=True, kw_only=True)
class Metric:
    """(TPR + TNR) / 2 on one half of the rounds, at the threshold that was best on the other."""

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        counts = ~selection_half(trials)
        choose, count = trials.where(~counts), trials.where(counts)
        need_both_worlds(choose, "accuracy")
        need_both_worlds(count, "accuracy")
        zeros = np.zeros(len(choose), np.int64)
        threshold = best_thresholds(zeros, choose.scores, choose.members, 1)[0]
        return rate_estimate(
            jackknife_accuracy(count, count.scores >= threshold),
            self.confidence,
            "balanced accuracy at a threshold chosen on other rounds, jackknife over rounds",
        )
