"""Lower confidence bound on epsilon, all thresholds at once, by the Dvoretzky-Kiefer-Wolfowitz band."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds, need_independent_rounds
from leakgauge.referee.epsilon_from_rates import dkw_margin, epsilon_from_rates
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.roc import roc


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """The best threshold of a band that holds for all of them; blunt where rates are small."""

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_independent_rounds(trials, "dkw")
        need_both_worlds(trials, "dkw")
        curve, n_members = roc(trials), int(trials.members.sum())
        error = (1 - self.confidence) / 2
        fpr = np.minimum(curve.fpr + dkw_margin(len(trials) - n_members, error), 1.0)
        fnr = np.minimum(1 - curve.tpr + dkw_margin(n_members, error), 1.0)
        bounds = epsilon_from_rates(fpr, fnr, self.delta)
        return Estimate(
            value=None,
            low=float(bounds.max()),
            confidence=self.confidence,
            method="DKW band over all thresholds",
            reason="a band has no point estimate",
        )

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        n_members, n_others, error = hits + misses, alarms + silences, (1 - self.confidence) / 2
        if not n_members or not n_others:
            return 0.0
        fpr = min(alarms / n_others + dkw_margin(n_others, error), 1.0)
        fnr = min(misses / n_members + dkw_margin(n_members, error), 1.0)
        return float(epsilon_from_rates(fpr, fnr, self.delta))
