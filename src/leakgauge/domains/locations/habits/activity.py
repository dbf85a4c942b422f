"""How many visits people make: laws with a given mean."""

from enum import StrEnum

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.traces import Ints


class Activity(StrEnum):
    """The law of the number of visits (Guan et al. 2024, section 4.3.2)."""

    EXPONENTIAL = "exponential"
    CONSTANT = "constant"
    LOGNORMAL = "lognormal"


class Rounding(StrEnum):
    """How a number of visits becomes whole."""

    FAIR = "fair"  # up or down at random, so that the mean stays
    DOWN = "down"  # as published: an exponential of mean m then has the mean 1 / (e^(1/m) - 1), about m - 1/2


def draw_visits(mean: float, n: int, law: Activity, skew: float, rounding: Rounding, rng: Generator) -> Ints:
    """How many visits each of ``n`` people makes; ``skew`` is the skewness of a log-normal law."""
    luck = rng.random(n)
    match law:
        case Activity.EXPONENTIAL:
            exact = mean * rng.standard_exponential(n)
        case Activity.CONSTANT:
            exact = np.full(n, mean)
        case Activity.LOGNORMAL:
            exact = mean * _log_normal(skew, n, rng)
        case _:
            raise BadInput(f"activity must be one of {', '.join(Activity)}, got {law!r}")
    return np.floor(exact + luck if rounding is Rounding.FAIR else exact).astype(np.int64)


def log_variance(skew: float) -> float:
    """The variance of the log of a log-normal variable of given skewness.

    With w = e^variance the skewness is (w + 2) sqrt(w - 1), so that w^3 + 3 w^2 - 4 is its square: one real
    root, by Cardano's formula.

    >>> round(log_variance(6.184877), 5)
    1.0
    """
    if not 0 < skew < 1e6:
        raise BadInput(f"skew must be above 0 and below a million, got {skew}")
    half = 1 + skew**2 / 2
    root = np.cbrt(half + np.sqrt(half**2 - 1))
    return float(np.log(root + 1 / root - 1))


def _log_normal(skew: float, n: int, rng: Generator) -> Reals:
    variance = log_variance(skew)
    return np.exp(np.sqrt(variance) * rng.standard_normal(n) - variance / 2)
