"""True-positive rate at a small false-positive rate, over all trials or within each repeat of an experiment.

Between two thresholds an attacker may choose by a coin, so straight lines join the points of a ROC curve;
where scores are equal this is what breaking ties at random gives. Where each round repeats a whole
experiment, the threshold of a repeat is the one at which the given share of its own non-members is accused.
"""

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee import intervals, jackknife

LOW_FPRS = (0.1, 0.01, 0.001)
FEWEST_ALARMS = 10  # non-members of each repeat that are accused; fewer do not determine a threshold

Ranks = npt.NDArray[np.int64]


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


def jackknife_tpr_at(trials: Trials, fpr: float) -> Reals:
    """TPR at one FPR with each round left out; each is computed anew, so rounds should be few."""
    rounds = trials.round_numbers
    whole = tpr_at(trials.scores, trials.members, fpr)
    values = []
    for number in range(int(rounds.max()) + 1):
        rest = trials.where(rounds != number)
        both = 0 < rest.members.sum() < len(rest)
        values.append(tpr_at(rest.scores, rest.members, fpr) if both else whole)
    return np.array(values)


def exact_tpr_interval(trials: Trials, fpr: float, error: float) -> tuple[float, float]:
    """Interval of the TPR at a true FPR, for independent rounds and any distribution of scores.

    Ties are broken by a fixed stream. The k-th largest non-member has a false-positive rate distributed as
    Beta(k, n - k + 1): the strictest and the loosest rule that the FPR may mean are found from non-members
    alone, then members are counted (Clopper and Pearson 1934). A quarter of the error goes to each step.
    """
    chance = stream(0, Role.TIES).random(len(trials))
    ranks = np.empty(len(trials), np.int64)
    ranks[np.lexsort((chance, trials.scores))] = np.arange(len(trials))
    others, members = np.sort(ranks[~trials.members])[::-1], ranks[trials.members]
    k = np.arange(1, others.size + 1)
    chance_below = scipy.special.betainc(k, others.size - k + 1, fpr)
    surely_below = np.flatnonzero(chance_below >= 1 - error / 4)
    surely_above = np.flatnonzero(chance_below <= error / 4)
    low, high = 0.0, 1.0
    if surely_below.size:
        hits = np.count_nonzero(members > others[surely_below[-1]])
        low = float(intervals.rate_low(hits, members.size, error / 4))
    if surely_above.size:
        hits = np.count_nonzero(members > others[surely_above[0]])
        high = float(intervals.rate_high(hits, members.size, error / 4))
    return low, high


def one_per_round(trials: Trials) -> Trials:
    """Keep one trial of each round, drawn by a fixed stream: these trials are independent."""
    order = np.lexsort((trials.targets, trials.rounds))
    chance = np.empty(len(trials))
    chance[order] = stream(0, Role.TIES, 1).random(len(trials))
    shuffled = np.lexsort((chance, trials.rounds))
    first = np.append(True, np.diff(trials.rounds[shuffled]) > 0)
    return trials.where(shuffled[first])


def fewest_others(fpr: float, error: float) -> int:
    """Non-members needed before any lower bound above zero is possible."""
    return int(np.ceil(np.log(error / 4) / np.log1p(-fpr)))


def has_enough_repeats(trials: Trials, fpr: float) -> bool:
    """Whether there are enough repeats, with enough non-members in each."""
    if not jackknife.are_repeats(trials):
        return False
    others = np.bincount(trials.round_numbers, ~trials.members)
    return others.size >= intervals.FEWEST_REPEATS and bool(others.min() * fpr >= FEWEST_ALARMS - 1e-9)


def repeated_tpr_interval(trials: Trials, fpr: float, error: float) -> tuple[float, float, float]:
    """The mean over repeats of the TPR at an FPR within each, and its interval, ``error`` in all.

    Student's t (Gosset 1908) on the scale of log-odds, where varying rates are less skewed. A threshold set
    by a sample of non-members has a TPR that is too low on average, because ROC curves are concave; the bias
    is about as large as the loss when only half of the sample sets it (Quenouille 1956). The upper end
    corrects for it, the lower end need not.
    """
    rates, corrected = _rates(trials, fpr)
    value = float(rates.mean())
    if not rates.var() > 1e-15:  # nothing varies: as if all members were trials of their own
        n = int(trials.members.sum())
        return (
            value,
            float(intervals.rate_low(value * n, n, error / 2)),
            float(intervals.rate_high(value * n, n, error / 2)),
        )
    low, high = _on_log_odds(rates, error)
    return value, low, max(high, _on_log_odds(corrected, error)[1])


def _on_log_odds(rates: Reals, error: float) -> tuple[float, float]:
    mean = float(rates.mean())
    if not 0 < mean < 1:
        return (0.0, 1.0)
    deviation = float(rates.std(ddof=1)) / np.sqrt(rates.size) / (mean * (1 - mean))
    margin = -float(scipy.special.stdtrit(rates.size - 1, error / 2)) * deviation
    return float(scipy.special.expit(scipy.special.logit(mean) - margin)), float(
        scipy.special.expit(scipy.special.logit(mean) + margin)
    )


def _rates(trials: Trials, fpr: float) -> tuple[Reals, Reals]:
    """The TPR of each repeat, as found and with most of its bias corrected; a fixed stream breaks ties."""
    chance = stream(0, Role.TIES, 2).random((2, len(trials)))
    ranks = np.empty(len(trials), np.int64)
    ranks[np.lexsort((chance[0], trials.scores))] = np.arange(len(trials))
    rounds = trials.round_numbers
    order = np.lexsort((chance[1], rounds))
    rates, corrected = [], []
    for rows in np.split(order, np.flatnonzero(np.diff(rounds[order])) + 1):
        inside = trials.members[rows]
        members, others = ranks[rows[inside]], ranks[rows[~inside]]
        half = others.size // 2
        halves = [_above(members, some, fpr) for some in (others[:half], others[half:])]
        rates.append(_above(members, others, fpr))
        corrected.append(2 * rates[-1] - sum(halves) / 2)
    return np.array(rates), np.array(corrected)


def _above(members: Ranks, others: Ranks, fpr: float) -> float:
    """The share of members that score above all but a share ``fpr`` of the others; linear in between."""
    falling = np.sort(others)[::-1]
    allowed = fpr * others.size
    k = int(np.floor(allowed + 1e-9))
    shares = [
        0.0 if n == 0 else float(np.mean(members > falling[n - 1])) for n in (k, min(k + 1, others.size))
    ]
    return shares[0] + (allowed - k) * (shares[1] - shares[0])
