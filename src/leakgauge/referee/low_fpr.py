"""True-positive rate where false positives are rare.

Between two thresholds an adversary may choose by a coin, so straight lines join the points of a ROC curve;
where scores are equal this is what breaking ties at random gives.
"""

import numpy as np
from scipy.special import betainc

from leakgauge.core.game import Bits, Reals, Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee.intervals import rate_high, rate_low

LOW_FPRS = (0.1, 0.01, 0.001)


def tpr_at(scores: Reals, members: Bits, fpr: float) -> float:
    """TPR at one FPR on the ROC curve of these trials.

    >>> tpr_at(np.array([1.0, 1.0, 0.0, 0.0]), np.array([True, False, True, False]), 0.25)
    0.25
    """
    order = np.argsort(-scores, kind="stable")
    ranked, member = scores[order], members[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), order.size - 1)
    hits, alarms = np.cumsum(member)[ends], np.cumsum(~member)[ends]
    return float(np.interp(fpr, np.append(0, alarms) / alarms[-1], np.append(0, hits) / hits[-1]))


def exact_interval(trials: Trials, fpr: float, error: float) -> tuple[float, float]:
    """Interval of the TPR at a true FPR, for independent rounds; no law is assumed.

    Ties are broken by a fixed stream. The k-th largest non-member has a false-positive rate distributed as
    Beta(k, n - k + 1): the strictest and the loosest rule that the FPR may mean are found from non-members
    alone, then members are counted (Clopper and Pearson 1934). A quarter of the error goes to each step.
    """
    chance = stream(0, Role.TIES).random(len(trials))
    ranks = np.empty(len(trials), np.int64)
    ranks[np.lexsort((chance, trials.scores))] = np.arange(len(trials))
    others, members = np.sort(ranks[~trials.members])[::-1], ranks[trials.members]
    k = np.arange(1, others.size + 1)
    chance_below = betainc(k, others.size - k + 1, fpr)
    surely_below = np.flatnonzero(chance_below >= 1 - error / 4)
    surely_above = np.flatnonzero(chance_below <= error / 4)
    low, high = 0.0, 1.0
    if surely_below.size:
        hits = np.count_nonzero(members > others[surely_below[-1]])
        low = float(rate_low(hits, members.size, error / 4))
    if surely_above.size:
        hits = np.count_nonzero(members > others[surely_above[0]])
        high = float(rate_high(hits, members.size, error / 4))
    return low, high


def one_per_round(trials: Trials) -> Trials:
    """Keep one trial of each round, drawn by a fixed stream: these are independent, and as likely as all."""
    order = np.lexsort((trials.targets, trials.rounds))
    chance = np.empty(len(trials))
    chance[order] = stream(0, Role.TIES, 1).random(len(trials))
    shuffled = np.lexsort((chance, trials.rounds))
    first = np.append(True, np.diff(trials.rounds[shuffled]) > 0)
    return trials.where(shuffled[first])


def fewest_others(fpr: float, error: float) -> int:
    """Non-members needed before any lower bound above zero is possible."""
    return int(np.ceil(np.log(error / 4) / np.log1p(-fpr)))
