"""How much better an attacker does against one release than against another, in the same rounds or not."""

import numpy as np
from scipy.special import stdtrit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_ROUNDS, jackknife_variance, rate_high
from leakgauge.referee.jackknife import JackknifeStatistic
from leakgauge.referee.per_target import has_lasting_targets
from leakgauge.referee.sample_split import selection_half
from leakgauge.referee.thresholds import (
    best_thresholds,
    jackknife_accuracy,
    jackknife_mean_accuracy,
    own_decisions,
)


def accuracy_difference(new: Trials, old: Trials, confidence: float) -> Estimate:
    """Accuracy against ``new`` minus accuracy against ``old``, with a two-sided interval.

    Decisions are those of the attack's own threshold, or of one chosen on other rounds where it sets none.
    Rounds that both share, with the same members, are compared one by one: the jackknife leaves out the same
    round of both. Otherwise both are independent. Where nothing varies, as many rounds are assumed to differ
    as could without being seen.
    """
    first, second = _accuracy(new), _accuracy(old)
    paired = np.array_equal(new.rounds, old.rounds) and np.array_equal(new.members, old.members)
    if paired:
        variance, n = jackknife_variance(first.values - second.values), first.values.size
    else:
        variance = jackknife_variance(first.values) + jackknife_variance(second.values)
        n = min(first.values.size, second.values.size)
    difference = first.value - second.value
    method = "difference of accuracies, " + ("in the same rounds" if paired else "independent rounds")
    if n < FEWEST_ROUNDS:
        reason = f"{n} rounds; an interval needs {FEWEST_ROUNDS}"
        return Estimate(value=difference, confidence=confidence, method=method, reason=reason)
    error = 1 - confidence
    margin = -float(stdtrit(n - 1, error / 2)) * float(np.sqrt(variance))
    margin = max(margin, float(rate_high(0, min(first.n_independent, second.n_independent), error / 2)) / 2)
    return Estimate(
        value=difference,
        low=difference - margin,
        high=difference + margin,
        confidence=confidence,
        method=method,
    )


def _accuracy(trials: Trials) -> JackknifeStatistic:
    if (says_member := own_decisions(trials)) is None:
        counted = ~selection_half(trials)
        if counted.all() or not counted.any():
            raise BadInput("a difference of accuracies needs at least two rounds: one to choose a threshold")
        lasting = has_lasting_targets(trials)
        groups = np.unique(trials.targets, return_inverse=True)[1] if lasting else np.zeros(len(trials), int)
        choose = trials.where(~counted)
        thresholds = best_thresholds(groups[~counted], choose.scores, choose.members, int(groups.max()) + 1)
        says_member = (trials.scores >= thresholds[groups])[counted]
        trials = trials.where(counted)
    statistic = jackknife_mean_accuracy if has_lasting_targets(trials) else jackknife_accuracy
    return statistic(trials, says_member)
