"""How much more often the adversary says "member" of members than of others."""

from dataclasses import dataclass, replace

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import as_advantage
from leakgauge.referee.metrics import accuracy


@dataclass(frozen=True, kw_only=True)
class Metric:
    """TPR - FPR (Yeom et al. 2018): twice the balanced accuracy, less one; never clipped or flipped."""

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        found = accuracy.Metric(confidence=self.confidence)(trials)
        return replace(as_advantage(found), method=found.method.replace("balanced accuracy", "TPR - FPR"))
