"""The interval in which a sum of independent privacy losses lies, but for a negligible probability."""

from collections.abc import Sequence
from math import sqrt

TAIL_EXPONENT = 38.0  # a probability of e^-38 = 3e-17 may lie outside the window of a sum
NORMAL_TAIL = 9.0  # standard deviations: 1e-19


def bernstein_window(moments: Sequence[tuple[float, float, float, int]], mu: float) -> tuple[float, float]:
    """The interval in which a sum of losses lies, except with probability e^-38 on either side.

    ``moments`` are (mean, variance, largest, number) of each kind of bounded loss, at most twice the largest
    away from their mean (Bernstein's inequality, 1927); ``mu`` adds a Gaussian loss.
    """
    mean = sum(n * mean for mean, _, _, n in moments)
    variance = sum(n * variance for _, variance, _, n in moments)
    most = sum(n * largest for _, _, largest, n in moments)
    linear = max((2 * largest for _, _, largest, _ in moments), default=0.0) * TAIL_EXPONENT / 3
    reach = linear + sqrt(linear**2 + 2 * variance * TAIL_EXPONENT)
    low, high = max(-most, mean - reach), min(most, mean + reach)
    return low + mu * (mu / 2 - NORMAL_TAIL), high + mu * (mu / 2 + NORMAL_TAIL)
