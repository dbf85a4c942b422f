"""Scores of published counts: how strongly each speaks for a higher rate of its cell, tabulated.

The score of an output is the derivative of its log-likelihood with respect to the log of the rate. The count
behind it is Poisson with this rate, so that the score is E[count | output] - rate.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np
from scipy.special import gammaln

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.mobility.rate_likelihood import (
    noise_variance,
    output_range,
    round_away,
    table_size,
    tabled_outputs,
)

_STEP = 0.125  # between neighbouring rates, in logs
_LEAST = 1e-5  # expected visits to a cell; lower rates are treated like this one
_DEVIATIONS = 10  # the table reaches this far beyond the largest rate, so that it holds all likely outputs
_WIDEST = 2048  # but at most so many outputs
_RARE = 1e-250  # outputs less likely than this get the score of their likeliest counts
_EQUAL = 1e-9  # expected counts this close to an output are the output
_EXPONENTS = (0.25, 8.0)  # least and largest exponent


@dataclass(frozen=True, eq=False)
class CountScores:
    """Scores of outputs for many rates, and how their mean changes with the true rate.

    If the log of the true rate is d above that of the table, the mean of the score is about
    ``information`` (e^(exponent d) - 1) / exponent. This is exact, with exponent 1, for counts without noise,
    and wherever the expected count is linear in the output's score; ``exponents`` are fitted to the first two
    derivatives at 0. ``information`` is Fisher's. Both are those of all outputs, whether they occur or not.

    Rates above the table (its last row stands for them) and outputs above it are treated as normal: the score
    is ``gain`` (output - rate), the information ``gain`` rate, and the exponent 1.
    """

    outputs: Reals  # rising
    whole: bool  # whether outputs are all whole numbers from the first to the last
    scores: Reals  # rates x outputs
    information: Reals  # by rate
    exponents: Reals  # by rate
    cut: bool  # whether outputs or rates above the table occur
    noise_variance: float
    exact: float | None = None  # counts of at least so many are published as they are, smaller ones as 0

    def gain(self, rates: Reals) -> Reals:
        """Return by how much the expected count rises with the output, for normal counts and noise."""
        return np.asarray(rates / (rates + self.noise_variance))

    def nearest(self, log_rates: Reals) -> Ints:
        """Return the row of each rate, the logs being those of expected counts."""
        return _rows(log_rates).clip(0, len(self.scores) - 1)

    def log_rates(self, rows: Ints) -> Reals:
        """Return the logs of the expected counts of rows."""
        return np.asarray(log(_LEAST) + _STEP * rows)

    def columns(self, outputs: Reals) -> Ints:
        """Return the column of the nearest tabulated output, for the outputs that the table was made for."""
        if self.whole:
            numbers = (np.minimum(outputs, self.outputs[-1]) if self.cut else outputs).astype(np.intp)
            numbers -= int(self.outputs[0])
            return numbers
        return np.searchsorted((self.outputs[1:] + self.outputs[:-1]) / 2, outputs)


def _rows(log_rates: Reals) -> Ints:
    return np.round((log_rates - log(_LEAST)) / _STEP).astype(np.intp)


def count_scores(
    outputs: Reals | None, law: ReleaseDistribution, group_size: int, most: float
) -> CountScores:
    """Return the scores of these outputs, for expected counts up to ``most``; tables are cached.

    Whole outputs that are not extreme have the table of ``None``: it does not depend on them.
    """
    low, high, lumps = (0, 0, ()) if outputs is None else output_range(outputs, law)
    key: Any = law
    variance, limit = noise_variance(law, group_size), table_size(law, group_size)
    n_rates = int(_rows(np.array(log(min(round_away(most), limit))))) + 2
    top = exp(log(_LEAST) + _STEP * n_rates)
    reach = max(min(high, limit), round_away(top + min(_DEVIATIONS * sqrt(top + variance), _WIDEST)))
    negative = bool(np.isfinite(law.log_law(np.array([-1.0]), np.array([0.0])))[0])
    low = min(low, round_away(-min(_DEVIATIONS * sqrt(variance), _WIDEST)) if negative else 0)
    cut = high > reach or most > limit
    return _tabulate(key, low, reach, lumps, n_rates, cut, variance)


@lru_cache(maxsize=16)  # a distribution is a value
def _tabulate(
    law: Any,
    low: int,
    reach: int,
    lumps: tuple[float, ...],
    n_rates: int,
    cut: bool,
    variance: float,
) -> CountScores:
    outputs, width = tabled_outputs(law, low, reach, lumps)
    weights = np.where(np.isin(outputs, lumps), 1.0, width)
    rates = np.exp(log(_LEAST) + _STEP * np.arange(n_rates))
    top = float(rates[-1])
    counts = np.arange(ceil(max(top + _DEVIATIONS * sqrt(top), reach)) + 21, dtype=np.float64)
    log_law = law.log_law(outputs[None, :], counts[:, None])
    peaks = log_law.max(axis=0)
    peaks = np.where(np.isfinite(peaks), peaks, 0.0)
    chances = np.exp(log_law - peaks)
    masses = np.exp(np.outer(np.log(rates), counts) - rates[:, None] - gammaln(counts + 1))
    likely = masses @ chances
    flat = counts @ chances / np.maximum(chances.sum(axis=0), 1e-300)
    means = np.where(likely > _RARE, (masses * counts) @ chances / np.maximum(likely, _RARE), flat)
    scores = np.where(chances.any(axis=0), means - rates[:, None], 0.0)
    shares = likely * np.exp(peaks) * weights
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    whole = bool(law.whole)
    exact = _first_exact(outputs, means, chances) if whole else None
    return CountScores(outputs, whole, scores, *_mean_scores(scores, shares), cut, variance, exact)


def _first_exact(outputs: Reals, means: Reals, chances: Reals) -> float | None:
    """Return the least output from which all are the count itself; None if others than 0 are below it."""
    possible = chances.any(axis=0)
    inexact = np.flatnonzero(possible & (np.abs(means - outputs) > _EQUAL).any(axis=0))
    if inexact.size and (inexact[-1] > 0 or outputs[0] != 0):
        return None
    return float(outputs[possible & (outputs > 0)].min(initial=np.inf))


def _mean_scores(scores: Reals, shares: Reals) -> tuple[Reals, Reals]:
    """Return information and exponents, by the mean scores at the two neighbouring rates."""
    here = (shares * scores).sum(axis=1)
    above = (shares[2:] * scores[1:-1]).sum(axis=1) - here[1:-1]
    below = (shares[:-2] * scores[1:-1]).sum(axis=1) - here[1:-1]
    rise, bend = above - below, above + below
    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = np.where(rise > 0, 2 / _STEP * np.arctanh(np.clip(bend / rise, -0.999, 0.999)), 1.0)
    exponents = np.clip(exponents, *_EXPONENTS)
    information = np.maximum(rise, 0.0) * exponents / (2 * np.sinh(exponents * _STEP))
    return np.pad(information, 1, mode="edge"), np.pad(exponents, 1, mode="edge")
