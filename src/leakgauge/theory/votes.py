"""How many of several cells vote "member": the exact law of the number, and what it is worth.

Cell i votes with a chance of its own, independently of the others: ``alarms[i]`` where the target is out,
``hits[i]`` where it is in. A release is attributed to the target if at least ``least`` cells vote; a number
of exactly ``least`` is enough (Liu et al. 2024, equation 10; their algorithm 1 gives it to the other side,
which matters, for votes are whole).
"""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals


def number_of_votes(chances: npt.ArrayLike) -> Reals:
    """Probabilities of 0, 1, ..., n votes along the last axis: the Poisson-binomial law, exact.

    Cells are added one by one; nothing is ever subtracted, so every probability keeps its digits.

    >>> number_of_votes([0.5, 0.25]).tolist()
    [0.375, 0.5, 0.125]
    """
    each = _chances(chances)
    law = np.zeros((*each.shape[:-1], each.shape[-1] + 1))
    law[..., 0] = 1.0
    for n in range(1, law.shape[-1]):
        chance = each[..., n - 1, None]
        law[..., 1 : n + 1] = law[..., 1 : n + 1] * (1 - chance) + law[..., :n] * chance
        law[..., :1] *= 1 - chance
    return law


def at_least(chances: npt.ArrayLike, least: npt.ArrayLike) -> Reals:
    """Chance of at least so many votes; between whole numbers, of the next whole number.

    >>> at_least([0.5, 0.25], [0, 1, 1.5, 3]).tolist()
    [1.0, 0.625, 0.125, 0.0]
    """
    tails = _tails(_one_row(chances))
    needed = np.ceil(np.asarray(least, dtype=float))
    return tails[np.clip(needed, 0, tails.size - 1).astype(np.intp)]


def midpoint(alarms: npt.ArrayLike, hits: npt.ArrayLike) -> Reals:
    """Halfway between the usual numbers of votes without and with the target (Liu et al. 2024, equation 6).

    Rounding errors are taken off, so that a tie that is one stays one.
    """
    return np.asarray(np.round((_chances(alarms).sum(axis=-1) + _chances(hits).sum(axis=-1)) / 2, 9))


def least_votes(alarms: npt.ArrayLike, fpr: float) -> npt.NDArray[np.int64]:
    """The smallest number of votes that comes up by accident with a chance of at most ``fpr``; exact.

    >>> least_votes([0.5] * 4, fpr=0.1).tolist()
    4
    """
    if not 0 <= fpr <= 1:
        raise BadInput(f"fpr must be in [0, 1], got {fpr}")
    return np.argmax(_tails(_chances(alarms)) <= fpr, axis=-1)


def accuracy(alarms: npt.ArrayLike, hits: npt.ArrayLike, least: npt.ArrayLike | None = None) -> Reals:
    """Balanced accuracy of asking for ``least`` votes (by default the midpoint), exact.

    >>> round(float(accuracy([0.3894] * 60, [0.6106] * 60)), 4)
    0.958
    """
    needed = midpoint(alarms, hits) if least is None else least
    return (1 + at_least(hits, needed) - at_least(alarms, needed)) / 2


def accuracy_clt(alarms: npt.ArrayLike, hits: npt.ArrayLike, least: npt.ArrayLike | None = None) -> Reals:
    """The same with normal numbers of votes.

    Their means are sums of chances and their variances sums of p (1 - p), whatever the cells; what Liu et al.
    (2024) print for auxiliary adversaries in section 3.3 is the law of the one-threshold score instead.

    >>> round(float(accuracy_clt([0.3894] * 60, [0.6106] * 60)), 4)
    0.9605
    """
    needed = np.asarray(midpoint(alarms, hits) if least is None else least, dtype=float)
    tpr, fpr = (_normal_at_least(_one_row(chances), needed) for chances in (hits, alarms))
    return (1 + tpr - fpr) / 2


def _normal_at_least(chances: Reals, needed: Reals) -> Reals:
    spread = np.sqrt(chances @ (1 - chances))
    if spread == 0:
        return np.where(chances.sum() >= needed, 1.0, 0.0)
    return np.asarray(ndtr((chances.sum() - needed) / spread))


def _tails(chances: Reals) -> Reals:
    """Chances of at least 0, 1, ..., n, n + 1 votes."""
    law = number_of_votes(chances)
    tails = np.zeros((*law.shape[:-1], law.shape[-1] + 1))
    tails[..., :-1] = np.cumsum(law[..., ::-1], axis=-1)[..., ::-1]
    tails[..., 0] = 1.0
    return tails


def _one_row(chances: npt.ArrayLike) -> Reals:
    each = _chances(chances)
    if each.ndim != 1:
        raise BadInput(f"votes of one release are needed here, got chances of {each.ndim} dimensions")
    return each


def _chances(chances: npt.ArrayLike) -> Reals:
    each = np.atleast_1d(np.asarray(chances, dtype=float))
    if not each.shape[-1] or not ((each >= 0) & (each <= 1)).all():
        raise BadInput("votes need a chance in [0, 1] for each of one cell or more")
    return each
