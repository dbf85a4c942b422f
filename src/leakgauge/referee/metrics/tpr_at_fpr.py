"""True-positive rate at a small false-positive rate: how well the surest accusations do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from leakgauge.core.game import Trials
from leakgauge.referee import assumptions, jackknife, low_fpr
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import RateMetric


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """TPR at one FPR over all trials; its interval is exact, from one trial a round if rounds are shared.

    Where rounds repeat a whole experiment it is the mean over them. Several splits of the people widen it.
    """

    variants: ClassVar[Mapping[str, Mapping[str, float]]] = {
        f"tpr_at_fpr_{fpr}": {"fpr": fpr} for fpr in low_fpr.LOW_FPRS
    }
    rank: ClassVar[int] = 40
    is_share: ClassVar[bool] = True
    pools_trials: ClassVar[bool] = True

    fpr: float = 0.01
    confidence: float = 0.95

    @property
    def title(self) -> str:
        return f"Members found, {100 * self.fpr:g}% wrongly accused"

    @property
    def chance_level(self) -> float:
        return self.fpr

    @property
    def meaning(self) -> str:
        return f"members recognised while accusing 1 non-member in {round(1 / self.fpr):,}"

    def __call__(self, trials: Trials) -> Estimate:
        assumptions.need_both_worlds(trials, "tpr_at_fpr")
        return jackknife.widen_over_splits(
            self._over_rounds(trials), trials, lambda rows: low_fpr.jackknife_tpr_at(rows, self.fpr)
        )

    def _over_rounds(self, trials: Trials) -> Estimate:
        if low_fpr.has_enough_repeats(trials, self.fpr):
            return self._of_repeats(trials)
        value = low_fpr.tpr_at(trials.scores, trials.members, self.fpr)
        shared = trials.shared_rounds
        alone = low_fpr.one_per_round(trials) if shared else trials
        error, n_others = 1 - self.confidence, int((~alone.members).sum())
        low, high = (
            low_fpr.exact_tpr_interval(alone, self.fpr, error) if 0 < n_others < len(alone) else (0.0, 1.0)
        )
        need = low_fpr.fewest_others(self.fpr, error)
        return Estimate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            confidence=self.confidence,
            method="exact, by order statistics of non-members" + (", one trial per round" if shared else ""),
            reason=f"no lower bound: needs {need} non-members" if n_others < need else None,
        )

    def _of_repeats(self, trials: Trials) -> Estimate:
        value, low, high = low_fpr.repeated_tpr_interval(trials, self.fpr, 1 - self.confidence)
        return Estimate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            confidence=self.confidence,
            method="mean over repeats, each with a threshold of its own, Student's t on log-odds",
        )
