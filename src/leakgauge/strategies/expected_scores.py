"""The law of a sum, and of a number of votes, of cells of which an adversary knows what to expect."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.cell_outlooks import Moments, Worlds
from leakgauge.strategies.normal_scores import NormalScore
from leakgauge.theory.votes import least_votes

_UNTIED = 0.01  # cells with less than this part of their variance in common count as independent


def sum_of(cells: Moments, weights: Reals, shared: Reals | float = 0.0) -> NormalScore:
    """The law of a weighted sum of cells, along the last axis (Liu et al. 2024, theorem 2, corrected).

    Variances add up, not deviations; ``shared`` is what cells have in common beyond their own. The weights
    are also the chances that the target, a member, is in each cell.
    """
    mean, variance = cells
    unsure = weights * (1 - weights) * mean.steps**2
    own = (variance.out + variance.member(weights) + unsure) / 2
    return _weighed(mean.out, mean.member(weights), own, weights, shared)


def votes_of(chances: Worlds, weights: Reals, shared: Reals | float = 0.0) -> NormalScore:
    """The law of a weighted number of votes, along the last axis: mean and variance of a Poisson-binomial."""
    hits = chances.member(weights)
    own = (chances.out * (1 - chances.out) + hits * (1 - hits)) / 2
    return _weighed(chances.out, hits, own, weights, shared)


def votes_needed(
    law: NormalScore, weights: Reals, fpr: float | None, alarms: Reals | None = None, shared: float = 0.0
) -> Reals:
    """How many votes make a member: the midpoint, or what at most a share ``fpr`` of non-members reaches.

    ``alarms`` are the chances of the cells to vote by accident. With them, if every vote counts one and cells
    share next to no variance, the number is exact. Else it is that of a normal law, half a vote higher where
    votes are whole.
    """
    if fpr is None:
        return law.midpoint
    whole = bool((weights == 1).all())
    if whole and alarms is not None and abs(shared) <= _UNTIED * np.min(law.variance):
        return least_votes(alarms, fpr).astype(np.float64)
    return law.threshold(fpr) + whole / 2


def _weighed(out: Reals, inside: Reals, own: Reals, weights: Reals, shared: Reals | float) -> NormalScore:
    return NormalScore(
        without=(out * weights).sum(axis=-1),
        with_target=(inside * weights).sum(axis=-1),
        variance=np.maximum((own * weights**2).sum(axis=-1) + shared, 0.0),
    )
