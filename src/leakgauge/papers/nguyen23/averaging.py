"""How often averaged noisy gradients tell whether a target is there, exactly, and how many it takes."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals

WANTED = 0.99
MOST = 10**9


def success(apart: npt.ArrayLike, iterations: int, present: float = 1.0) -> Reals:
    """Games won by the matched filter; ``apart`` is a target's gradient in units of one iteration's noise.

    The sum over T iterations is normal with a variance of T, and a mean of m ``apart`` where the target was
    in m batches; a member is in each with probability ``present``. The threshold is half of what is due, T
    ``present`` ``apart`` / 2. With present = 1 this is Phi(apart sqrt(T) / 2).

    >>> round(float(success(2.0, 4)), 4)
    0.9772
    """
    from scipy.special import ndtr

    apart = np.asarray(apart, dtype=np.float64)
    half = present * iterations / 2
    silent = ndtr(half * apart / math.sqrt(iterations))
    if present >= 1:
        return np.asarray(silent)
    times, chances = _times(iterations, present)
    told = ndtr((times - half) * apart[..., None] / math.sqrt(iterations)) @ chances
    return np.asarray((told + silent) / 2)


def iterations_for(share: Callable[[int], float], wanted: float = WANTED) -> int | None:
    """The first number of iterations at which a share of games is won; none if it takes a billion."""
    high = 1
    while share(high) < wanted:
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= wanted else (middle, high)
    return high


def _times(iterations: int, present: float) -> tuple[Reals, Reals]:
    """How often a member is there, and how likely that is; what is beyond twelve deviations is left out."""
    from scipy.stats import binom

    middle, reach = iterations * present, 12 * math.sqrt(iterations * present * (1 - present)) + 2
    times = np.arange(max(0, int(middle - reach)), min(iterations, int(middle + reach)) + 1, dtype=np.float64)
    return times, binom.pmf(times, iterations, present)
