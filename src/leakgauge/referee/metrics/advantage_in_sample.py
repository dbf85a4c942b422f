"""The largest TPR - FPR over all thresholds, chosen on the trials that are counted; on request only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee import jackknife, thresholds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import RateMetric

_BEST = "TPR - FPR at the best threshold of the counted trials (biased upwards)"


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """The "optimal threshold" of Humphries et al. (2023), or (``null``) its mean without any leak.

    The maximum is never below zero, so it lies above the truth: with n members and m others whose scores have
    the same continuous distribution it is sqrt(pi / 8) sqrt(1 / n + 1 / m) on average, the mean of the
    maximum of a Brownian bridge (Doob 1949). No bound and no finding is set against it.
    """

    on_request: ClassVar[str] = "in_sample"
    variants: ClassVar[Mapping[str, Mapping[str, bool]]] = {
        "advantage_in_sample": {"null": False},
        "advantage_in_sample_null": {"null": True},
    }
    rank: ClassVar[int] = 80

    null: bool = False
    confidence: float = 0.95

    @property
    def title(self) -> str:
        return "In-sample optimum without a leak" if self.null else "Advantage, in-sample optimum"

    @property
    def meaning(self) -> str:
        if self.null:
            return "what the in-sample optimum comes to on average where nothing leaks"
        return "the most over all thresholds, chosen on the counted trials: too high by design"

    def __call__(self, trials: Trials) -> Estimate:
        if reason := thresholds.too_few_per_round(trials, 1):
            return Estimate(value=None, confidence=self.confidence, method=_BEST, reason=reason)
        if self.null:
            return Estimate(
                value=_without_a_leak(trials),
                confidence=self.confidence,
                method="sqrt(pi / 8) sqrt(1 / n + 1 / m)",
                reason="a formula: it has no interval",
            )
        decisions = thresholds.in_sample_decisions(trials)
        return jackknife.advantage_estimate(
            lambda rows: thresholds.mean_over_rounds(rows, decisions),
            trials,
            self.confidence,
            _BEST,
        )


def _without_a_leak(trials: Trials) -> float:
    rounds = trials.round_numbers
    n, m = np.bincount(rounds, trials.members), np.bincount(rounds, ~trials.members)
    return float(np.sqrt(np.pi / 8 * (1 / n + 1 / m)).mean())
