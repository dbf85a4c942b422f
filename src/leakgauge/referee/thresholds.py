"""Thresholds chosen on some rounds, and what they give on others."""

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals, Trials
from leakgauge.referee.leave_out import LeftOut, left_out_of, round_numbers
from leakgauge.referee.per_target import means_left_out, split_targets


def best_thresholds(groups: npt.NDArray[np.int64], scores: Reals, members: Bits, n_groups: int) -> Reals:
    """Threshold of the largest TPR - FPR of each group; midway between neighbouring scores.

    A group without both worlds gets the middle of its scores.
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


def accuracy_left_out(trials: Trials, says_member: Bits) -> LeftOut:
    """Balanced accuracy (TPR + TNR) / 2 of a decision, with each round left out."""
    rounds = round_numbers(trials)
    right = says_member == trials.members
    tallies = [
        np.bincount(rounds, column)
        for column in (trials.members & right, trials.members, ~trials.members & right, ~trials.members)
    ]
    hits, ins, silences, outs = (tally.sum() - tally for tally in tallies)
    value = float((tallies[0].sum() / tallies[1].sum() + tallies[2].sum() / tallies[3].sum()) / 2)
    enough = (ins > 0) & (outs > 0)
    values = np.where(enough, (hits / np.maximum(ins, 1) + silences / np.maximum(outs, 1)) / 2, value)
    return left_out_of(trials, value, values)


def mean_accuracy_left_out(trials: Trials, says_member: Bits) -> LeftOut:
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
    n_in, n_out = ins[targets] - kept.members, outs[targets] - ~kept.members
    lasts = (n_in > 0) & (n_out > 0)
    without = (
        (hits[targets] - (kept.members & right)) / np.maximum(n_in, 1)
        + (silences[targets] - (~kept.members & right)) / np.maximum(n_out, 1)
    ) / 2
    values = means_left_out(kept, targets, accuracy, without, lasts)
    return left_out_of(kept, float(accuracy.mean()), values)
