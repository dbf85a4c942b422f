"""True-positive rate at a small false-positive rate of each target, averaged over targets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_lasting_targets
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import split_scope
from leakgauge.referee.low_fpr import LOW_FPRS, fewest_others
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.metrics import tpr_at_fpr
from leakgauge.referee.per_target import split_targets, target_rows


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """TPR at one FPR of each target over its rounds, then the mean.

    Each target's rounds are independent, so each has an exact interval; all hold together (Bonferroni), and
    so does their mean. Wide where targets are many, but never too narrow.
    """

    variants: ClassVar[Mapping[str, Mapping[str, float]]] = {
        f"tpr_at_fpr_{fpr}_mean": {"fpr": fpr} for fpr in LOW_FPRS
    }
    rank: ClassVar[int] = 130
    is_share: ClassVar[bool] = True

    fpr: float = 0.01
    confidence: float = 0.95

    @property
    def mean_of(self) -> str:
        return f"tpr_at_fpr_{self.fpr}"

    @property
    def title(self) -> str:
        return f"{tpr_at_fpr.Metric(fpr=self.fpr).title}, mean of targets"

    @property
    def chance_level(self) -> float:
        return self.fpr

    @property
    def meaning(self) -> str:
        return f"the same for each target, then averaged: {tpr_at_fpr.Metric(fpr=self.fpr).meaning}"

    def __call__(self, trials: Trials) -> Estimate:
        need_lasting_targets(trials, "tpr_at_fpr_mean")
        kept, _, ins, outs = split_targets(trials, "tpr_at_fpr_mean")
        error = (1 - self.confidence) / ins.size
        single = tpr_at_fpr.Metric(fpr=self.fpr, confidence=1 - error)
        answers = [single(rows) for _, rows in target_rows(kept)]
        need = fewest_others(self.fpr, error)
        few = f"no lower bound: needs {need} rounds without the target, for each target"
        return Estimate(
            value=_mean([answer.value for answer in answers]),
            low=_mean([answer.low for answer in answers]),
            high=_mean([answer.high for answer in answers]),
            confidence=self.confidence,
            method=f"mean over targets of exact intervals that hold together{split_scope(trials)}",
            reason=few if outs.max() < need else None,
        )


def _mean(rates: list[float | None]) -> float:
    return float(np.mean([rate for rate in rates if rate is not None]))
