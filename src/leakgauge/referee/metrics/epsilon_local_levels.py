"""Lower confidence bound on epsilon, all thresholds at once, by an equal-local-level band."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Trials
from leakgauge.referee import assumptions, intervals
from leakgauge.referee.epsilon_from_rates import approximate_level, epsilon_from_rates, local_levels_band
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.roc import roc


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """The best threshold of a band that holds for all of them and is sharp in the tails too."""

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        fpr, fnr = error_bands(trials, "local_levels", 1 - self.confidence)
        return Estimate(
            value=None,
            low=float(epsilon_from_rates(fpr, fnr, self.delta).max()),
            confidence=self.confidence,
            method="equal-local-level Clopper-Pearson band over all thresholds",
            reason="a band has no point estimate",
        )

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        fpr, fnr = band_errors(hits, misses, alarms, silences, 1 - self.confidence)
        return float(epsilon_from_rates(fpr, fnr, self.delta))


def error_bands(trials: Trials, metric: str, alpha: float) -> tuple[Reals, Reals]:
    """Upper bounds of both error rates at every threshold, together at 1 - alpha."""
    assumptions.need_independent_rounds(trials, metric)
    assumptions.need_both_worlds(trials, metric)
    curve = roc(trials)
    n_members = int(trials.members.sum())
    n_others = len(trials) - n_members
    alarms = np.rint(curve.fpr * n_others).astype(int)
    misses = np.rint((1 - curve.tpr) * n_members).astype(int)
    return local_levels_band(n_others, alpha / 2)[alarms], local_levels_band(n_members, alpha / 2)[misses]


def band_errors(hits: int, misses: int, alarms: int, silences: int, alpha: float) -> tuple[float, float]:
    """Both upper bounds where the attack has one threshold only; none without both worlds.

    The level is the approximate one: this serves planning, not a verdict.
    """
    if not hits + misses or not alarms + silences:
        return 1.0, 1.0
    fpr = intervals.rate_high(alarms, alarms + silences, approximate_level(alarms + silences, alpha / 2))
    fnr = intervals.rate_high(misses, hits + misses, approximate_level(hits + misses, alpha / 2))
    return float(fpr), float(fnr)
