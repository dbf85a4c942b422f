"""The mobility profile behind published counts, from totals by place and by epoch (Guan et al. 2024)."""

from enum import StrEnum

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.data.traces import CellMap, Ints
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile
from leakgauge.domains.locations.mobility.synthetic_traces import TraceSampler, VisitRounding
from leakgauge.domains.locations.release_chain.chain import ReleaseChain

_ROUNDS = 20
_TOLERANCE = 1e-3  # visits per person; or this share of them
_APART = 0.05  # means must differ by this share to tell the slope
_PUBLISHED_ROUNDS = 5
_PUBLISHED_WEIGHT = 2.0


def matching_mean(
    table: Reals, chain: ReleaseChain, group_size: int, start: MobilityProfile, cells: CellMap, seed: int
) -> float:
    """The mean with which synthetic groups, released through the chain, have the sum of the release.

    Each step goes on from the current mean; algorithm 3 as printed restarts from the first one. The sum rises
    with the mean by about one per person where little is suppressed, and by less where more is: the slope is
    that between the last two means. The first is what noise on empty cells does not explain. All steps use
    the same random numbers.
    """
    roaming = TraceSampler(cells)
    goal = float(table.sum())
    nobody = float(_publish(np.zeros(cells.n_cells, dtype=np.int64), chain, seed).sum())
    mean, slope = float(np.clip((goal - nobody) / group_size, 0.5 / group_size, cells.n_cells)), 1.0
    earlier, earlier_lack = 0.0, (goal - nobody) / group_size
    for _ in range(_ROUNDS):
        made_up = _release(roaming, MobilityProfile(mean, start.space, start.time), chain, group_size, seed)
        lack = (goal - float(made_up.sum())) / group_size
        if abs(mean - earlier) > _APART * mean:
            slope = float(np.clip((earlier_lack - lack) / (mean - earlier), 0.05, 2.0))
            earlier, earlier_lack = mean, lack
        step = lack / slope
        if abs(step) < _TOLERANCE * max(mean, 1.0):
            break
        mean = float(np.clip(mean + step, mean / 4, cells.n_cells))
    return mean


def published_mean(
    table: Reals, chain: ReleaseChain, group_size: int, start: MobilityProfile, cells: CellMap, seed: int
) -> float:
    """The same as the authors' code does it: five steps of twice the length, visits rounded down.

    Under suppression alone it matches the number of cells above zero, k for each. A step to zero or below is
    not taken, and ends the search.
    """
    roaming = TraceSampler(cells)
    mean = start.mean
    for _ in range(_PUBLISHED_ROUNDS):
        habits = MobilityProfile(mean, start.space, start.time)
        made_up = _release(roaming, habits, chain, group_size, seed, VisitRounding.DOWN).reshape(table.shape)
        if chain.noise is None:
            lack = float(chain.suppress * (np.count_nonzero(table) - np.count_nonzero(made_up)))
        else:
            lack = max(chain.suppress, 1) * float(table.sum() - made_up.sum())
        step = _PUBLISHED_WEIGHT * lack / group_size
        if not mean + step > 0:
            break
        mean += step
        if abs(step) < _TOLERANCE:
            break
    return mean


def _release(
    roaming: TraceSampler,
    habits: MobilityProfile,
    chain: ReleaseChain,
    group_size: int,
    seed: int,
    rounding: VisitRounding = VisitRounding.FAIR,
) -> Reals:
    people = roaming.draw(habits, group_size, stream(seed, Role.STUDY, 0), rounding=rounding)
    return _publish(people.visitors(), chain, seed)


def _publish(counts: Ints, chain: ReleaseChain, seed: int) -> Reals:
    return chain.sample(counts, stream(seed, Role.STUDY, 1))


# The mobility of a crowd from the totals of a release, by Guan et al. (2024), misprints corrected.
#
# Totals of places and of epochs are the marginals. Suppression makes them too uneven, and log compression
# evens them out; noise makes them too even (theorem A.2), and a power makes them uneven again.
# ``deconvolution`` was closer to the truth in most settings that were tried, not in all: on crowds that
# were not used to choose its prior it lost by .003 to .005 in total variation with few visits per epoch
# (suppression of 1; epsilon 1 on very sparse counts), and on dense counts at epsilon 1.


_LARGEST_POWER = 2.0**20
_PRECISION = 1e-9  # of the power


class MarginalsMethod(StrEnum):
    """How the marginals are made from totals."""

    RAW = "raw"  # as they are; the mean too
    LOG = "log"  # log compression
    POWER = "power"  # power transform
    GUAN24 = "guan24"  # what algorithm 2 would do: power under noise, log under suppression alone, else raw
    PUBLISHED = "published"  # what the authors' code does: log compression always, and under noise all alike


def estimate_from_marginals(
    release: Reals,
    chain: ReleaseChain,
    group_size: int,
    cells: CellMap,
    method: MarginalsMethod | str = MarginalsMethod.GUAN24,
    seed: int = 0,
) -> MobilityProfile:
    """The habits behind one release over all cells, flat or as a table of places x epochs.

    ``seed`` is for the synthetic groups to which the mean is matched: the same for every release.
    """
    table = release.reshape(cells.n_places, cells.n_epochs)
    chosen = _resolve_method(method, chain)
    published = chosen is MarginalsMethod.PUBLISHED
    space, time = (_transform(marginal_shares(table, axis), chosen, chain) for axis in (1, 0))
    start = max(float(np.maximum(table, 0).sum()), 0.5) / group_size
    if chosen is MarginalsMethod.RAW or (published and _untouched(chain)):
        return MobilityProfile(start, space, time)
    match_mean = published_mean if published else matching_mean
    mean = match_mean(table, chain, group_size, MobilityProfile(start, space, time), cells, seed)
    return MobilityProfile(mean, space, time)


def marginal_shares(table: Reals, axis: int) -> Reals:
    """Shares of places (axis 1 is summed) or of epochs (axis 0), equations 5 and 6.

    Counts below zero, which unclamped noise leaves, count as zero; of an empty release all shares are equal.
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
    """The power transform x^p, normalised, with the power of ``matching_power``."""
    return _powered(shares, matching_power(shares))


def matching_power(shares: Reals) -> float:
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


def _untouched(chain: ReleaseChain) -> bool:
    return chain.noise is None and not chain.suppress


def _transform(shares: Reals, method: MarginalsMethod, chain: ReleaseChain) -> Reals:
    match method:
        case MarginalsMethod.RAW:
            return shares
        case MarginalsMethod.POWER:
            return power_transform(shares)
        case MarginalsMethod.PUBLISHED if chain.noise is not None:
            return np.full(shares.size, 1 / shares.size)  # the search for the power stops at p = 0
        case _:
            return log_compress(shares)
