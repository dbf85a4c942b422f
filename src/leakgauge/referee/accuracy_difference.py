"""How much better an attacker does against one release than against another, in the same rounds or not."""

from enum import Enum, auto

import numpy as np

from leakgauge.core.arrays import Bits
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee import intervals, jackknife, per_target, thresholds
from leakgauge.referee.estimate import Estimate


class Pairing(Enum):
    """How the rounds of two runs belong together.

    ``ROUNDS``: rounds of the same number have the same targets and random numbers. ``INDEPENDENT``: the runs
    share no random numbers. ``UNKNOWN``: they may share some, in another order or for other targets.
    """

    ROUNDS = auto()
    INDEPENDENT = auto()
    UNKNOWN = auto()


def accuracy_difference(
    new: Trials, old: Trials, confidence: float, pairing: Pairing = Pairing.ROUNDS
) -> Estimate:
    """Accuracy against ``new`` minus accuracy against ``old``, with a two-sided interval.

    Decisions are those of the attack's own threshold, or of one chosen on other rounds where it sets none.
    In rounds that both share, with the same targets and members, the difference is the rate of trials that
    are right only now, minus the rate of those that were right only before; otherwise it is that of two
    accuracies. The intervals of both rates are combined (MOVER; Zou and Donner 2008). Gained and lost trials
    exclude one another, so the interval is never narrower than that of the jackknife of their difference.
    Where the dependence of two accuracies is unknown, their margins are added: no dependence makes the
    standard deviation of a difference larger than the sum of the two.
    """
    common = _common_rounds(new, old) if pairing is Pairing.ROUNDS else None
    paired = common is not None
    new, old = common or (new, old)
    new, right_now = _right(new)
    old, right_before = _right(old)
    if paired:
        gained = _rate(new, right_now & ~right_before, confidence)
        lost = _rate(new, right_before & ~right_now, confidence)
    else:
        gained, lost = _rate(new, right_now, confidence), _rate(old, right_before, confidence)
    independent = pairing is Pairing.INDEPENDENT
    rounds = "in the same rounds" if paired else "independent rounds" if independent else "other rounds"
    method = f"difference of accuracies, {rounds}"
    if gained.value is None or lost.value is None:
        raise BadInput("a difference of accuracies needs members and non-members in both runs")
    difference = gained.value - lost.value
    if gained.low is None or gained.high is None or lost.low is None or lost.high is None:
        reason = gained.reason or lost.reason
        return Estimate(value=difference, confidence=confidence, method=method, reason=reason)
    direct = _paired_margin(new, right_now, right_before, confidence) if paired else 0.0
    combine = np.hypot if paired or independent else np.add
    below = float(combine(gained.value - gained.low, lost.high - lost.value))
    above = float(combine(gained.high - gained.value, lost.value - lost.low))
    return Estimate(
        value=difference,
        low=difference - max(below, direct),
        high=difference + max(above, direct),
        confidence=confidence,
        method=method,
    )


def _common_rounds(new: Trials, old: Trials) -> tuple[Trials, Trials] | None:
    """The rounds that both runs have; nothing where their targets or members are not the same."""
    first = np.intersect1d(new.rounds, old.rounds)
    new, old = (trials.where(np.isin(trials.rounds, first)) for trials in (new, old))
    same = all(
        np.array_equal(one, other)
        for one, other in (
            (new.rounds, old.rounds),
            (new.targets, old.targets),
            (new.members, old.members),
        )
    )
    return (new, old) if same and first.size else None


def _paired_margin(trials: Trials, right_now: Bits, right_before: Bits, confidence: float) -> float:
    """Half the width of the interval of the jackknife of the difference itself, over rounds or splits."""
    statistic = (
        thresholds.jackknife_mean_accuracy
        if per_target.has_lasting_targets(trials)
        else thresholds.jackknife_accuracy
    )
    units = [trials]
    if jackknife.n_splits(trials) >= intervals.FEWEST_SPLITS:
        units.append(jackknife.splits_as_rounds(trials))
    margins = []
    for rows in units:
        now, before = (
            statistic(rows, np.where(right, trials.members, ~trials.members)).values
            for right in (right_now, right_before)
        )
        margins.append(intervals.student_margin(now - before, 1 - confidence))
    return max(margins)


def _right(trials: Trials) -> tuple[Trials, Bits]:
    """The trials that count, and on which of them the attacker is right."""
    if (says_member := thresholds.own_decisions(trials)) is None:
        lasting = per_target.has_lasting_targets(trials)
        groups = np.unique(trials.targets, return_inverse=True)[1] if lasting else np.zeros(len(trials), int)
        says_member, counted = thresholds.calibrated_decisions(trials, groups.astype(np.int64))
        if not counted.any():
            raise BadInput("a difference of accuracies needs at least two rounds: one to choose a threshold")
        says_member, trials = says_member[counted], trials.where(counted)
    return trials, says_member == trials.members


def _rate(trials: Trials, happened: Bits, confidence: float) -> Estimate:
    """How often something happened, members and non-members weighted equally, averaged over targets."""
    statistic = (
        thresholds.jackknife_mean_accuracy
        if per_target.has_lasting_targets(trials)
        else thresholds.jackknife_accuracy
    )
    as_decision = np.where(happened, trials.members, ~trials.members)
    return jackknife.rate_estimate(lambda rows: statistic(rows, as_decision), trials, confidence, "accuracy")
