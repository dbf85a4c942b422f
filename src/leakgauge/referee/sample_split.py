"""Sample splitting: one half of the trials chooses a threshold, the other half is counted at it."""

import numpy as np

from leakgauge.core.arrays import Bits
from leakgauge.core.game import Trials


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
