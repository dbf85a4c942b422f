"""How much better an attacker does against one release than against another, in the same rounds or not."""

import numpy as np
from scipy.special import stdtrit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Trials
from leakgauge.referee import intervals, jackknife, per_target, sample_split, thresholds
from leakgauge.referee.estimate import Estimate


def accuracy_difference(new: Trials, old: Trials, confidence: float) -> Estimate:
    """Accuracy against ``new`` minus accuracy against ``old``, with a two-sided interval.

    Decisions are those of the attack's own threshold, or of one chosen on other rounds where it sets none.
    In rounds that both share, with the same members, the difference is the rate of trials that are right only
    now, minus the rate of those that were right only before; otherwise it is that of two independent
    accuracies. The intervals of both rates are combined (MOVER; Zou and Donner 2008). Gained and lost trials
    exclude one another, so the interval is never narrower than that of the jackknife of their difference.
    """
    new, right_now = _right(new)
    old, right_before = _right(old)
    paired = np.array_equal(new.rounds, old.rounds) and np.array_equal(new.members, old.members)
    if paired:
        gained = _rate(new, right_now & ~right_before, confidence)
        lost = _rate(new, right_before & ~right_now, confidence)
    else:
        gained, lost = _rate(new, right_now, confidence), _rate(old, right_before, confidence)
    method = "difference of accuracies, " + ("in the same rounds" if paired else "independent rounds")
    if gained.value is None or lost.value is None:
        raise BadInput("a difference of accuracies needs members and non-members in both runs")
    difference = gained.value - lost.value
    if gained.low is None or gained.high is None or lost.low is None or lost.high is None:
        reason = gained.reason or lost.reason
        return Estimate(value=difference, confidence=confidence, method=method, reason=reason)
    direct = _paired_margin(new, right_now, right_before, confidence) if paired else 0.0
    below = float(np.hypot(gained.value - gained.low, lost.high - lost.value))
    above = float(np.hypot(gained.high - gained.value, lost.value - lost.low))
    return Estimate(
        value=difference,
        low=difference - max(below, direct),
        high=difference + max(above, direct),
        confidence=confidence,
        method=method,
    )


def _paired_margin(trials: Trials, right_now: Bits, right_before: Bits, confidence: float) -> float:
    """Half the width of the interval of the jackknife over rounds of the difference itself."""
    statistic = (
        thresholds.jackknife_mean_accuracy
        if per_target.has_lasting_targets(trials)
        else thresholds.jackknife_accuracy
    )
    now, before = (
        statistic(trials, np.where(right, trials.members, ~trials.members)).values
        for right in (right_now, right_before)
    )
    spread = float(np.sqrt(intervals.jackknife_variance(now - before)))
    return -float(stdtrit(now.size - 1, (1 - confidence) / 2)) * spread


def _right(trials: Trials) -> tuple[Trials, Bits]:
    """The trials that count, and on which of them the attacker is right."""
    if (says_member := thresholds.own_decisions(trials)) is None:
        counted = ~sample_split.selection_half(trials)
        if counted.all() or not counted.any():
            raise BadInput("a difference of accuracies needs at least two rounds: one to choose a threshold")
        lasting = per_target.has_lasting_targets(trials)
        groups = np.unique(trials.targets, return_inverse=True)[1] if lasting else np.zeros(len(trials), int)
        choose = trials.where(~counted)
        cutoffs = thresholds.best_thresholds(
            groups[~counted], choose.scores, choose.members, int(groups.max()) + 1
        )
        says_member = (trials.scores >= cutoffs[groups])[counted]
        trials = trials.where(counted)
    return trials, says_member == trials.members


def _rate(trials: Trials, happened: Bits, confidence: float) -> Estimate:
    """How often something happened, members and non-members weighted equally, averaged over targets."""
    statistic = (
        thresholds.jackknife_mean_accuracy
        if per_target.has_lasting_targets(trials)
        else thresholds.jackknife_accuracy
    )
    as_decision = np.where(happened, trials.members, ~trials.members)
    return jackknife.rate_estimate(statistic(trials, as_decision), confidence, "jackknife over rounds")
