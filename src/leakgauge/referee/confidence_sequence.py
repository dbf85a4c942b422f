"""Confidence sequences for the share of right decisions: bounds that may be read at any time.

Bounds for a fixed number of rounds fail when a look at the result decides whether more rounds are played.
These hold at all times together, so one may look after every block and stop when one likes.

What is bounded is the mean of one number per round: the share of its decisions that are right. Where a fair
coin decides on each target, its expectation is (TPR + TNR) / 2, averaged over targets, however many members
a round happens to have; it is never outside 0 to 1, and rounds are independent. Where membership is given no
such number is known, because both rates would have to be estimated first, and there is no sequence.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import unfair_coins
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import n_splits, these_splits
from leakgauge.referee.thresholds import best_thresholds

# Parts of the wealth that are bet each time; one of them is nearly the best for any mean and variance.
_PARTS = np.append(1.0, 0.9 * 2.0 ** -np.arange(0, 9, 0.5))
_GROWTH = 1.25  # thresholds are chosen again when there are so many times more rounds to choose them on


def sequence_low(values: Reals, error: float) -> float:
    """Lower bound on the mean of independent values from 0 to 1, which may be read at any time.

    Whoever bets a part f of their wealth that the mean exceeds m has 1 - f + f value / m times as much after
    each value. If the mean is at most m, that does not grow on average, and the wealth ever reaches 1 / error
    with a chance of at most ``error`` (Ville 1939; Waudby-Smith and Ramdas 2024). It is divided over several
    parts f. The larger m, the smaller the wealth: the bound is the largest m that it refutes.

    >>> round(sequence_low(np.ones(100), 0.05), 2)
    0.95
    """
    distinct, counts = np.unique(values, return_counts=True)
    needed = np.log(_PARTS.size) - np.log(error)
    low, high = 0.0, 1.0
    while high - low > 1e-7:
        mean = (low + high) / 2
        with np.errstate(divide="ignore"):  # who bets all and loses has nothing left
            gains = np.log(1 - _PARTS + _PARTS * distinct[:, None] / mean)
        low, high = (mean, high) if scipy.special.logsumexp(counts @ gains) >= needed else (low, mean)
    return low


def sequence_high(values: Reals, error: float) -> float:
    """Upper bound on the mean of independent values from 0 to 1, which may be read at any time."""
    return 1 - sequence_low(1 - values, error)


def sequence_estimate(trials: Trials, says_member: Bits, confidence: float, method: str) -> Estimate:
    """The share of right decisions, with bounds that may be read at any time."""
    method = f"{method}, confidence sequence over rounds"
    if trials.splits is not None:
        method = f"{method}, for {these_splits(n_splits(trials))}"
    if problem := unfair_coins(trials):
        reason = f"{problem}, and only fair coins allow bounds that may be read at any time"
        return Estimate(value=None, confidence=confidence, method=method, reason=reason)
    if not len(trials):
        reason = "the first block chooses thresholds, and no other was played"
        return Estimate(value=None, confidence=confidence, method=method, reason=reason)
    rounds = trials.round_numbers
    shares = np.bincount(rounds, says_member == trials.members) / np.bincount(rounds)
    error = (1 - confidence) / 2
    return Estimate(
        value=float(shares.mean()),
        low=sequence_low(shares, error),
        high=sequence_high(shares, error),
        confidence=confidence,
        method=method,
    )


def fitted_sequence_estimate(
    trials: Trials, groups: npt.NDArray[np.int64], block: int, confidence: float
) -> Estimate:
    """The share of right decisions where each group of trials gets its threshold from earlier blocks.

    The lower end is that of the best thresholds too. The upper end is raised by as much as thresholds chosen
    on the counted rounds themselves do better: somebody else may place theirs so well.
    """
    says_member, counted = earlier_thresholds(trials, groups, block)
    kept, of = trials.where(counted), groups[counted]
    answer = sequence_estimate(
        kept, says_member[counted], confidence, "right decisions at thresholds of earlier blocks"
    )
    if answer.value is None or answer.high is None:
        return answer
    thresholds = best_thresholds(of, kept.scores, kept.members, int(groups.max()) + 1)
    best = float(((kept.scores >= thresholds[of]) == kept.members).mean())
    return replace(answer, high=min(1.0, answer.high + max(0.0, best - answer.value)))


def earlier_thresholds(trials: Trials, groups: npt.NDArray[np.int64], block: int) -> tuple[Bits, Bits]:
    """Decide on each block at the thresholds that are best on earlier blocks, one for each group of trials.

    Return the decisions, and which trials count: the first block has no earlier one.
    """
    if block < 1:
        raise BadInput(f"block must be at least 1, got {block}")
    blocks = trials.rounds // block
    n_groups = int(groups.max(initial=0)) + 1
    thresholds = np.zeros(n_groups)
    says_member, counted, known = np.zeros(len(trials), bool), np.zeros(len(trials), bool), 0
    for number in np.unique(blocks)[1:].tolist():
        now, earlier = blocks == number, blocks < number
        if (n_earlier := int(earlier.sum())) >= _GROWTH * known:
            known = n_earlier
            thresholds = best_thresholds(
                groups[earlier], trials.scores[earlier], trials.members[earlier], n_groups
            )
        says_member[now] = trials.scores[now] >= thresholds[groups[now]]
        counted |= now
    return says_member, counted
