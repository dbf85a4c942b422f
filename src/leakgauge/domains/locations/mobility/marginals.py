"""The mobility profile behind published counts, from totals by place and by epoch (Guan et al. 2024).

The marginals are the totals of places and of epochs; misprints of the paper are corrected. Suppression makes
them too uneven, which log compression reduces. Noise makes them too even (theorem A.2), which a power
transform reverses. ``deconvolution`` was closer to the truth in most of the settings tried, but not in all:
on crowds that were not used to choose its prior it lost by .003 to .005 in total variation with few visits
per epoch (suppression of 1; epsilon 1 on very sparse counts), and on dense counts at epsilon 1.
"""

from enum import StrEnum

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile
from leakgauge.domains.locations.mobility.synthetic_traces import TraceSampler, VisitRounding
from leakgauge.domains.locations.release_chain import ReleaseChain

_MAX_ITERATIONS = 20
_TOLERANCE = 1e-3  # of visits per person, absolute or relative
_MIN_MEAN_CHANGE = 0.05  # relative change of the mean that is needed to estimate the slope
_PUBLISHED_ITERATIONS = 5
_PUBLISHED_WEIGHT = 2.0
_LARGEST_POWER = 2.0**20
_PRECISION = 1e-9  # of the power


def matching_mean(
    table: Reals, chain: ReleaseChain, group_size: int, start: MobilityProfile, cells: CellMap, seed: int
) -> float:
    """Return the mean with which releases of synthetic groups have the same sum as the release.

    Each step continues from the current mean; algorithm 3 as printed restarts from the first one. The sum
    rises with the mean by about one per person if little is suppressed, and by less otherwise; the slope is
    estimated from the last two means. The first mean is the sum minus that of noise on empty cells. All steps
    use the same random numbers.
    """
    sampler = TraceSampler(cells)
    target_sum = float(table.sum())
    empty_sum = float(_publish(np.zeros(cells.n_cells, dtype=np.int64), chain, seed).sum())
    mean, slope = float(np.clip((target_sum - empty_sum) / group_size, 0.5 / group_size, cells.n_cells)), 1.0
    earlier, earlier_deficit = 0.0, (target_sum - empty_sum) / group_size
    for _ in range(_MAX_ITERATIONS):
        synthetic = _release(sampler, MobilityProfile(mean, start.space, start.time), chain, group_size, seed)
        deficit = (target_sum - float(synthetic.sum())) / group_size
        if abs(mean - earlier) > _MIN_MEAN_CHANGE * mean:
            slope = float(np.clip((earlier_deficit - deficit) / (mean - earlier), 0.05, 2.0))
            earlier, earlier_deficit = mean, deficit
        step = deficit / slope
        if abs(step) < _TOLERANCE * max(mean, 1.0):
            break
        mean = float(np.clip(mean + step, mean / 4, cells.n_cells))
    return mean


def published_mean(
    table: Reals, chain: ReleaseChain, group_size: int, start: MobilityProfile, cells: CellMap, seed: int
) -> float:
    """Return the mean as the authors' code computes it: five steps of twice the length, visits rounded down.

    With suppression alone it matches the number of cells above zero, multiplied by k. A step to zero or below
    ends the search and is not taken.
    """
    sampler = TraceSampler(cells)
    mean = start.mean
    for _ in range(_PUBLISHED_ITERATIONS):
        profile = MobilityProfile(mean, start.space, start.time)
        synthetic = _release(sampler, profile, chain, group_size, seed, VisitRounding.DOWN).reshape(
            table.shape
        )
        if chain.noise is None:
            deficit = float(chain.suppress * (np.count_nonzero(table) - np.count_nonzero(synthetic)))
        else:
            deficit = max(chain.suppress, 1) * float(table.sum() - synthetic.sum())
        step = _PUBLISHED_WEIGHT * deficit / group_size
        if not mean + step > 0:
            break
        mean += step
        if abs(step) < _TOLERANCE:
            break
    return mean


def _release(
    sampler: TraceSampler,
    profile: MobilityProfile,
    chain: ReleaseChain,
    group_size: int,
    seed: int,
    rounding: VisitRounding = VisitRounding.FAIR,
) -> Reals:
    people = sampler.draw(profile, group_size, stream(seed, Role.STUDY, 0), rounding=rounding)
    return _publish(people.visitors(), chain, seed)


def _publish(counts: Ints, chain: ReleaseChain, seed: int) -> Reals:
    return chain.sample(counts, stream(seed, Role.STUDY, 1))


class MarginalsMethod(StrEnum):
    """How the marginals are computed from totals."""

    RAW = "raw"  # totals and mean are used unchanged
    LOG = "log"  # log compression
    POWER = "power"  # power transform
    GUAN24 = "guan24"  # algorithm 2: power with noise, log with suppression alone, else raw
    PUBLISHED = "published"  # the authors' code: log compression, or equal shares with noise


def estimate_from_marginals(
    release: Reals,
    chain: ReleaseChain,
    group_size: int,
    cells: CellMap,
    method: MarginalsMethod | str = MarginalsMethod.GUAN24,
    seed: int = 0,
) -> MobilityProfile:
    """Estimate the profile from one release over all cells, flat or as a table of places x epochs.

    ``seed`` is for the synthetic groups used to match the mean; it is the same for every release.
    """
    table = release.reshape(cells.n_places, cells.n_epochs)
    chosen = _resolve_method(method, chain)
    published = chosen is MarginalsMethod.PUBLISHED
    space, time = (_transform(marginal_shares(table, axis), chosen, chain) for axis in (1, 0))
    start = max(float(np.maximum(table, 0).sum()), 0.5) / group_size
    if chosen is MarginalsMethod.RAW or (published and _is_raw(chain)):
        return MobilityProfile(start, space, time)
    match_mean = published_mean if published else matching_mean
    mean = match_mean(table, chain, group_size, MobilityProfile(start, space, time), cells, seed)
    return MobilityProfile(mean, space, time)


def marginal_shares(table: Reals, axis: int) -> Reals:
    """Return shares of places (axis 1 is summed) or of epochs (axis 0), equations 5 and 6.

    Negative counts, from unclamped noise, count as zero; an empty release has equal shares.
    """
    sums = np.maximum(table, 0).sum(axis=axis)
    return np.asarray(sums / sums.sum() if sums.sum() > 0 else np.full(sums.size, 1 / sums.size))


def log_compress(shares: Reals) -> Reals:
    """Log compression log(1 + x / least positive share), equations 7 and 8, normalised.

    >>> log_compress(np.array([0.25, 0.75, 0.0])).round(3).tolist()
    [0.333, 0.667, 0.0]
    """
    compressed = np.log1p(shares / shares[shares > 0].min())
    return np.asarray(compressed / compressed.sum())


def power_transform(shares: Reals) -> Reals:
    """Apply the power transform x^p, normalised, with the power of ``matching_power``."""
    return _powered(shares, matching_power(shares))


def matching_power(shares: Reals) -> float:
    """Return the power (at least 1) with which shares have the variance of normalised uniform numbers.

    That variance is 1 / (3 n^2) to first order. The variance of x^p never falls with p, so the power is found
    by bisection. Algorithm 4 as printed returns the variance, and does not end if the variance is larger from
    the start.
    """
    target_variance = 1 / (3 * shares.size**2)
    low, high = 1.0, 1.0
    while _powered(shares, high).var() < target_variance and high < _LARGEST_POWER:
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _powered(shares, middle).var() < target_variance:
            low = middle
        else:
            high = middle
    return high


def _powered(shares: Reals, power: float) -> Reals:
    powers = (shares / shares.max()) ** power
    return np.asarray(powers / powers.sum())


def _resolve_method(method: MarginalsMethod | str, chain: ReleaseChain) -> MarginalsMethod:
    try:
        chosen = MarginalsMethod(method)
    except ValueError:
        raise BadInput(f"marginals must be one of {', '.join(MarginalsMethod)}, got {method!r}") from None
    if chosen is not MarginalsMethod.GUAN24:
        return chosen
    if chain.noise is not None:
        return MarginalsMethod.POWER
    return MarginalsMethod.LOG if chain.suppress else MarginalsMethod.RAW


def _is_raw(chain: ReleaseChain) -> bool:
    return chain.noise is None and not chain.suppress


def _transform(shares: Reals, method: MarginalsMethod, chain: ReleaseChain) -> Reals:
    match method:
        case MarginalsMethod.RAW:
            return shares
        case MarginalsMethod.POWER:
            return power_transform(shares)
        case MarginalsMethod.PUBLISHED if chain.noise is not None:
            return np.full(shares.size, 1 / shares.size)  # the authors' search for the power stops at p = 0
        case _:
            return log_compress(shares)
