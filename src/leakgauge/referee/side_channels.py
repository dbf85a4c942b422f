"""Tests whether something beside the answers reveals the target: refusals, errors, latency, low-order bits.

Membership must have been decided by independent fair coins, one for each round. A rule is fixed on every
second round and counted on the others, so any signal may be tried: the p-value is exact or too large for
every release that keeps (epsilon, delta) in each round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, betainc, expit

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.referee.noise_tests import NoiseTest

_MOST_THRESHOLDS = 64  # of one signal and one direction
_UNLIKELY = 1e-6  # chance of more revealed bits than allowed for
_LOW_BITS = 53  # zeros at the end of a number that are told apart: numbers of single precision have 29
_QUANTILES = np.linspace(0, 0.95, 20)  # of the sizes of scores: a guess needs a larger one
_STAKES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)  # of what a round can lose
_PART = 20  # rounds in which as many with the target as without it are counted
_PRIOR = 1.0  # rounds of each world that every table starts with
_NAMED = 0.05  # a p-value from which on down what reveals the target is looked for
LOW_ORDER_BITS, ANSWER_SIZES = "low_order_bits", "answer_sizes"  # what a test that rejects is called
_BITS_REVEAL = "the last bits of the answers reveal whether the target is in the data"
_SIZES_REVEAL = (
    "single answers reveal by their size, not by their last bits, whether the target is in the data, more "
    "than the stated epsilon of one answer allows"
)


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


def guessed_by(
    scores: npt.ArrayLike,
    members: npt.ArrayLike,
    epsilon: float,
    delta: float,
    *,
    name: str = "guessed_by",
    finding: str = "something beside the answers reveals whether the target is in the data",
) -> NoiseTest:
    """Test guesses by a rule that was fixed without these rounds: above 0 the target is in, below it is not.

    >>> members = np.arange(60) % 3 > 0
    >>> guessed_by(members - 0.5, members, epsilon=0.0, delta=0.0).p_value == 2.0**-60
    True
    """
    guesses, bits = np.asarray(scores, dtype=np.float64), np.asarray(members, dtype=bool)
    made = guesses != 0
    n_made, n_right = int(made.sum()), int((made & ((guesses > 0) == bits)).sum())
    p_value = promise_p_value(bits.size, n_made, n_right, epsilon=epsilon, delta=delta)
    right = n_right + (bits.size - n_made) // 2  # a coin decides where there is no guess
    return NoiseTest(
        name=name,
        p_value=p_value,
        finding=finding,
        violates=True,
        n=bits.size,
        reveals=True,
        right=right,
    )


def told_where_seen(
    signal: npt.ArrayLike,
    members: npt.ArrayLike,
    epsilon: float,
    delta: float,
    *,
    name: str = "told_where_seen",
    finding: str = "something beside the answers reveals whether the target is in the data",
) -> NoiseTest:
    """Test the same of one number for each round, where a missing number (NaN) is no signal.

    Which rounds have a number may depend on membership, so that most of them may be of one kind, more so in
    some part of the rounds. Therefore as many rounds of each kind are counted in every part. Right guesses
    then vary as little as those of independent coins, and in parts of 20 rounds at most 3 % more.
    """
    values, bits = np.asarray(signal, dtype=np.float64), np.asarray(members, dtype=bool)
    seen = np.isfinite(values)
    if values.shape != bits.shape or seen.all():
        return told_by(values, bits, epsilon, delta, name=name, finding=finding)
    kept = balanced_rounds(bits, seen)
    found = told_by(values[kept], bits[kept], epsilon, delta, name=name, finding=finding)
    return replace(found, right=None)  # not every round has a number to guess by


def promise_where_seen(
    epsilon: float, delta: float, signal: npt.ArrayLike, members: npt.ArrayLike
) -> tuple[float, float]:
    """What (epsilon, delta) promises about a number where it is seen, if it covers a missing one as well.

    Let a number be seen in a share p of the rounds of a world. The other world sees it at most e^epsilon
    p + delta of the time, so among the numbers that are seen the promise allows 2 epsilon and
    delta (1 + e^epsilon) / p. The share is measured, and half of it is taken. Nothing changes where no
    number is missing.
    """
    seen, bits = np.isfinite(np.asarray(signal, dtype=np.float64)), np.asarray(members, dtype=bool)
    if seen.all():
        return epsilon, delta
    share = min(float(seen[bits == world].mean()) for world in (True, False) if (bits == world).any())
    return 2 * epsilon, min(1.0, delta * (1 + np.exp(epsilon)) / (share / 2)) if share and delta else delta


def balanced_rounds(members: Bits, among: Bits) -> npt.NDArray[np.intp]:
    """As many of these rounds with the target as without it, in every part of the rounds, at random.

    >>> members = np.array([True, True, False, True, False, False, True])
    >>> members[balanced_rounds(members, np.arange(7) != 4)].tolist()
    [True, True, False, False]
    """
    rng, seen = stream(0, Role.TIES), np.flatnonzero(among)
    kept = [np.zeros(0, dtype=np.intp)]
    for part in np.array_split(seen, max(1, round(seen.size / _PART))):
        kinds = part[members[part]], part[~members[part]]
        kept += [rng.permutation(kind)[: min(map(len, kinds))] for kind in kinds]
    return np.sort(np.concatenate(kept))


def low_order_bits(
    answers: npt.ArrayLike,
    members: npt.ArrayLike,
    epsilon: float,
    delta: float,
    *,
    alike: npt.ArrayLike | None = None,
) -> NoiseTest:
    """Test whether the last bits of floating-point answers reveal membership (Mironov 2012).

    Which numbers a sum of true value and floating-point noise can reach depends on the true value. Tables of
    the number of zero bits at the end, alone and together with sign and size, are learned on every second
    round, for all questions that ``alike`` gives the same number; they have the same true values. Answers are
    rounds x questions; each must keep (epsilon, delta) by itself and have its own noise, as
    ``bet_against_promise`` says. Guesses from the first question alone are counted exactly; the smaller
    of the two p-values counts twice. Where answers of a round are equal, which fresh noise makes improbable,
    only the first question is used. Too little noise is found by the sizes of answers too: name and finding
    are about them where they alone say more than the last bits alone.
    """
    table, bits = _checked(answers, members)
    if (np.diff(np.sort(table, axis=1), axis=1) == 0).any():
        table = table[:, :1]
    kinds = np.arange(table.shape[1]) if alike is None else np.asarray(alike)[: table.shape[1]]
    zeros, sizes = _zero_bits(table), _signs_and_sizes(table)
    scores = [_log_ratios(one, bits, kinds) for one in (zeros, sizes, sizes * (_LOW_BITS + 1) + zeros)]
    scores.append(scores[0] + scores[1])
    p_value, n = _p_value_of_scores(scores, bits, epsilon, delta)
    by_bits, by_size = (
        _p_value_of_scores([one], bits, epsilon, delta)[0] if p_value <= _NAMED else 1.0 for one in scores[:2]
    )
    sizes_reveal = by_size < min(by_bits, _NAMED)
    return NoiseTest(
        name=ANSWER_SIZES if sizes_reveal else LOW_ORDER_BITS,
        p_value=p_value,
        finding=_SIZES_REVEAL if sizes_reveal else _BITS_REVEAL,
        violates=True,
        n=n,
        reveals=True,
    )


def _p_value_of_scores(scores: list[Reals], bits: Bits, epsilon: float, delta: float) -> tuple[float, int]:
    """The p-value of guesses by scores, from the first question and from all, and how many answers count."""
    first = _counted(np.column_stack([one[:, 0] for one in scores]), bits, epsilon, delta, "", "")
    n_questions = scores[0].shape[1]
    if n_questions == 1:
        return first.p_value, first.n
    p_values = first.p_value, bet_against_promise(scores, bits, epsilon, delta)
    return min(1.0, 2 * min(p_values)), first.n * n_questions


def bet_against_promise(scores: Sequence[Reals], members: Bits, epsilon: float, delta: float) -> float:
    """Return a p-value of guesses by scores of single answers (each rounds x questions) with fresh noise.

    Let X be 1 - q for a right guess about the bit, -q for a wrong one and 0 for none, where q = e^epsilon /
    (1 + e^epsilon). If an answer keeps (epsilon, delta), its means of X with and without the target add up to
    at most 2 (1 - q) delta, so that, by the inequality of means, (1 + c X) (1 + c X') has a mean of at most
    (1 + c (1 - q) delta)^2 for independent answers X with and X' without the target. Given who is in which
    round, answers are independent, so the product over as many rounds of each kind exceeds 1 / p with
    probability at most p (Markov). Rule and stake c are fixed on every second round, and counted on others.

    >>> members = np.arange(400) % 8 < 4
    >>> bet_against_promise([np.where(members, 1.0, -1.0)[:, None]], members, 0.5, 0.0) < 1e-12
    True
    """
    right_at_most = float(expit(epsilon))
    choose = np.arange(members.size) % 2 == 0
    best, column, threshold, stake = 0.0, 0, 0.0, 0.0
    for number, one in enumerate(scores):
        for least in np.unique(np.quantile(np.abs(one[choose]), _QUANTILES)):
            gains = _gains(one[choose], members[choose], least, right_at_most)
            growths = [np.log1p(share / right_at_most * gains).mean() for share in _STAKES]
            if max(growths) > best:
                best, column, threshold = max(growths), number, float(least)
                stake = _STAKES[int(np.argmax(growths))] / right_at_most
    count = ~choose & _as_many_of_each(members, ~choose)
    if not stake or not count.any():
        return 1.0
    gains = _gains(scores[column][count], members[count], threshold, right_at_most)
    fair = np.log1p(stake * (1 - right_at_most) * delta)
    return float(min(1.0, np.exp(-(np.log1p(stake * gains) - fair).sum())))


def _gains(scores: Reals, members: Bits, least: float, right_at_most: float) -> Reals:
    """Right minus expected, of guesses by scores of at least this size; 0 where there is no guess."""
    made = (np.abs(scores) >= least) & (scores != 0)
    right = made & ((scores > 0) == members[:, None])
    return np.asarray(right - right_at_most * made)


def _as_many_of_each(members: Bits, among: Bits) -> Bits:
    """As many of these rounds with the target as without it, the first ones."""
    n_each = min(int((members & among).sum()), int((~members & among).sum()))
    kept = np.zeros(members.size, dtype=bool)
    for world in (members & among, ~members & among):
        kept[np.flatnonzero(world)[:n_each]] = True
    return kept


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
        right=int((guess == members[count]).sum()),
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


def _log_ratios(kinds: Ints, members: Bits, alike: Ints) -> Reals:
    """Log ratios of each answer, learned for questions that are alike from every second round.

    Rounds 0, 4, 8, ... are scored by tables of rounds 2, 6, 10, ..., and the other way round.
    """
    rounds, n_kinds = np.arange(members.size), int(kinds.max()) + 1
    scores = np.zeros(kinds.shape)
    for learn, score in (
        (rounds % 4 == 0, rounds % 4 == 2),
        (rounds % 4 == 2, rounds % 4 == 0),
        (rounds % 2 == 0, rounds % 2 == 1),
    ):
        for group in np.unique(alike):
            columns = np.flatnonzero(alike == group)
            inside, outside = (
                np.bincount(kinds[np.ix_(learn & (members == world), columns)].ravel(), minlength=n_kinds)
                + _PRIOR
                for world in (True, False)
            )
            ratios = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
            scores[np.ix_(score, columns)] = ratios[kinds[np.ix_(score, columns)]]
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
