"""Tests whether something beside the answers reveals the target: refusals, errors, latency, low-order bits.

Membership must have been decided by independent fair coins, one for each round. A rule is fixed on every
second round and counted on the others, so any signal may be tried: the p-value is exact or too large for
every release that keeps (epsilon, delta) in each round.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, betainc, expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Ints, Reals
from leakgauge.referee.noise_tests import NoiseTest

_MOST_THRESHOLDS = 64  # of one signal and one direction
_UNLIKELY = 1e-6  # chance of more revealed bits than allowed for
_LOW_BITS = 53  # zeros at the end of a number that are told apart: numbers of single precision have 29
_PRIOR = 1.0  # rounds of each world that every table starts with


def told_by(
    signal: npt.ArrayLike,
    members: npt.ArrayLike,
    epsilon: float,
    delta: float,
    *,
    name: str = "told_by",
    finding: str = "something beside the answers reveals whether the target is in the data",
) -> NoiseTest:
    """Test whether a signal reveals membership better than (epsilon, delta) allows.

    ``signal`` has one row for each round, and one column for each thing seen in it (booleans or numbers such
    as latencies; NaN where there was none, which is a signal too). The rule is one threshold of one column:
    guess on one side of it, or on both. The rounds without a guess do not count against it, so errors in few
    rounds are enough.
    """
    columns, bits = _checked(signal, members)
    return _counted(columns, bits, epsilon, delta, name, finding)


def low_order_bits(
    answers: npt.ArrayLike,
    members: npt.ArrayLike,
    epsilon: float,
    delta: float,
) -> NoiseTest:
    """Test whether the last bits of floating-point answers reveal membership (Mironov 2012).

    Which numbers a sum of true value and floating-point noise can reach depends on the true value. For each
    question, tables of the number of zero bits at the end, alone and together with sign and size, are learned
    on every second round, and then a threshold of the sum of log ratios.
    """
    table, bits = _checked(answers, members)
    zeros, sizes = _zero_bits(table), _signs_and_sizes(table)
    scores = [_log_ratios(kinds, bits) for kinds in (zeros, sizes, sizes * (_LOW_BITS + 1) + zeros)]
    return _counted(
        np.column_stack([*scores, scores[0] + scores[1]]),
        bits,
        epsilon,
        delta,
        "low_order_bits",
        "the last bits of the answers reveal whether the target is in the data",
    )


@dataclass(frozen=True)
class _Rule:
    """Guess "member" (or "not") where a column is above a threshold, or from it on; both: else the other."""

    column: int
    threshold: float
    member_above: bool
    above: bool  # guess above the threshold
    below: bool  # guess from the threshold down

    def guesses(self, columns: Reals) -> tuple[Bits, Bits]:
        """Where there is a guess, and what it is."""
        high = columns[:, self.column] > self.threshold
        return (high & self.above) | (~high & self.below), high == self.member_above


def promise_p_value(n_rounds: int, n_guesses: int, n_right: int, *, epsilon: float, delta: float) -> float:
    """Bound the probability of this many right guesses, in rounds that the attacker may choose.

    A release that keeps (epsilon, delta) shows the bit with probability delta, and otherwise allows a guess
    that is right with probability e^epsilon / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015). At most k
    rounds show their bit, except with a probability that is added.

    >>> round(promise_p_value(10, 3, 3, epsilon=0.0, delta=0.0), 6)
    0.125
    """
    shown, unlikely = 0, 0.0
    if delta > 0:
        numbers = np.arange(n_rounds + 1)
        chances = bdtrc(numbers, n_rounds, delta)
        shown = int(np.argmax(chances <= _UNLIKELY))
        unlikely = float(chances[shown])
    if n_right <= shown:
        return 1.0
    return min(1.0, unlikely + float(betainc(n_right - shown, n_guesses - n_right + 1, expit(epsilon))))


def _counted(
    columns: Reals,
    members: Bits,
    epsilon: float,
    delta: float,
    name: str,
    finding: str,
) -> NoiseTest:
    choose = np.arange(members.size) % 2 == 0
    count = ~choose
    rule = _best_rule(columns[choose], members[choose], epsilon)
    made, guess = rule.guesses(columns[count])
    right = made & (guess == members[count])
    n = int(count.sum())
    return NoiseTest(
        name=name,
        p_value=promise_p_value(n, int(made.sum()), int(right.sum()), epsilon=epsilon, delta=delta),
        finding=finding,
        violates=True,
        n=n,
        reveals=True,
    )


def _best_rule(columns: Reals, members: Bits, epsilon: float) -> _Rule:
    """The rule with the smallest p-value, on rounds that are not counted, against epsilon without delta."""
    best, least = _Rule(0, np.inf, True, True, False), 2.0
    n, n_members = members.size, int(members.sum())
    for number, column in enumerate(columns.T):
        thresholds = np.unique(column)
        if thresholds.size > _MOST_THRESHOLDS:
            thresholds = np.quantile(thresholds, np.linspace(0, 1, _MOST_THRESHOLDS + 1), method="lower")
        thresholds = thresholds[:-1]
        above = n - np.searchsorted(np.sort(column), thresholds, side="right")
        inside = n_members - np.searchsorted(np.sort(column[members]), thresholds, side="right")
        for member_above in (True, False):
            right_above = inside if member_above else above - inside
            right_below = (n - n_members) - (above - inside) if member_above else n_members - inside
            for guess_above, guess_below in ((True, False), (False, True), (True, True)):
                guesses = guess_above * above + guess_below * (n - above)
                right = guess_above * right_above + guess_below * right_below
                p = np.where(
                    right > 0, betainc(np.maximum(right, 1), guesses - right + 1, expit(epsilon)), 1.0
                )
                if p.size and p.min() < least:
                    least = float(p.min())
                    threshold = float(thresholds[p.argmin()])
                    best = _Rule(number, threshold, member_above, guess_above, guess_below)
    return best


def _checked(signal: npt.ArrayLike, members: npt.ArrayLike) -> tuple[Reals, Bits]:
    """One column for each thing seen; where a column has missing values, another column says so."""
    bits = np.asarray(members, dtype=bool)
    columns = np.asarray(signal, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or bits.shape != columns.shape[:1]:
        raise BadInput(f"a signal needs one row for each round, got {columns.shape} for {bits.size} rounds")
    missing = ~np.isfinite(columns)
    lowest = np.where(missing, np.inf, columns).min(axis=0, initial=0.0)
    filled = np.where(missing, lowest - 1, columns)
    return np.column_stack([filled, missing[:, missing.any(axis=0)]]), bits


def _log_ratios(kinds: Ints, members: Bits) -> Reals:
    """The sum over questions of log ratios, learned from the frequencies of kinds in every second round.

    Rounds 0, 4, 8, ... are scored by tables of rounds 2, 6, 10, ..., and the other way round.
    """
    rounds = np.arange(members.size)
    scores = np.zeros(members.size)
    for learn, score in (
        (rounds % 4 == 0, rounds % 4 == 2),
        (rounds % 4 == 2, rounds % 4 == 0),
        (rounds % 2 == 0, rounds % 2 == 1),
    ):
        for column in kinds.T:
            inside, outside = (
                np.bincount(column[learn & (members == world)], minlength=int(kinds.max()) + 1) + _PRIOR
                for world in (True, False)
            )
            scores[score] += np.log(inside / outside)[column[score]]
    return scores


def _zero_bits(answers: Reals) -> Ints:
    """The number of zero bits at the end of each number; zero itself counts as all of them."""
    whole = (np.abs(np.frexp(answers)[0]) * 2.0**53).astype(np.int64)
    zeros = np.where(whole == 0, _LOW_BITS, np.log2(np.maximum(whole & -whole, 1)))
    return np.asarray(np.minimum(zeros, _LOW_BITS), dtype=np.int64)


def _signs_and_sizes(answers: Reals) -> Ints:
    """Number the sign and the power of two of each number."""
    sizes = np.clip(np.frexp(answers)[1], -8, 23) + 8
    return np.asarray(32 * (answers > 0) + sizes, dtype=np.int64)
