"""Rates at the threshold the attack itself set before the rounds."""

import numpy as np

from leakgauge.core.game import Bits, Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.leave_out import LeftOut, rate_estimate, round_numbers


def own_rate(trials: Trials, of: Bits, says_member: bool, confidence: float) -> Estimate:
    """Share of the trials ``of`` one world of which the attack says ``says_member``."""
    method = "at the attack's own threshold, jackknife over rounds"
    threshold = trials.reading.threshold
    if threshold is None or not of.any():
        why = "the attack sets no threshold of its own" if threshold is None else "no trial of that world"
        return Estimate(value=None, confidence=confidence, method=method, reason=why)
    chosen = trials.where(of)
    rounds = round_numbers(chosen)
    right = np.bincount(rounds, (chosen.scores >= threshold) == says_member)
    n = np.bincount(rounds)
    value = float(right.sum() / n.sum())
    rest = n.sum() - n
    values = np.where(rest > 0, (right.sum() - right) / np.maximum(rest, 1), value)
    return rate_estimate(LeftOut(value, values, n.size, int(n.sum())), confidence, method)
