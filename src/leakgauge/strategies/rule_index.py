"""Which simple rule a network has learned: to add its inputs up, or to let each of them vote."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals


@dataclass(frozen=True, kw_only=True)
class RuleIndex:
    """What is seen of a rule in a network's weights and scores.

    ``diagonal``: the share of the inner weights, by size, on their permuted diagonal: 1 where each unit reads
    an input of its own, as a vote does; about 1 / n where every unit reads all n inputs alike, as a sum
    does. ``one_threshold`` and ``two_threshold``: the correlation of the network's score with the sum of its
    inputs, and with the number of inputs above their thresholds.
    """

    diagonal: float
    one_threshold: float
    two_threshold: float


def rule_index(inner: Reals, scores: Reals, sums: Reals, votes: Reals) -> RuleIndex:
    """Compare a network's inner weights, and its scores of some rows, with both rules."""
    return RuleIndex(
        diagonal=diagonal_share(inner),
        one_threshold=_correlation(scores, sums),
        two_threshold=_correlation(scores, votes),
    )


def diagonal_share(weights: Reals) -> float:
    """The largest share of the absolute weights that a matching of inputs with units can hold (Kuhn 1955).

    >>> diagonal_share(np.array([[0.0, -3.0], [3.0, 0.0]])), diagonal_share(np.ones((4, 4)))
    (1.0, 0.25)
    """
    from scipy.optimize import linear_sum_assignment

    sizes = np.abs(weights)
    if not sizes.any():
        return 0.0
    matched = linear_sum_assignment(sizes, maximize=True)
    return float(sizes[matched].sum() / sizes.sum())


def _correlation(first: Reals, second: Reals) -> float:
    a, b = first - first.mean(), second - second.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0
