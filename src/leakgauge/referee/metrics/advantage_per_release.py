"""How much more often an attacker says "member" of members, at a threshold set for each release."""

from dataclasses import dataclass
from typing import ClassVar

from leakgauge.core.game import Trials
from leakgauge.referee import jackknife, thresholds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import RateMetric

FEWEST = 20  # members, and others, in each round


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """TPR - FPR of each half of a release, at the threshold that was best on its other half.

    An attacker who knows the membership of half of the records and sets the threshold of this one release
    by them: what the "optimal threshold" of Humphries et al. (2023) comes to when it is not chosen on the
    records that are counted. Without a leak it is zero on average.
    """

    title: ClassVar[str] = "Advantage, threshold per release"
    meaning: ClassVar[str] = (
        "members found minus non-members accused at a threshold set for each release, on the half not counted"
    )
    rank: ClassVar[int] = 70

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        method = "TPR - FPR at thresholds chosen on the other half of each release"
        if reason := thresholds.too_few_per_round(trials, FEWEST):
            return Estimate(value=None, confidence=self.confidence, method=method, reason=reason)
        decisions = thresholds.cross_fitted_decisions(trials)
        return jackknife.advantage_estimate(
            lambda rows: thresholds.mean_over_rounds(rows, decisions),
            trials,
            self.confidence,
            method,
        )
