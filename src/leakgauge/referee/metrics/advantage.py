"""How much more often an attacker says "member" of members than of others."""

from dataclasses import dataclass, replace
from typing import ClassVar

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import as_advantage
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.metrics import accuracy


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """TPR - FPR (Yeom et al. 2018): twice the balanced accuracy, less one; never clipped or flipped."""

    title: ClassVar[str] = "Advantage"
    meaning: ClassVar[str] = "members found minus non-members accused; 0 is a coin toss, 1 is never wrong"
    rank: ClassVar[int] = 50
    pools_trials: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        balanced = accuracy.Metric(confidence=self.confidence)(trials)
        return replace(
            as_advantage(balanced), method=balanced.method.replace("balanced accuracy", "TPR - FPR")
        )
