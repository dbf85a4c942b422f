"""True-positive rate at a small false-positive rate: how well the surest accusations do."""

from dataclasses import dataclass

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.leave_out import LeftOut, deal, rate_estimate, round_numbers, world_rounds
from leakgauge.referee.low_fpr import LOW_FPRS, exact_interval, fewest_others, tpr_at, tprs_left_out

VARIANTS = {f"tpr_at_fpr_{fpr}": {"fpr": fpr} for fpr in LOW_FPRS}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """TPR at one FPR over all trials: exact for independent rounds, else by jackknife over rounds."""

    fpr: float = 0.01
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_both_worlds(trials, "tpr_at_fpr")
        value = tpr_at(trials.scores, trials.members, self.fpr)
        if trials.shared_rounds:
            return rate_estimate(
                self._left_out(trials, value), self.confidence, "jackknife over groups of rounds"
            )
        error = 1 - self.confidence
        low, high = exact_interval(trials, self.fpr, error)
        need = fewest_others(self.fpr, error)
        few = f"{need} non-members are needed for a lower bound" if (~trials.members).sum() < need else None
        method = "exact, by order statistics of non-members"
        return Estimate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            confidence=self.confidence,
            method=method,
            reason=few,
        )

    def _left_out(self, trials: Trials, value: float) -> LeftOut:
        rounds = round_numbers(trials)
        groups, n_groups = deal(rounds)
        values = tprs_left_out(trials.scores, trials.members, groups, n_groups, self.fpr)[:-1]
        return LeftOut(value, values, int(rounds.max()) + 1, world_rounds(trials))
