"""Bounds on epsilon from both error rates, and confidence bands of the rates at all thresholds."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals


def epsilon_from_rates(fpr_high: npt.ArrayLike, fnr_high: npt.ArrayLike, delta: float) -> Reals:
    """Smallest epsilon that allows both error rates at once, given upper bounds of them.

    The two lines of (epsilon, delta)-DP (Kairouz, Oh and Viswanath 2015) as used for audits by Jagielski,
    Ullman and Oprea (2020). No evidence gives 0.

    >>> float(epsilon_from_rates(0.25, 0.25, 0.0).round(4))
    1.0986
    """
    fpr, fnr = np.asarray(fpr_high, float), np.asarray(fnr_high, float)
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1 - fnr - delta, 0)) - np.log(fpr)
        backward = np.log(np.maximum(1 - fpr - delta, 0)) - np.log(fnr)
    return np.maximum(np.maximum(forward, backward), 0.0)


def dkw_margin(n: int, error: float) -> float:
    """Distance of an empirical distribution function from the true one, to one side.

    (Dvoretzky, Kiefer and Wolfowitz 1956; Massart 1990.)

    >>> dkw_margin(200, 0.01) > dkw_margin(200, 0.05)
    True
    """
    return float(np.sqrt(np.log(1 / error) / (2 * n)))


@lru_cache(maxsize=8)
def local_levels_band(n: int, error: float) -> Reals:
    """Upper bound of the rate below each order statistic; all n hold together with chance 1 - error.

    Entry k bounds P[X < t] where k of n scores lie below t (Clopper-Pearson at one common local level;
    Aldor-Noiman et al. 2013). The level comes from the exact chance that all hold.
    """
    level = local_level(n, error)
    below = np.arange(n)
    return np.append(scipy.special.betaincinv(below + 1.0, n - below, 1 - level), 1.0)


def local_level(n: int, error: float) -> float:
    """Local level at which n one-sided Clopper-Pearson bounds hold together with chance 1 - error.

    Between ``error / n`` and ``error``, and falling with n: it is found for the next n of six binary
    digits, which is on the safe side.
    """
    coarse = 1 << max(0, n.bit_length() - 6)
    return _level(-(-n // coarse) * coarse, error)


@lru_cache(maxsize=256)
def _level(n: int, error: float) -> float:
    """Find the level by bisection on the exact chance, ending on the safe side."""
    low, high = np.log(error / n), np.log(error)
    guess, step = np.log(approximate_level(n, error)) if n > 2048 else (low + high) / 2, 0.05
    while high - low > 1e-3:
        if _chance_all_hold(n, float(np.exp(guess))) >= 1 - error:
            low, guess = guess, min(guess + step, (guess + high) / 2)
        else:
            high, guess = guess, max(guess - step, (low + guess) / 2)
    return float(np.exp(low))


def approximate_level(n: int, error: float) -> float:
    """Return a local level good enough for planning: exact up to 1,000 scores, then extended by its trend."""
    few = min(n, 1000)
    return local_level(few, error) * float(np.log(few + 1) / np.log(n + 1)) ** 1.65


def _chance_all_hold(n: int, level: float) -> float:
    """Chance that U_(k) <= b_k for all k, where b_k is the (1 - level) quantile of the k-th of n uniforms.

    By symmetry 1 - U: the number of points below a_k = 1 - b_(n+1-k) must stay below k. The points are a
    Poisson process of rate n given that it has n points (Khmaladze and Shinjikashvili 2001): one step per
    boundary, each a convolution with a narrow Poisson law.
    """
    k = np.arange(1, n + 1)
    edges = scipy.special.betaincinv(k, n + 1 - k, level)
    steps = n * np.diff(edges, prepend=0.0)
    reach = max(30, int(steps.max() + 12 * np.sqrt(steps.max()) + 20))
    jumps = np.arange(reach)
    log_factorials = scipy.special.gammaln(jumps + 1)
    first, law = 0, np.ones(1)  # chances of first, first + 1, ... points so far
    for count, step in zip(k, steps):
        law = np.convolve(law, np.exp(jumps * np.log(step) - step - log_factorials))[: count - first]
        kept = np.flatnonzero(law > 1e-18)
        law, first = law[kept[0] : kept[-1] + 1], first + int(kept[0])
    rest = n * (1 - edges[-1])
    missing = n - first - np.arange(law.size)
    log_rest = missing * np.log(rest) - rest - scipy.special.gammaln(missing + 1)
    log_total = n * np.log(n) - n - scipy.special.gammaln(n + 1)
    return float((law * np.exp(log_rest - log_total)).sum())
