"""Chance that a target scores higher when in than when out, averaged over targets."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_lasting_targets
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import jackknife_statistic, rate_estimate
from leakgauge.referee.metrics.auc import placements
from leakgauge.referee.per_target import jackknife_target_means, split_targets


@dataclass(frozen=True, kw_only=True)
class Metric:
    """AUC of each target over its rounds, then the mean; one target leaves one trial in a round."""

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_lasting_targets(trials, "auc_mean")
        kept, targets, ins, outs = split_targets(trials, "auc_mean")
        placed = placements(targets, kept.scores, kept.members)
        wins = np.bincount(targets, np.where(kept.members, placed.won, 0.0))
        auc = wins / (ins * outs)
        n_in, n_out = ins[targets] - kept.members, outs[targets] - ~kept.members
        lasts = (n_in > 0) & (n_out > 0)
        without = (wins[targets] - placed.won) / np.maximum(n_in * n_out, 1)
        values = jackknife_target_means(kept, targets, auc, without, lasts)
        left_out = jackknife_statistic(kept, float(auc.mean()), values)
        return rate_estimate(left_out, self.confidence, "mean over targets, jackknife over rounds")
