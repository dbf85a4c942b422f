"""The one-run bound: how many right guesses a guarantee allows (Steinke, Nasr and Jagielski 2023)."""

import numpy as np
from scipy.special import betainc, betaincinv, gammaln

# Shares of the trials on which to guess, fixed before any trial is seen.
FRACTIONS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def p_value(n_coins: int, n_guesses: int, n_right: int, *, epsilon: float, delta: float = 0.0) -> float:
    """Bound the chance of so many right guesses under (epsilon, delta)-DP, over fair, independent coins.

    For delta = 0 right guesses are dominated by a binomial with rate e^eps / (1 + e^eps); delta adds
    2 m delta max_i P[v > Bin >= v - i] / i (theorem 5.2 of Steinke et al.).

    >>> round(p_value(1000, 1000, 600, epsilon=0.2, delta=1e-5), 8)
    0.00102324
    """
    if n_right == 0:
        return 1.0
    rate = 1 / (1 + np.exp(-epsilon))
    exceeds = float(betainc(n_right, n_guesses - n_right + 1, rate))
    if delta == 0:
        return exceeds
    return min(1.0, exceeds + 2 * n_coins * delta * _steepest_mean(n_guesses, n_right, rate))


def lower_bound(n_coins: int, n_guesses: int, n_right: int, *, delta: float, alpha: float) -> float:
    """Return the largest epsilon that so many right guesses refute at level alpha; 0 if none.

    >>> round(lower_bound(1000, 600, 600, delta=1e-5, alpha=0.05), 4)
    5.2704
    """
    if n_guesses == 0 or n_right == 0:
        return 0.0
    rate = float(betaincinv(n_right, n_guesses - n_right + 1, alpha))
    if not rate > 0.5:
        return 0.0
    high = float(np.log(rate) - np.log1p(-rate))
    if delta == 0:
        return high
    if p_value(n_coins, n_guesses, n_right, epsilon=0.0, delta=delta) >= alpha:
        return 0.0
    low = 0.0
    while high - low > 1e-9 * (1 + high):
        middle = (low + high) / 2
        if p_value(n_coins, n_guesses, n_right, epsilon=middle, delta=delta) < alpha:
            low = middle
        else:
            high = middle
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
        gammaln(n_guesses + 1)
        - gammaln(counts + 1)
        - gammaln(n_guesses - counts + 1)
        + counts * np.log(rate)
        + (n_guesses - counts) * np.log1p(-rate)
    )
    return float((np.cumsum(np.exp(log_chance)) / (n_right - counts)).max(initial=0.0))
