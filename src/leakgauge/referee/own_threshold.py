"""Rates at the threshold the attack itself set before the rounds."""

import numpy as np

from leakgauge.core.game import Bits, Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.leave_out import LeftOut, advantage_estimate, are_repeats, rate_estimate, round_numbers
from leakgauge.referee.thresholds import accuracy_left_out

_METHOD = "at the attack's own threshold, jackknife over rounds"
_NO_THRESHOLD = "the attack sets no threshold of its own"


def own_rate(trials: Trials, of: Bits, says_member: bool, confidence: float) -> Estimate:
    """Share of the trials ``of`` one world of which the attack says ``says_member``."""
    threshold = trials.reading.threshold
    if threshold is None or not of.any():
        why = _NO_THRESHOLD if threshold is None else "no trial of that world"
        return Estimate(value=None, confidence=confidence, method=_METHOD, reason=why)
    chosen = trials.where(of)
    rounds = round_numbers(chosen)
    right = np.bincount(rounds, (chosen.scores >= threshold) == says_member)
    n = np.bincount(rounds)
    value = float(right.sum() / n.sum())
    rest = n.sum() - n
    values = np.where(rest > 0, (right.sum() - right) / np.maximum(rest, 1), value)
    left_out = LeftOut(value, values, n.size, int(n.sum()), are_repeats(trials))
    return rate_estimate(left_out, confidence, _METHOD)


def own_advantage(trials: Trials, confidence: float) -> Estimate:
    """TPR - FPR of the attack's own decisions."""
    threshold = trials.reading.threshold
    if threshold is None:
        return Estimate(value=None, confidence=confidence, method=_METHOD, reason=_NO_THRESHOLD)
    need_both_worlds(trials, "advantage_own")
    return advantage_estimate(accuracy_left_out(trials, trials.scores >= threshold), confidence, _METHOD)
