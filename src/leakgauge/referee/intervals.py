"""Intervals for rates: exact where trials are independent, by Student's t for a few whole experiments."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

Numbers: TypeAlias = npt.ArrayLike

FEWEST_ROUNDS = 30  # with fewer, the variance estimate of a jackknife is too uncertain
FEWEST_COUNTED = 20  # of an accuracy whose threshold other rounds chose; covers at that number, see its test
FEWEST_OF_A_WORLD = 10  # rounds with a member, and rounds with a non-member
FEWEST_REPEATS = 3  # of a whole experiment, each with many trials of both worlds
FEWEST_SPLITS = 10  # of the people; with fewer, an interval is over rounds, for these splits only
FEWEST_IN_A_REPEAT = 40  # trials of each world in each of them


def rate_low(hits: Numbers, n: Numbers, error: float) -> npt.NDArray[np.float64]:
    """Lower confidence bound of a rate (Clopper and Pearson 1934); counts may be effective, not whole.

    >>> float(rate_low(10, 10, 0.05).round(4))
    0.7411
    """
    hits, n = np.broadcast_arrays(np.asarray(hits, float), np.asarray(n, float))
    return np.where(hits > 0, scipy.special.betaincinv(np.maximum(hits, 1e-300), n - hits + 1, error), 0.0)


def rate_high(hits: Numbers, n: Numbers, error: float) -> npt.NDArray[np.float64]:
    """Upper confidence bound of a rate (Clopper and Pearson 1934)."""
    hits, n = np.broadcast_arrays(np.asarray(hits, float), np.asarray(n, float))
    return 1 - rate_low(n - hits, n, error)


def jackknife_variance(left_out: npt.NDArray[np.float64]) -> float:
    """Variance of a statistic from its values with one round (or group of rounds) left out (Tukey 1958)."""
    n = left_out.size
    return float((n - 1) / n * np.square(left_out - left_out.mean()).sum())


def student_margin(left_out: npt.NDArray[np.float64], error: float) -> float:
    """Half the width of an interval from a statistic with each unit left out (Gosset 1908; Tukey 1958)."""
    return -float(scipy.special.stdtrit(left_out.size - 1, error / 2)) * float(
        np.sqrt(jackknife_variance(left_out))
    )


def log_odds_interval(value: float, margin: float) -> tuple[float, float]:
    """The interval of a rate with the same margin on the scale of log-odds, where rates are less skewed.

    >>> [round(end, 3) for end in log_odds_interval(0.9, 0.1)]
    [0.748, 0.965]
    """
    if not 0 < value < 1:
        return max(value - margin, 0.0), min(value + margin, 1.0)
    scaled = margin / (value * (1 - value))
    return float(scipy.special.expit(scipy.special.logit(value) - scaled)), float(
        scipy.special.expit(scipy.special.logit(value) + scaled)
    )


def repeat_interval(
    value: float, variance: float, n_repeats: int, n_most: float, error: float
) -> tuple[float, float]:
    """Two-sided interval of a rate from a few repeats of a whole experiment, ``error`` in all.

    Student's t with one degree of freedom less than repeats (Gosset 1908): each repeat is itself a mean over
    many trials. Where nothing varies, Clopper-Pearson at all trials.
    """
    if not variance > 1e-15:  # less is rounding
        hits = value * n_most
        return float(rate_low(hits, n_most, error / 2)), float(rate_high(hits, n_most, error / 2))
    margin = -float(scipy.special.stdtrit(n_repeats - 1, error / 2)) * float(np.sqrt(variance))
    return max(value - margin, 0.0), min(value + margin, 1.0)
