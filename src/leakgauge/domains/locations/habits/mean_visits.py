"""Visits per person, by making up groups until their release is as large as the one at hand.

ESTIMATEMEAN of Guan et al. (2024), algorithm 3.
"""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.habits.activity import Rounding
from leakgauge.domains.locations.habits.rates import Estimate
from leakgauge.domains.locations.habits.synthetic_traces import Roaming
from leakgauge.domains.locations.traces import Ints, Map

_ROUNDS = 20
_TOLERANCE = 1e-3  # visits per person; or this share of them
_APART = 0.05  # means must differ by this share to tell the slope
_PUBLISHED_ROUNDS = 5
_PUBLISHED_WEIGHT = 2.0


def matching_mean(
    table: Reals, chain: Chain, group_size: int, start: Estimate, cells: Map, seed: int
) -> float:
    """The mean with which synthetic groups, released through the chain, have the sum of the release.

    Each step goes on from the current mean; algorithm 3 as printed restarts from the first one. The sum rises
    with the mean by about one per person where little is suppressed, and by less where more is: the slope is
    that between the last two means. The first is what noise on empty cells does not explain. All steps use
    the same random numbers.
    """
    roaming = Roaming(cells)
    goal = float(table.sum())
    nobody = float(_publish(np.zeros(cells.n_cells, dtype=np.int64), chain, seed).sum())
    mean, slope = float(np.clip((goal - nobody) / group_size, 0.5 / group_size, cells.n_cells)), 1.0
    earlier, earlier_lack = 0.0, (goal - nobody) / group_size
    for _ in range(_ROUNDS):
        made_up = _release(roaming, Estimate(mean, start.space, start.time), chain, group_size, seed)
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
    table: Reals, chain: Chain, group_size: int, start: Estimate, cells: Map, seed: int
) -> float:
    """The same as the authors' code does it: five steps of twice the length, visits rounded down.

    Under suppression alone it matches the number of cells above zero, k for each. A step to zero or below is
    not taken, and ends the search.
    """
    roaming = Roaming(cells)
    mean = start.mean
    for _ in range(_PUBLISHED_ROUNDS):
        habits = Estimate(mean, start.space, start.time)
        made_up = _release(roaming, habits, chain, group_size, seed, Rounding.DOWN).reshape(table.shape)
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
    roaming: Roaming,
    habits: Estimate,
    chain: Chain,
    group_size: int,
    seed: int,
    rounding: Rounding = Rounding.FAIR,
) -> Reals:
    people = roaming.draw(habits, group_size, stream(seed, Role.STUDY, 0), rounding=rounding)
    return _publish(people.visitors(), chain, seed)


def _publish(counts: Ints, chain: Chain, seed: int) -> Reals:
    return chain.sample(counts, stream(seed, Role.STUDY, 1))
