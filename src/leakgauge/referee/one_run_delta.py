"""The one-run bound at delta > 0 for independent rounds: one fair coin and one target in each.

An (epsilon, delta)-DP release of one bit is never worse than this one: it shows the bit with probability
delta, and is a randomized response of epsilon otherwise (Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan
2016). So the number of rounds that show their bit is binomial, and all other guesses are right with
probability q = e^epsilon / (1 + e^epsilon). The attacker may know which rounds show their bit, and abstain.
"""

from functools import lru_cache

import numpy as np
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.referee.one_run import largest_refuted, one_run_lower_bound

_TAIL = 0.1  # share of alpha that may be lost to more shown bits than are allowed for


def fixed_count_p_value(
    n_rounds: int, n_guesses: int, n_right: int, *, epsilon: float, delta: float
) -> float:
    """Bound the probability of this many right guesses, where their number was fixed before the rounds.

    The sum over d of P(D = d) P[Bin(r - min(d, r), q) >= v - min(d, r)], with D ~ Bin(n_rounds, delta). It is
    exact for the release that shows its bits. ``n_rounds`` includes the rounds without a guess.

    >>> round(fixed_count_p_value(2, 1, 1, epsilon=0.0, delta=0.5), 6)  # 1 - 1/2 P(D = 0)
    0.875
    """
    shown, chance = _shown_bits(n_rounds, delta)
    rate = 1 / (1 + np.exp(-epsilon))
    enough = shown >= n_right
    reached = scipy.special.betainc(np.where(enough, 1, n_right - shown), n_guesses - n_right + 1, rate)
    return min(1.0, float(chance @ np.where(enough, 1.0, reached)))


def fixed_count_lower_bound(
    n_rounds: int, n_guesses: int, n_right: int, *, delta: float, alpha: float
) -> float:
    """Return the largest epsilon refuted at level alpha by a number of guesses fixed before the rounds."""
    high = one_run_lower_bound(n_rounds, n_guesses, n_right, delta=0.0, alpha=alpha)
    if delta == 0 or high == 0:
        return high
    return largest_refuted(
        lambda epsilon: fixed_count_p_value(n_rounds, n_guesses, n_right, epsilon=epsilon, delta=delta),
        high,
        alpha,
    )


def any_count_lower_bound(
    n_rounds: int, n_guesses: int, n_right: int, *, delta: float, alpha: float
) -> float:
    """Return the largest epsilon refuted at level alpha, where scores decided on how many rounds to guess.

    At most k rounds show their bit, except with a probability of at most alpha / 10, which is taken off
    alpha. Otherwise k guesses may be right for certain, and the others are binomial, whatever the scores.
    """
    shown, chance = _most_shown(n_rounds, delta, _TAIL * alpha)
    if n_right <= shown:
        return 0.0
    rate = float(scipy.special.betaincinv(n_right - shown, n_guesses - n_right + 1, alpha - chance))
    return float(np.log(rate) - np.log1p(-rate)) if rate > 0.5 else 0.0


@lru_cache(maxsize=256)
def _most_shown(n_rounds: int, delta: float, tail: float) -> tuple[int, float]:
    """Return the smallest k that Bin(n_rounds, delta) exceeds with at most this chance, and the chance."""
    if delta == 0:
        return 0, 0.0
    low, high = -1, n_rounds
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if scipy.special.bdtrc(middle, n_rounds, delta) <= tail else (middle, high)
    return high, float(scipy.special.bdtrc(high, n_rounds, delta))


@lru_cache(maxsize=64)
def _shown_bits(n_rounds: int, delta: float) -> tuple[Reals, Reals]:
    """Return how many rounds may show their bit, and the chances; rarer than 1e-15 is left out."""
    mean = n_rounds * delta
    spread = 9 * np.sqrt(mean * (1 - delta)) + 40
    shown = np.arange(max(0, int(mean - spread)), min(n_rounds, int(mean + spread)) + 1, dtype=np.float64)
    hidden = n_rounds - shown
    log_chance = (
        scipy.special.gammaln(n_rounds + 1)
        - scipy.special.gammaln(shown + 1)
        - scipy.special.gammaln(hidden + 1)
    )
    chance = np.exp(log_chance + scipy.special.xlogy(shown, delta) + scipy.special.xlog1py(hidden, -delta))
    chance /= chance.sum()
    for column in (shown, chance):
        column.setflags(write=False)
    return shown, chance
