"""How much more often the attack says "member" of members than of others, at its own threshold."""

from dataclasses import dataclass

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.thresholds import own_threshold_advantage


@dataclass(frozen=True, kw_only=True)
class Metric:
    """TPR - FPR of an adversary who must decide without looking at these rounds first.

    Below zero where it accuses others more often than members; it is reported as such.
    """

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        return own_threshold_advantage(trials, self.confidence)
