"""How much more often the attack says "member" of members than of others, at its own threshold."""

from dataclasses import dataclass
from typing import ClassVar

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.thresholds import own_threshold_advantage


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """TPR - FPR of an attacker who must decide without looking at these rounds first.

    Below zero where it accuses others more often than members; it is reported as such.
    """

    title: ClassVar[str] = "Advantage, own threshold"
    meaning: ClassVar[str] = (
        "members found minus non-members accused at the attack's own threshold; below 0 it accuses the "
        "wrong ones"
    )
    rank: ClassVar[int] = 60
    fits_threshold: ClassVar[bool] = False
    pools_trials: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        return own_threshold_advantage(trials, self.confidence)
