"""The likelihood of a cell's rate given its published count, as a low-rank table."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, log, sqrt
from typing import Any

import numpy as np
from scipy.special import gammaln

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.counts.count_priors import log_mix
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution

_STEP = 0.125  # between neighbouring rates, in logs
_LEAST = 1e-5  # expected visits to a cell
_MOST = 0.98  # of the group, expected in a cell
_TABLE = 2048  # outputs in a table
_NEAR = 10.0  # rates that are less likely than the likeliest by more than this, in logs, do not matter
_ERROR = 0.02  # allowed in a log-likelihood that matters
_RANK = 10


@dataclass(frozen=True, eq=False)
class RateLikelihood:
    """The log-likelihood of a cell's rate given its output: numbers of the output times curves of the rate.

    The count behind an output is Poisson(rate); with K[c, o] the noise distribution, log sum_c P(c | rate)
    K[c, o] is a smooth table, and a few singular vectors carry it (three where counts are only suppressed).
    What is the same for all rates is left out. Logs add, and so do the numbers: those of several releases, of
    the cells of a place, of the cells of an epoch. A binomial count would fit crowded cells better, but with
    Poisson counts the totals of places and epochs are matched whatever the cells do.
    """

    outputs: Reals  # rising
    numbers: Reals  # outputs x kept
    log_rates: Reals  # logs of expected visits to a cell; rising
    curves: Reals  # rates x kept
    cut: bool = False  # whether outputs above the table occur

    def of(self, outputs: Reals) -> Reals:
        """The numbers of outputs, along a new last axis.

        Each is replaced by the nearest output in the table. One above the table is used as the count itself:
        its noise is small compared with its random variation.
        """
        numbers = self.numbers.take(nearest_outputs(self.outputs, outputs), axis=0)
        if self.cut and (large := outputs > self.outputs[-1]).any():
            numbers[large] = 0.0
            numbers[large, -2], numbers[large, -1] = outputs[large], 1.0
        return np.asarray(numbers)

    def at(self, log_rates: Reals) -> Reals:
        """The curves at some rates, along a new last axis; beyond the table they stay level."""
        return np.asarray(self._spline(log_rates.clip(self.log_rates[0], self.log_rates[-1])))

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.log_rates, self.curves)


def nearest_outputs(listed: Reals, outputs: Reals) -> Ints:
    """Return the number of the nearest listed output; they rise, and are often all whole numbers of a range.

    >>> nearest_outputs(np.array([2.0, 3.0, 4.0]), np.array([0.0, 3.4, 3.6, 9.0])).tolist()
    [0, 1, 2, 2]
    """
    if listed[-1] - listed[0] == listed.size - 1 and (np.diff(listed) == 1).all():
        return (np.clip(outputs, listed[0], listed[-1]) - (listed[0] - 0.5)).astype(np.intp)
    above = np.searchsorted(listed, outputs).clip(1, listed.size - 1)
    nearer_below = outputs - listed[above - 1] < listed[above] - outputs
    return above - nearer_below


def rate_likelihood(outputs: Reals, law: ReleaseDistribution, group_size: int) -> RateLikelihood:
    """Return the likelihood for these outputs; tables are cached by noise distribution and range."""
    key: Any = law
    return _tabulate_likelihood(key, group_size, *output_range(outputs, law))


def output_range(outputs: Reals, law: ReleaseDistribution) -> tuple[int, int, tuple[float, ...]]:
    """Return whole numbers around all outputs, and the whole numbers at which others were lumped."""
    low, high = _at_most(float(outputs.min())), round_away(float(outputs.max()))
    lumps = () if law.whole else tuple(np.unique(outputs[outputs == np.floor(outputs)]).tolist()[:_TABLE])
    return low, max(high, low + 1), lumps


@lru_cache(maxsize=16)  # a distribution is a value
def _tabulate_likelihood(
    law: Any, group_size: int, low: int, high: int, lumps: tuple[float, ...]
) -> RateLikelihood:
    reach = min(high, max(low, 0) + table_size(law, group_size))
    outputs, width = tabled_outputs(law, low, reach, lumps)
    log_rates = np.arange(log(_top_rate(high, group_size)), log(_LEAST), -_STEP)[::-1]
    tabled = np.exp(log_rates) <= 1.001 * _top_rate(reach, group_size)
    top = float(np.exp(log_rates[tabled][-1]))
    counts = np.arange(ceil(top + 8 * sqrt(top)) + 21, dtype=np.float64)
    table = log_mix(
        _log_poisson(np.exp(log_rates[tabled]), counts), law.log_law(outputs[None, :], counts[:, None])
    ).T
    possible = np.isfinite(table).all(axis=1)
    numbers, curves = _low_rank(table[possible], width)
    if high > reach:  # larger outputs count as they are: their numbers are the output and one
        known = np.stack([log_rates, -np.exp(log_rates)], axis=1)
        level = np.pad(curves, ((0, np.sum(~tabled)), (0, 0)), mode="edge")
        numbers, curves = np.pad(numbers, ((0, 0), (0, 2))), np.hstack([level, known])
    return RateLikelihood(outputs[possible], numbers, log_rates, curves, cut=high > reach)


def tabled_outputs(
    law: ReleaseDistribution, low: int, reach: int, lumps: tuple[float, ...], n_bins: int = _TABLE
) -> tuple[Reals, float]:
    """All outputs; or the middles of bins, and whole numbers at which others were lumped. And the width."""
    if law.whole:
        return np.arange(low, reach + 1, dtype=np.float64), 1.0
    width = (reach - low) / n_bins
    return np.union1d(low + width * (np.arange(n_bins) + 0.5), lumps), width


def _top_rate(output: float, group_size: int) -> float:
    """Return an upper limit of the expected visits to a cell with this output."""
    return min(_MOST * group_size, 1.5 * max(output, 0) + 30)


def table_size(law: ReleaseDistribution, group_size: int) -> int:
    """Up to which output noise matters: beyond, its variance is below 1/64 of the count's own."""
    return int(np.clip(64 * noise_variance(law, group_size), 256, _TABLE))


def noise_variance(law: ReleaseDistribution, group_size: int) -> float:
    """Return the variance of the outputs of a medium count; it is cached."""
    key: Any = law
    return _noise_variance(key, group_size)


@lru_cache(maxsize=64)  # a distribution is a value
def _noise_variance(law: Any, group_size: int) -> float:
    middle, step, variance = group_size // 2, 1.0 if law.whole else 0.125, 0.0
    for _ in range(5):
        distances = step * np.arange(-_TABLE, _TABLE + 1, dtype=np.float64)
        density = np.exp(law.log_law(middle + distances, np.full(distances.size, float(middle))))
        variance = float((density * distances**2).sum() / max(density.sum(), 1e-300))
        if 100 * variance < distances[-1] ** 2:
            break
        step *= 8  # the noise is wider than these distances
    return variance


def _low_rank(table: Reals, width: float) -> tuple[Reals, Reals]:
    """As few numbers and curves as keep every log-likelihood that matters; frequent outputs weigh most."""
    centred = table - table.mean(axis=1, keepdims=True)
    near = table > table.max(axis=1, keepdims=True) - _NEAR
    weights = np.sqrt(np.exp(table).mean(axis=1, keepdims=True) * width + 1e-8)
    left, sizes, right = np.linalg.svd(weights * centred, full_matrices=False)
    kept = 0
    error = np.inf
    while error > _ERROR and kept < min(_RANK, sizes.size):
        kept += 1
        error = np.abs(left[:, :kept] * sizes[:kept] @ right[:kept] / weights - centred)[near].max()
    return left[:, :kept] * sizes[:kept] / weights, right[:kept].T


def _log_poisson(rates: Reals, counts: Reals) -> Reals:
    return np.asarray(np.outer(np.log(rates), counts) - rates[:, None] - gammaln(counts + 1))


def round_away(extreme: float) -> int:
    """A whole number at least as far from zero, of three leading binary digits: few tables serve all."""
    whole = ceil(abs(extreme))
    unit = 2 ** max(whole.bit_length() - 3, 0)
    return int(np.copysign(ceil(whole / unit) * unit, extreme))


def _at_most(least: float) -> int:
    """A whole number that is not larger, of three leading binary digits."""
    if least < 0:
        return round_away(least)
    unit = 2 ** max(int(least).bit_length() - 3, 0)
    return int(least) // unit * unit
