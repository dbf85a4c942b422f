"""True-positive rate at a small false-positive rate where each round repeats a whole experiment.

In each repeat the threshold is that which accuses so many of its own others, and no more.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, stdtrit

from leakgauge.core.game import Reals, Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee.intervals import FEWEST_REPEATS, rate_high, rate_low
from leakgauge.referee.leave_out import are_repeats, round_numbers

FEWEST_ALARMS = 10  # others of each repeat that are accused; a threshold set by fewer is hardly one

Ranks = npt.NDArray[np.int64]


def can_repeat(trials: Trials, fpr: float) -> bool:
    """Whether there are repeats enough, with others enough in each."""
    if not are_repeats(trials):
        return False
    others = np.bincount(round_numbers(trials), ~trials.members)
    return others.size >= FEWEST_REPEATS and bool(others.min() * fpr >= FEWEST_ALARMS - 1e-9)


def mean_interval(trials: Trials, fpr: float, error: float) -> tuple[float, float, float]:
    """The mean over repeats of the TPR at an FPR within each, and its interval, ``error`` in all.

    Student's t (Gosset 1908) on the scale of log-odds, where rates that vary are less skew. A threshold that
    is set by some others, and not by all there could be, has a TPR that is too low on average, for ROC curves
    are concave, by about as much as it falls when half of them set it, and half of that again (Quenouille
    1956): the upper end makes up for that, and the lower end need not.
    """
    rates, mended = _rates(trials, fpr)
    value = float(rates.mean())
    if not rates.var() > 1e-15:  # nothing varies: as if all members were trials of their own
        n = int(trials.members.sum())
        return value, float(rate_low(value * n, n, error / 2)), float(rate_high(value * n, n, error / 2))
    low, high = _on_log_odds(rates, error)
    return value, low, max(high, _on_log_odds(mended, error)[1])


def _on_log_odds(rates: Reals, error: float) -> tuple[float, float]:
    mean = float(rates.mean())
    if not 0 < mean < 1:
        return (0.0, 1.0)
    deviation = float(rates.std(ddof=1)) / np.sqrt(rates.size) / (mean * (1 - mean))
    margin = -float(stdtrit(rates.size - 1, error / 2)) * deviation
    return float(expit(logit(mean) - margin)), float(expit(logit(mean) + margin))


def _rates(trials: Trials, fpr: float) -> tuple[Reals, Reals]:
    """The TPR of each repeat, and the same without most of its bias. Ties are broken by a fixed stream."""
    chance = stream(0, Role.TIES, 2).random((2, len(trials)))
    ranks = np.empty(len(trials), np.int64)
    ranks[np.lexsort((chance[0], trials.scores))] = np.arange(len(trials))
    rounds = round_numbers(trials)
    order = np.lexsort((chance[1], rounds))
    rates, mended = [], []
    for rows in np.split(order, np.flatnonzero(np.diff(rounds[order])) + 1):
        inside = trials.members[rows]
        members, others = ranks[rows[inside]], ranks[rows[~inside]]
        half = others.size // 2
        halves = [_above(members, some, fpr) for some in (others[:half], others[half:])]
        rates.append(_above(members, others, fpr))
        mended.append(2 * rates[-1] - sum(halves) / 2)
    return np.array(rates), np.array(mended)


def _above(members: Ranks, others: Ranks, fpr: float) -> float:
    """The share of members above the others that an FPR allows; between two of them, by straight lines."""
    falling = np.sort(others)[::-1]
    allowed = fpr * others.size
    k = int(np.floor(allowed + 1e-9))
    shares = [
        0.0 if n == 0 else float(np.mean(members > falling[n - 1])) for n in (k, min(k + 1, others.size))
    ]
    return shares[0] + (allowed - k) * (shares[1] - shares[0])
