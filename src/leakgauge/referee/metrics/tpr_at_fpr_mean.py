"""True-positive rate at a small false-positive rate of each target, averaged over targets."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.leave_out import LeftOut, deal, rate_estimate, round_numbers, world_rounds
from leakgauge.referee.low_fpr import LOW_FPRS, tprs_left_out
from leakgauge.referee.metrics import tpr_at_fpr
from leakgauge.referee.per_target import split_targets

VARIANTS = {f"tpr_at_fpr_{fpr}_mean": {"fpr": fpr} for fpr in LOW_FPRS}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """TPR at one FPR of each target over its rounds, then the mean; jackknife over groups of rounds."""

    fpr: float = 0.01
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        kept, targets, ins, _ = split_targets(trials, "tpr_at_fpr_mean")
        if ins.size == 1:
            return tpr_at_fpr.Metric(fpr=self.fpr, confidence=self.confidence)(kept)
        rounds = round_numbers(kept)
        groups, n_groups = deal(rounds)
        order = np.argsort(targets, kind="stable")
        single, left_out = [], []
        for rows in np.split(order, np.cumsum(np.bincount(targets))[:-1]):
            scores, members = kept.scores[rows], kept.members[rows]
            values = tprs_left_out(scores, members, groups[rows], n_groups, self.fpr)
            single.append(values[-1])
            left_out.append(values[:-1])
        statistic = LeftOut(
            float(np.mean(single)), np.mean(left_out, axis=0), int(rounds.max()) + 1, world_rounds(kept)
        )
        return rate_estimate(statistic, self.confidence, "mean over targets, jackknife over groups of rounds")
