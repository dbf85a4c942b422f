"""A threshold for each release: chosen on some of its trials, and what comes of it, averaged over rounds."""

import numpy as np

from leakgauge.core.game import Bits, Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee.leave_out import LeftOut, left_out_of, round_numbers
from leakgauge.referee.thresholds import best_thresholds


def too_few(trials: Trials, fewest: int) -> str | None:
    """Say that some round has fewer members, or fewer others, than this; nothing if none has."""
    rounds = round_numbers(trials)
    ins = np.bincount(rounds, trials.members)
    found = int(min(ins.min(), (np.bincount(rounds) - ins).min())) if len(trials) else 0
    if found >= fewest:
        return None
    return f"every round needs members and others, {fewest} of each, and one has {found}; show more targets"


def crossed_decisions(trials: Trials) -> Bits:
    """Decide on each half of a release at the threshold that is best on the other half.

    Halves are drawn by a fixed stream, members and others apart; no score is looked at for that.
    """
    rounds, second = round_numbers(trials), _second_halves(trials)
    n_groups = 2 * (int(rounds.max()) + 1)
    thresholds = best_thresholds(2 * rounds + second, trials.scores, trials.members, n_groups)
    return trials.scores >= thresholds[2 * rounds + ~second]


def best_decisions(trials: Trials) -> Bits:
    """Decide on each release at the threshold that is best on these very trials; this flatters the attack."""
    rounds = round_numbers(trials)
    thresholds = best_thresholds(rounds, trials.scores, trials.members, int(rounds.max()) + 1)
    return trials.scores >= thresholds[rounds]


def mean_over_rounds(trials: Trials, says_member: Bits) -> LeftOut:
    """Balanced accuracy of the decisions on each release, averaged; with each round left out."""
    rounds = round_numbers(trials)
    right = says_member == trials.members
    ins, outs = np.bincount(rounds, trials.members), np.bincount(rounds, ~trials.members)
    hits = np.bincount(rounds, trials.members & right) / ins
    silences = np.bincount(rounds, ~trials.members & right) / outs
    each = (hits + silences) / 2
    value = float(each.mean())
    values = (each.sum() - each) / (each.size - 1) if each.size > 1 else each
    return left_out_of(trials, value, values)


def _second_halves(trials: Trials) -> Bits:
    """Mark every second trial of each world of each round, in an order drawn for that."""
    chance = stream(0, Role.TIES, 2).random(len(trials))
    order = np.lexsort((chance, trials.members, trials.rounds))
    rounds, members = trials.rounds[order], trials.members[order]
    starts = np.append(True, (rounds[1:] != rounds[:-1]) | (members[1:] != members[:-1]))
    places = np.arange(order.size)
    first = np.maximum.accumulate(np.where(starts, places, 0))
    second = np.zeros(len(trials), bool)
    second[order] = (places - first) % 2 == 1
    return second
