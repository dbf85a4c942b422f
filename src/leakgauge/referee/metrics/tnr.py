"""Share of non-members of whom the attack says so, at its own threshold."""

from dataclasses import dataclass

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.thresholds import own_threshold_rate


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The rate an attacker gets who must decide without looking at these rounds first."""

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        return own_threshold_rate(trials, ~trials.members, False, self.confidence)
