"""Lower confidence bound on epsilon from both error rates at one threshold."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee import assumptions, intervals, sample_split
from leakgauge.referee.epsilon_from_rates import epsilon_from_rates
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric

MOST_THRESHOLDS = 500  # tried by the half that chooses


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Log-ratio of the pessimistic rates at a threshold chosen on other rounds.

    Every second round of each world chooses the threshold, the others count. Each rate spends half of the
    error (Clopper and Pearson 1934); the ratio is the bound of Jagielski, Ullman and Oprea (2020).
    Membership need not be fair, rounds must not be shared.
    """

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        assumptions.need_independent_rounds(trials, "clopper_pearson")
        chooses = sample_split.selection_half(trials)
        choose, count = trials.where(chooses), trials.where(~chooses)
        assumptions.need_both_worlds(choose, "clopper_pearson")
        assumptions.need_both_worlds(count, "clopper_pearson")
        error = (1 - self.confidence) / 2
        thresholds = np.unique(choose.scores)
        thresholds = thresholds[:: -(-thresholds.size // MOST_THRESHOLDS)]
        best = thresholds[[np.argmax(self._bound(choose, thresholds, error))]]
        return Estimate(
            value=finite_or_none(self._bound(count, best, 0.5)[0]),
            low=float(self._bound(count, best, error)[0]),
            confidence=self.confidence,
            method="Clopper-Pearson at a threshold chosen on other rounds",
        )

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial; half of them count."""
        halves = [count // 2 for count in (hits, misses, alarms, silences)]
        return errors_bound(*halves, delta=self.delta, error=(1 - self.confidence) / 2)

    def _bound(self, trials: Trials, thresholds: Reals, error: float) -> Reals:
        hits, alarms = counts_at(trials, thresholds)
        n_members = int(trials.members.sum())
        fnr = intervals.rate_high(n_members - hits, n_members, error)
        fpr = intervals.rate_high(alarms, len(trials) - n_members, error)
        return epsilon_from_rates(fpr, fnr, self.delta)


def fallback_estimate(trials: Trials, delta: float, confidence: float, problem: str) -> Estimate:
    """Answer for a metric that needs fair coins, where they are not."""
    if trials.shared_rounds:
        reason = (
            f"{problem}; several records of one release give a bound only if each was included at random, "
            "with probability one half (canaries)"
        )
        return Estimate(value=None, confidence=confidence, method="none", reason=reason)
    try:
        answer = Metric(delta=delta, confidence=confidence)(trials)
    except BadInput as refusal:
        return Estimate(value=None, confidence=confidence, method="none", reason=f"{problem}, and {refusal}")
    return Estimate(
        value=answer.value,
        low=answer.low,
        confidence=confidence,
        method=f"{answer.method} (not one-run: {problem}); assumes that without the release "
        "members and non-members would score alike",
    )


def counts_at(trials: Trials, thresholds: Reals) -> tuple[Reals, Reals]:
    """Count members and non-members at or above each threshold."""
    members = np.sort(trials.scores[trials.members])
    others = np.sort(trials.scores[~trials.members])
    hits = members.size - np.searchsorted(members, thresholds)
    alarms = others.size - np.searchsorted(others, thresholds)
    return hits.astype(float), alarms.astype(float)


def errors_bound(hits: int, misses: int, alarms: int, silences: int, *, delta: float, error: float) -> float:
    """Bound on epsilon from the counts of one threshold, each rate at its own error."""
    if not hits + misses or not alarms + silences:
        return 0.0
    fpr = intervals.rate_high(alarms, alarms + silences, error)
    fnr = intervals.rate_high(misses, hits + misses, error)
    return float(epsilon_from_rates(fpr, fnr, delta))


def finite_or_none(value: float) -> float | None:
    """Nothing where a point estimate is infinite."""
    return float(value) if np.isfinite(value) else None
