"""The one-run bound: guesses, and how many right ones a guarantee allows (Steinke et al. 2023)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Reading, Trials
from leakgauge.core.randomness import Role, stream

# Shares of the trials on which to guess, fixed before any trial is seen.
FRACTIONS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_TIES = 4  # block of the stream of ties: which of the trials of equal strength come first


def one_run_p_value(
    n_coins: int, n_guesses: int, n_right: int, *, epsilon: float, delta: float = 0.0
) -> float:
    """Bound the probability of this many right guesses under (epsilon, delta)-DP, over independent fair bits.

    For delta = 0 right guesses are dominated by a binomial with rate e^eps / (1 + e^eps); delta adds
    2 m delta max_i P[v > Bin >= v - i] / i (theorem 5.2 of Steinke et al.).

    >>> round(one_run_p_value(1000, 1000, 600, epsilon=0.2, delta=1e-5), 8)
    0.00102324
    """
    if n_right == 0:
        return 1.0
    rate = 1 / (1 + np.exp(-epsilon))
    exceeds = float(scipy.special.betainc(n_right, n_guesses - n_right + 1, rate))
    if delta == 0:
        return exceeds
    return min(1.0, exceeds + 2 * n_coins * delta * _steepest_mean(n_guesses, n_right, rate))


def one_run_lower_bound(n_coins: int, n_guesses: int, n_right: int, *, delta: float, alpha: float) -> float:
    """Return the largest epsilon that this many right guesses refute at level alpha; 0 if none.

    >>> round(one_run_lower_bound(1000, 600, 600, delta=1e-5, alpha=0.05), 4)
    5.2704
    """
    if n_guesses == 0 or n_right == 0:
        return 0.0
    rate = float(scipy.special.betaincinv(n_right, n_guesses - n_right + 1, alpha))
    if not rate > 0.5:
        return 0.0
    high = float(np.log(rate) - np.log1p(-rate))
    if delta == 0:
        return high
    return largest_refuted(
        lambda epsilon: one_run_p_value(n_coins, n_guesses, n_right, epsilon=epsilon, delta=delta),
        high,
        alpha,
    )


def largest_refuted(p_value: Callable[[float], float], high: float, alpha: float) -> float:
    """Return the largest epsilon below ``high`` whose p-value, which rises with it, is below alpha."""
    low = 0.0
    if p_value(low) >= alpha:
        return low
    while high - low > 1e-9 * (1 + high):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) < alpha else (low, middle)
    return low


def _steepest_mean(n_guesses: int, n_right: int, rate: float) -> float:
    """Return max over i of P[v > Bin >= v - i] / i.

    Further than twelve standard deviations from the mean there is no mass: above, i may as well start later;
    below, a larger i only lowers the ratio.
    """
    mean, spread = n_guesses * rate, 12 * np.sqrt(n_guesses * rate * (1 - rate)) + 40
    top = min(n_right - 1, int(mean + spread))
    counts = np.arange(top, max(-1, int(mean - spread) - 1), -1, dtype=np.float64)
    log_chance = (
        scipy.special.gammaln(n_guesses + 1)
        - scipy.special.gammaln(counts + 1)
        - scipy.special.gammaln(n_guesses - counts + 1)
        + counts * np.log(rate)
        + (n_guesses - counts) * np.log1p(-rate)
    )
    return float((np.cumsum(np.exp(log_chance)) / (n_right - counts)).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Guesses:
    """Trials with evidence, the strongest first.

    ``ends`` lists how many guesses there may be: after each group of trials of equal strength, which are
    guessed on together or not at all, or after every trial, where a stream broke the ties.
    """

    order: npt.NDArray[np.intp]
    says_member: Bits  # aligned with order
    ends: npt.NDArray[np.intp]
    strength: Reals  # aligned with order

    def at_least(self, cut: float) -> int:
        """The number of guesses with at least this strength of evidence."""
        return int(np.searchsorted(-self.strength, -cut, side="right"))

    def reaching(self, fractions: tuple[float, ...], n_trials: int) -> npt.NDArray[np.intp]:
        """The numbers of guesses that reach the given shares of all trials, at most all with evidence."""
        if not self.ends.size:
            return np.zeros(len(fractions), np.intp)
        wanted = np.minimum(np.ceil(np.asarray(fractions) * n_trials - 1e-9), self.ends[-1])
        return self.ends[np.searchsorted(self.ends, wanted)]

    def sizes(self, fractions: tuple[float, ...], n_trials: int) -> list[int]:
        """The distinct numbers of guesses among them."""
        return sorted({int(size) for size in self.reaching(fractions, n_trials) if size})


def order_guesses(scores: Reals, reading: Reading) -> Guesses:
    """Order trials by strength of evidence.

    Signed scores are guessed on by their sign and ordered by their size; zero is no evidence. All others are
    guessed on by rank: the upper half "member", the lower half "not", from the ends towards the middle; equal
    scores share their middle rank, so a constant score is no evidence either.

    >>> order_guesses(np.array([0.5, -2.0, 0.0]), Reading(signed=True)).order.tolist()
    [1, 0]
    """
    evidence = _evidence(scores, reading)
    strength = np.abs(evidence)
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > 0]
    ends = np.append(np.flatnonzero(np.diff(strength[order])) + 1, order.size) if order.size else order
    return Guesses(order, evidence[order] > 0, ends, strength[order])


def order_every_trial(trials: Trials) -> Guesses:
    """Order all trials by strength of evidence, so that any number of guesses can be made exactly.

    A number drawn for each round and target breaks ties, whatever the order of rows, and decides on trials
    without evidence like a coin. Where no trial has evidence there are no guesses.
    """
    evidence = _evidence(trials.scores, trials.reading)
    if not evidence.any():
        none = np.zeros(0, np.intp)
        return Guesses(none, none.astype(bool), none, none.astype(np.float64))
    drawn = stream(0, Role.TIES, _TIES).random((2, len(trials)))
    places = np.lexsort((trials.targets, trials.rounds))
    first, coin = np.empty_like(drawn)
    first[places], coin[places] = drawn
    order = np.lexsort((first, -np.abs(evidence)))
    says_member = np.where(evidence == 0, coin < 0.5, evidence > 0)
    return Guesses(order, says_member[order], np.arange(1, len(trials) + 1), np.abs(evidence)[order])


def _evidence(scores: Reals, reading: Reading) -> Reals:
    """How strongly each score speaks for a member; negative if against."""
    return scores if reading.signed else _centred_ranks(scores)


def _centred_ranks(scores: Reals) -> Reals:
    """Twice the distance of each middle rank from the middle of all: whole numbers, hence exact ties."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    twice_middle = 2 * last - counts - 1  # first + last position of the group, from 0
    return (twice_middle - (scores.size - 1)).astype(np.float64)[group]
