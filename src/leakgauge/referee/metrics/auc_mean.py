"""Chance that a target scores higher when in than when out, averaged over targets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_lasting_targets
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import JackknifeStatistic, jackknife_statistic, rate_estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.metrics.auc import placements
from leakgauge.referee.per_target import jackknife_target_means, split_targets, target_rounds


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """AUC of each target over its rounds, then the mean; one target leaves one trial in a round."""

    mean_of: ClassVar[str] = "auc"
    limited_as: ClassVar[str] = "auc"
    title: ClassVar[str] = "AUC, mean of targets"
    meaning: ClassVar[str] = (
        "the same for each target, then averaged: the chance that a member gets a higher score than a "
        "non-member; 0.5 is blind guessing"
    )
    rank: ClassVar[int] = 120
    chance_level: ClassVar[float] = 0.5

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_lasting_targets(trials, "auc_mean")
        return rate_estimate(_jackknife_mean_auc, trials, self.confidence, "mean over targets")


def _jackknife_mean_auc(trials: Trials) -> JackknifeStatistic:
    """AUC of each target, averaged; with each round left out."""
    kept, targets, ins, outs = split_targets(trials, "auc_mean")
    placed = placements(targets, kept.scores, kept.members)
    wins = np.bincount(targets, np.where(kept.members, placed.won, 0.0))
    auc = wins / (ins * outs)
    parts = target_rounds(kept, targets)
    n_in = ins[parts.targets] - np.bincount(parts.numbers, kept.members)
    n_out = outs[parts.targets] - np.bincount(parts.numbers, ~kept.members)
    within = placements(parts.numbers, kept.scores, kept.members).won  # pairs inside a part are lost once
    lost = np.bincount(parts.numbers, placed.won) - np.bincount(
        parts.numbers, np.where(kept.members, within, 0.0)
    )
    without = (wins[parts.targets] - lost) / np.maximum(n_in * n_out, 1)
    values = jackknife_target_means(parts, auc, without, (n_in > 0) & (n_out > 0))
    weights = 1 / np.where(kept.members, ins[targets], outs[targets]) / ins.size
    return jackknife_statistic(kept, float(auc.mean()), values, weights, auc[targets])
