"""The habits of a crowd from the totals of a release, as Guan et al. (2024) estimate them, misprints mended.

Totals of places and of epochs are the marginals. Suppression makes them too uneven, and log compression evens
them out; noise makes them too even (theorem A.2), and a power makes them uneven again. ``deconvolution`` was
closer to the truth in most settings that were tried, not in all: on crowds that were not used to choose its
prior it lost by .003 to .005 in total variation with few visits per epoch (suppression of 1; epsilon 1 on
very sparse counts), and on dense counts at epsilon 1.
"""

from enum import StrEnum

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.habits.mean_visits import matching_mean, published_mean
from leakgauge.domains.locations.habits.rates import Estimate
from leakgauge.domains.locations.traces import Map

_LARGEST_POWER = 2.0**20
_PRECISION = 1e-9  # of the power


class Method(StrEnum):
    """How the marginals are made from totals."""

    RAW = "raw"  # as they are; the mean too
    LOG = "log"  # log compression
    POWER = "power"  # power transform
    GUAN24 = "guan24"  # what algorithm 2 would do: power under noise, log under suppression alone, else raw
    PUBLISHED = "published"  # what the authors' code does: log compression always, and under noise all alike


def estimate(
    release: Reals,
    chain: Chain,
    group_size: int,
    cells: Map,
    method: Method | str = Method.GUAN24,
    seed: int = 0,
) -> Estimate:
    """The habits behind one release over all cells, flat or as a table of places x epochs.

    ``seed`` is for the synthetic groups to which the mean is matched: the same for every release.
    """
    table = release.reshape(cells.n_places, cells.n_epochs)
    chosen = _chosen(method, chain)
    published = chosen is Method.PUBLISHED
    space, time = (_transform(totals(table, axis), chosen, chain) for axis in (1, 0))
    start = max(float(np.maximum(table, 0).sum()), 0.5) / group_size
    if chosen is Method.RAW or (published and _untouched(chain)):
        return Estimate(start, space, time)
    match_mean = published_mean if published else matching_mean
    mean = match_mean(table, chain, group_size, Estimate(start, space, time), cells, seed)
    return Estimate(mean, space, time)


def totals(table: Reals, axis: int) -> Reals:
    """Shares of places (axis 1 is summed) or of epochs (axis 0), equations 5 and 6.

    Counts below zero, which unclamped noise leaves, count as zero; of an empty release all shares are equal.
    """
    sums = np.maximum(table, 0).sum(axis=axis)
    return np.asarray(sums / sums.sum() if sums.sum() > 0 else np.full(sums.size, 1 / sums.size))


def compress(shares: Reals) -> Reals:
    """Log compression log(1 + x / least positive share), equations 7 and 8, normalised.

    >>> compress(np.array([0.25, 0.75, 0.0])).round(3).tolist()
    [0.333, 0.667, 0.0]
    """
    compressed = np.log1p(shares / shares[shares > 0].min())
    return np.asarray(compressed / compressed.sum())


def spread_out(shares: Reals) -> Reals:
    """The power transform x^p, normalised, with the power of ``power_for``."""
    return _powered(shares, power_for(shares))


def power_for(shares: Reals) -> float:
    """The power, at least one, with which shares vary as much as normalised uniform numbers.

    Those have the variance 1 / (3 n^2) to first order. The variance of x^p never falls with p, so the power
    is bracketed and bisected; algorithm 4 as printed returns the variance, and does not end where shares
    vary more from the start.
    """
    goal = 1 / (3 * shares.size**2)
    low, high = 1.0, 1.0
    while _powered(shares, high).var() < goal and high < _LARGEST_POWER:
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _powered(shares, middle).var() < goal:
            low = middle
        else:
            high = middle
    return high


def _powered(shares: Reals, power: float) -> Reals:
    powers = (shares / shares.max()) ** power
    return np.asarray(powers / powers.sum())


def _chosen(method: Method | str, chain: Chain) -> Method:
    try:
        chosen = Method(method)
    except ValueError:
        raise BadInput(f"marginals must be one of {', '.join(Method)}, got {method!r}") from None
    if chosen is not Method.GUAN24:
        return chosen
    if chain.noise is not None:
        return Method.POWER
    return Method.LOG if chain.suppress else Method.RAW


def _untouched(chain: Chain) -> bool:
    return chain.noise is None and not chain.suppress


def _transform(shares: Reals, method: Method, chain: Chain) -> Reals:
    match method:
        case Method.RAW:
            return shares
        case Method.POWER:
            return spread_out(shares)
        case Method.PUBLISHED if chain.noise is not None:
            return np.full(shares.size, 1 / shares.size)  # the search for the power stops at p = 0
        case _:
            return compress(shares)
