"""Sample splitting: some trials choose a threshold or a direction, the others are counted by it."""

from dataclasses import replace

import numpy as np
import scipy.special

from leakgauge.core.arrays import Bits
from leakgauge.core.game import Coins, Trials

_FIRST = 5  # one round in so many, from the first on, may show that an attack reads its signal the wrong way
_CHANCE = 1e-3  # of an attack that learns nothing to be turned round


def selection_half(trials: Trials) -> Bits:
    """Mark the trials that choose a threshold; the others are counted. Scores play no role in it.

    Every second trial of each world, in the order of rounds, so that both halves have both worlds even in a
    file that alternates them; where trials share rounds, every second round.
    """
    if trials.shared_rounds:
        return trials.round_numbers % 2 == 0
    half = np.zeros(len(trials), bool)
    order = np.argsort(trials.rounds, kind="stable")
    for world in (True, False):
        half[order[trials.members[order] == world][::2]] = True
    return half


def turned_round(trials: Trials) -> Trials:
    """The same trials, unless the attack is wrong about most of the first rounds by more than chance.

    A service may refuse, or answer, in the way opposite to the one that an attack expects. Its scores are
    then read the other way round, and the first rounds, which decided that, are not counted.
    """
    threshold, rounds = trials.reading.threshold, trials.round_numbers
    if threshold is None or trials.coins is not Coins.FAIR or not len(trials):
        return trials
    first = rounds < (rounds.max() + 1) // _FIRST
    right = (trials.scores[first] >= threshold) == trials.members[first]
    n_targets = np.bincount(rounds[first])
    shares = np.bincount(rounds[first], right) / np.maximum(n_targets, 1)
    n_right, n_wrong = int((shares > 0.5).sum()), int((shares < 0.5).sum())
    if n_wrong <= n_right or scipy.special.bdtr(n_right, n_right + n_wrong, 0.5) >= _CHANCE:
        return trials
    kept = trials.where(~first)
    reading = replace(kept.reading, threshold=float(np.nextafter(-threshold, np.inf)))
    return replace(kept, scores=-kept.scores, reading=reading)
