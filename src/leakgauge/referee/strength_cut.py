"""The bound on epsilon from guesses on all trials whose evidence is strong enough.

Here the number of guesses depends on the scores; ``one_run`` has the bound for a fixed share of the trials.
"""

import numpy as np
from scipy.special import bdtrc

from leakgauge.referee.one_run import one_run_lower_bound

_ERROR_OF_REVEALED = 0.1  # part of alpha for more revealed rounds than are taken off


def strength_cut_lower_bound(
    n_rounds: int, n_guesses: int, n_right: int, *, delta: float, alpha: float
) -> float:
    """Return the largest epsilon refuted by right guesses on one target per round, independent rounds.

    Under (epsilon, delta)-DP every round reveals its bit with probability delta and is a randomized response
    at epsilon otherwise. Except with probability alpha / 10 at most k rounds are revealed. An attacker may
    see which ones and guess on them, so k right guesses are taken off; the others are dominated by a
    binomial, whichever rounds they are made on.

    >>> round(strength_cut_lower_bound(20_000, 40, 40, delta=0.0, alpha=0.05), 3)
    2.552
    """
    if delta == 0:
        return one_run_lower_bound(n_rounds, n_guesses, n_right, delta=0.0, alpha=alpha)
    revealed = most_revealed(n_rounds, delta, alpha * _ERROR_OF_REVEALED)
    return one_run_lower_bound(
        n_rounds,
        max(0, n_guesses - revealed),
        max(0, n_right - revealed),
        delta=0.0,
        alpha=alpha * (1 - _ERROR_OF_REVEALED),
    )


def most_revealed(n_rounds: int, delta: float, error: float) -> int:
    """Return the smallest k with P[Bin(n_rounds, delta) > k] <= error."""
    mean = n_rounds * delta
    counts = np.arange(min(n_rounds, int(mean + 12 * np.sqrt(mean) + 60)) + 1)
    return int(np.argmax(bdtrc(counts, n_rounds, delta) <= error))
