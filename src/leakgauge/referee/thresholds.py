"""Thresholds chosen on other rounds, for each release, or by the attack itself, and the rates they give."""

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import (
    JackknifeStatistic,
    advantage_estimate,
    are_repeats,
    jackknife_statistic,
    largest_influences,
    rate_estimate,
)
from leakgauge.referee.per_target import jackknife_target_means, split_targets, target_rounds
from leakgauge.referee.sample_split import selection_half

_OWN_THRESHOLD_METHOD = "at the attack's own threshold"
_NO_THRESHOLD = "the attack sets no threshold of its own"
_ONE_WORLD = "not available: there are only members, or only non-members"


def best_thresholds(groups: npt.NDArray[np.int64], scores: Reals, members: Bits, n_groups: int) -> Reals:
    """The threshold of the largest TPR - FPR of each group, midway between neighbouring scores.

    A group without both worlds gets the median of its scores.
    """
    thresholds = np.zeros(n_groups)
    order = np.lexsort((scores, groups))
    edges = np.searchsorted(groups[order], np.arange(n_groups + 1))
    for number in range(n_groups):
        rows = order[edges[number] : edges[number + 1]]
        if rows.size:
            thresholds[number] = _best_threshold(scores[rows], members[rows])
    return thresholds


def _best_threshold(ranked: Reals, members: Bits) -> float:
    n_in = members.sum()
    n_out = members.size - n_in
    if n_in == 0 or n_out == 0:
        return float(np.median(ranked))
    below = np.cumsum(np.where(members, -1 / n_in, 1 / n_out))  # TPR - FPR of "above this score"
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
    best = ends[np.argmax(below[ends])]
    if best == ranked.size - 1:
        return float(np.nextafter(ranked[-1], np.inf))
    return float(ranked[best] / 2 + ranked[best + 1] / 2)


def jackknife_accuracy(trials: Trials, says_member: Bits) -> JackknifeStatistic:
    """Balanced accuracy (TPR + TNR) / 2 of a decision, with each round left out."""
    rounds = trials.round_numbers
    right = says_member == trials.members
    tallies = [
        np.bincount(rounds, column)
        for column in (trials.members & right, trials.members, ~trials.members & right, ~trials.members)
    ]
    hits, ins, silences, outs = (tally.sum() - tally for tally in tallies)
    value = float((tallies[0].sum() / tallies[1].sum() + tallies[2].sum() / tallies[3].sum()) / 2)
    enough = (ins > 0) & (outs > 0)
    values = np.where(enough, (hits / np.maximum(ins, 1) + silences / np.maximum(outs, 1)) / 2, value)
    n_right, n_in, n_quiet, n_out = (float(tally.sum()) for tally in tallies)
    weights = np.where(trials.members, 0.5 / n_in, 0.5 / n_out)
    rates = np.where(trials.members, n_right / n_in, n_quiet / n_out)
    return jackknife_statistic(trials, value, values, weights, rates)


def jackknife_mean_accuracy(trials: Trials, says_member: Bits) -> JackknifeStatistic:
    """Balanced accuracy of each target over its rounds, averaged; with each round left out."""
    right = says_member == trials.members
    marked = Trials(
        trials.rounds, trials.targets, trials.members, right.astype(np.float64), trials.coins, trials.reading
    )
    kept, targets, ins, outs = split_targets(marked, "accuracy_mean")
    right = kept.scores == 1.0
    hits = np.bincount(targets, kept.members & right, ins.size)
    silences = np.bincount(targets, ~kept.members & right, ins.size)
    accuracy = (hits / ins + silences / outs) / 2
    parts = target_rounds(kept, targets)
    lost_hits, lost_ins, lost_silences, lost_outs = (
        np.bincount(parts.numbers, column)
        for column in (kept.members & right, kept.members, ~kept.members & right, ~kept.members)
    )
    n_in, n_out = ins[parts.targets] - lost_ins, outs[parts.targets] - lost_outs
    without = (
        (hits[parts.targets] - lost_hits) / np.maximum(n_in, 1)
        + (silences[parts.targets] - lost_silences) / np.maximum(n_out, 1)
    ) / 2
    values = jackknife_target_means(parts, accuracy, without, (n_in > 0) & (n_out > 0))
    weights = 0.5 / np.where(kept.members, ins[targets], outs[targets]) / ins.size
    rates = np.where(kept.members, (hits / ins)[targets], (silences / outs)[targets])
    return jackknife_statistic(kept, float(accuracy.mean()), values, weights, rates)


def too_few_per_round(trials: Trials, fewest: int) -> str | None:
    """The reason if some round has fewer members, or fewer others, than ``fewest``; else nothing."""
    rounds = trials.round_numbers
    ins = np.bincount(rounds, trials.members)
    smallest = int(min(ins.min(), (np.bincount(rounds) - ins).min())) if len(trials) else 0
    if smallest >= fewest:
        return None
    return (
        f"not available: needs at least {fewest} members and {fewest} non-members per release, one has "
        f"{smallest}; raise targets"
    )


def cross_fitted_decisions(trials: Trials) -> Bits:
    """Decide on each half of a release at the threshold that is best on the other half.

    Halves are drawn by a fixed stream, separately for members and others, without looking at scores.
    """
    rounds, second = trials.round_numbers, _second_halves(trials)
    n_groups = 2 * (int(rounds.max()) + 1)
    thresholds = best_thresholds(2 * rounds + second, trials.scores, trials.members, n_groups)
    return trials.scores >= thresholds[2 * rounds + ~second]


def in_sample_decisions(trials: Trials) -> Bits:
    """Decide on each release at the threshold that is best on the same trials; this overstates the attack."""
    rounds = trials.round_numbers
    thresholds = best_thresholds(rounds, trials.scores, trials.members, int(rounds.max()) + 1)
    return trials.scores >= thresholds[rounds]


def mean_over_rounds(trials: Trials, says_member: Bits) -> JackknifeStatistic:
    """Balanced accuracy of the decisions on each release, averaged; with each round left out."""
    rounds = trials.round_numbers
    right = says_member == trials.members
    ins, outs = np.bincount(rounds, trials.members), np.bincount(rounds, ~trials.members)
    hits = np.bincount(rounds, trials.members & right) / ins
    silences = np.bincount(rounds, ~trials.members & right) / outs
    each = (hits + silences) / 2
    value = float(each.mean())
    values = (each.sum() - each) / (each.size - 1) if each.size > 1 else each
    weights = np.where(trials.members, 0.5 / ins[rounds], 0.5 / outs[rounds]) / each.size
    return jackknife_statistic(trials, value, values, weights, value)


def calibrated_decisions(trials: Trials, groups: npt.NDArray[np.int64]) -> tuple[Bits, Bits]:
    """Decide at thresholds chosen elsewhere, one for each group of trials; return also which trials count.

    With several splits of the people, those of a split are chosen on all other splits, and every trial
    counts; within a split others vary less than the attacker could know. Otherwise one half of the rounds
    chooses, and the other half counts.
    """
    n_groups = int(groups.max(initial=0)) + 1
    splits = np.zeros(len(trials), np.int64) if trials.splits is None else trials.splits
    numbers = np.unique(splits)
    if numbers.size <= 1:
        counted = ~selection_half(trials)
        choose = trials.where(~counted)
        thresholds = best_thresholds(groups[~counted], choose.scores, choose.members, n_groups)
        return trials.scores >= thresholds[groups], counted
    says_member = np.zeros(len(trials), bool)
    for split in numbers:
        now = splits == split
        choose = trials.where(~now)
        thresholds = best_thresholds(groups[~now], choose.scores, choose.members, n_groups)
        says_member[now] = trials.scores[now] >= thresholds[groups[now]]
    return says_member, np.ones(len(trials), bool)


def _second_halves(trials: Trials) -> Bits:
    """Mark every second trial of each world of each round, in a random order from a fixed stream."""
    chance = stream(0, Role.TIES, 2).random(len(trials))
    order = np.lexsort((chance, trials.members, trials.rounds))
    rounds, members = trials.rounds[order], trials.members[order]
    starts = np.append(True, (rounds[1:] != rounds[:-1]) | (members[1:] != members[:-1]))
    places = np.arange(order.size)
    first = np.maximum.accumulate(np.where(starts, places, 0))
    second = np.zeros(len(trials), bool)
    second[order] = (places - first) % 2 == 1
    return second


def own_decisions(trials: Trials) -> Bits | None:
    """What the attack says of each trial at its own threshold; nothing where it sets none."""
    threshold = trials.reading.threshold
    return None if threshold is None else trials.scores >= threshold


def without_own_threshold(confidence: float) -> Estimate:
    """The estimate at a threshold that the attack does not set."""
    return Estimate(value=None, confidence=confidence, method=_OWN_THRESHOLD_METHOD, reason=_NO_THRESHOLD)


def own_threshold_rate(trials: Trials, of: Bits, says_member: bool, confidence: float) -> Estimate:
    """Share of the trials ``of`` one world on which the attack decides ``says_member`` (member, or not)."""
    threshold = trials.reading.threshold
    if threshold is None or not of.any():
        why = (
            _NO_THRESHOLD
            if threshold is None
            else "not available: there are only members, or only non-members"
        )
        return Estimate(value=None, confidence=confidence, method=_OWN_THRESHOLD_METHOD, reason=why)
    repeats = are_repeats(trials)

    def statistic(chosen: Trials) -> JackknifeStatistic:
        rounds = chosen.round_numbers
        right = np.bincount(rounds, (chosen.scores >= threshold) == says_member)
        n = np.bincount(rounds)
        value = float(right.sum() / n.sum())
        rest = n.sum() - n
        values = np.where(rest > 0, (right.sum() - right) / np.maximum(rest, 1), value)
        lost, won = largest_influences(chosen, np.full(len(chosen), 1 / len(chosen)), value)
        return JackknifeStatistic(value, values, n.size, int(n.sum()), lost, won, repeats)

    return rate_estimate(statistic, trials.where(of), confidence, _OWN_THRESHOLD_METHOD)


def own_threshold_advantage(trials: Trials, confidence: float) -> Estimate:
    """TPR - FPR of the attack's own decisions."""
    if (says_member := own_decisions(trials)) is None:
        return without_own_threshold(confidence)
    need_both_worlds(trials, "advantage_own")
    return advantage_estimate(
        lambda rows: jackknife_accuracy(rows, says_member), trials, confidence, _OWN_THRESHOLD_METHOD
    )
