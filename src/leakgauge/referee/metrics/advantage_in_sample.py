"""The largest TPR - FPR over all thresholds, chosen on the very trials that are counted; on request only."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import advantage_estimate, round_numbers
from leakgauge.referee.thresholds import in_sample_decisions, mean_over_rounds, too_few_per_round

ON_REQUEST = "in_sample"  # the key of a plan's metrics that asks for it
VARIANTS = {"advantage_in_sample": {"null": False}, "advantage_in_sample_null": {"null": True}}
_BEST = "TPR - FPR at the best threshold of the counted trials (biased upwards), jackknife over rounds"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The "optimal threshold" of Humphries et al. (2023), or (``null``) what it comes to without any leak.

    The maximum is never below zero, so it lies above the truth: with n members and m others whose scores
    have the same continuous law it is sqrt(pi / 8) sqrt(1 / n + 1 / m) on average, the mean of the maximum
    of a Brownian bridge (Doob 1949). No bound and no finding is set against it.
    """

    null: bool = False
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if reason := too_few_per_round(trials, 1):
            return Estimate(value=None, confidence=self.confidence, method=_BEST, reason=reason)
        if self.null:
            return Estimate(
                value=_without_a_leak(trials),
                confidence=self.confidence,
                method="sqrt(pi / 8) sqrt(1 / n + 1 / m)",
                reason="a formula: it has no interval",
            )
        return advantage_estimate(
            mean_over_rounds(trials, in_sample_decisions(trials)), self.confidence, _BEST
        )


def _without_a_leak(trials: Trials) -> float:
    rounds = round_numbers(trials)
    n, m = np.bincount(rounds, trials.members), np.bincount(rounds, ~trials.members)
    return float(np.sqrt(np.pi / 8 * (1 / n + 1 / m)).mean())
