"""Share of non-members that the attack classifies as non-members, at its own threshold."""

from dataclasses import dataclass
from typing import ClassVar

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.thresholds import own_threshold_rate


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """The rate an attacker gets who must decide without looking at these rounds first."""

    title: ClassVar[str] = "Correct rejections"
    meaning: ClassVar[str] = "share of non-members recognised at the attack's own threshold"
    rank: ClassVar[int] = 100
    fits_threshold: ClassVar[bool] = False
    is_share: ClassVar[bool] = True
    pools_trials: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        return own_threshold_rate(trials, ~trials.members, False, self.confidence)
