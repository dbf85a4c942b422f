"""How often an attacker is right about one target at the attack's own threshold, averaged over targets."""

from dataclasses import dataclass
from typing import ClassVar

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.confidence_sequence import sequence_estimate
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import rate_estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.per_target import has_lasting_targets
from leakgauge.referee.thresholds import (
    jackknife_accuracy,
    jackknife_mean_accuracy,
    own_decisions,
    without_own_threshold,
)


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """(TPR + TNR) / 2 of each target at the threshold that the attack fixed before the rounds.

    This is what the attacker really achieves: no labelled release was needed to place the threshold. Where
    each round has targets of its own, all trials are taken together.
    """

    limited_as: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "Correct identifications"
    meaning: ClassVar[str] = (
        "how often the attacker is right about who is in and who is not, at the threshold that the attack "
        "fixed itself, averaged over targets"
    )
    rank: ClassVar[int] = 12
    is_share: ClassVar[bool] = True
    chance_level: ClassVar[float] = 0.5
    pools_trials: ClassVar[bool] = True
    fits_threshold: ClassVar[bool] = False
    has_sequence: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if (says_member := own_decisions(trials)) is None:
            return without_own_threshold(self.confidence)
        need_both_worlds(trials, "accuracy_own")
        if has_lasting_targets(trials):
            return rate_estimate(
                lambda rows: jackknife_mean_accuracy(rows, says_member),
                trials,
                self.confidence,
                "mean over targets at the attack's own threshold",
            )
        return rate_estimate(
            lambda rows: jackknife_accuracy(rows, says_member),
            trials,
            self.confidence,
            "balanced accuracy at the attack's own threshold",
        )

    def sequence(self, trials: Trials, block: int) -> Estimate:
        """The share of right decisions, with bounds that may be read at any time."""
        if (says_member := own_decisions(trials)) is None:
            return without_own_threshold(self.confidence)
        return sequence_estimate(
            trials, says_member, self.confidence, "right decisions at the attack's own threshold"
        )
