"""Lower confidence bound on epsilon from both error rates at 32 thresholds, corrected for all of them."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee import assumptions, intervals
from leakgauge.referee.epsilon_from_rates import epsilon_from_rates
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics.epsilon_clopper_pearson import counts_at, errors_bound

THRESHOLDS = 32
GRID_SHARE = 10  # one trial in this many sets the grid and is not counted


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Clopper-Pearson at quantiles of one tenth of the scores, counted on the others (Bonferroni)."""

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        assumptions.need_independent_rounds(trials, "clopper_pearson_grid")
        sets_grid = np.zeros(len(trials), bool)
        sets_grid[np.argsort(trials.rounds, kind="stable")[::GRID_SHARE]] = True
        count = trials.where(~sets_grid)
        assumptions.need_both_worlds(count, "clopper_pearson_grid")
        shares = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
        thresholds = np.unique(np.quantile(trials.scores[sets_grid], shares, method="higher"))
        error = (1 - self.confidence) / 2 / thresholds.size
        hits, alarms = counts_at(count, thresholds)
        n_members = int(count.members.sum())
        fpr = intervals.rate_high(alarms, len(count) - n_members, error)
        fnr = intervals.rate_high(n_members - hits, n_members, error)
        return Estimate(
            value=None,
            low=float(epsilon_from_rates(fpr, fnr, self.delta).max()),
            confidence=self.confidence,
            method=f"Clopper-Pearson at {thresholds.size} thresholds set on other rounds, corrected for all",
            reason="a band has no point estimate",
        )

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        kept = [round(count * (1 - 1 / GRID_SHARE)) for count in (hits, misses, alarms, silences)]
        return errors_bound(*kept, delta=self.delta, error=(1 - self.confidence) / 2)
