"""What the attacks of Liu et al. (2024) reach where the counts of the others are not known.

A group of n people is drawn from a population; the adversary knows how its members move, not who is in. All
rates are balanced accuracies. Their theorem 2 adds standard deviations where variances must be added, and
takes cells as unrelated; people who visit several of the target's cells make them move together.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr, ndtri, xlog1py, xlogy

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals


def group_variance(n: float, of_one: float, population: float = np.inf) -> float:
    """Variance of a sum over a random group: n V (N - n) / (N - 1).

    ``of_one`` is V, the variance over people of what each adds: for the one-threshold score, of the number
    of the target's cells that a person visits. The group is drawn without replacement from a population of
    N.

    >>> round(group_variance(2_000, 0.01 * 0.99, population=10_000), 2)
    15.84
    """
    if not 0 <= n <= population:
        raise BadInput(f"a group of {n} cannot be drawn from a population of {population}")
    if not of_one >= 0:
        raise BadInput(f"a variance must be >= 0, got {of_one}")
    if population == np.inf:
        return n * of_one
    return n * of_one * (population - n) / max(population - 1, 1)


def predicted_variance(n: float, of_one: float, sample: float) -> float:
    """Variance of a sum over a group, around what a sample of others says: n V (1 + n / sample).

    The group has variance n V among all groups there could be, and the expectation n times the sample's
    mean has n^2 V / sample. It is what an adversary's own shadows, drawn from its sample, do not show.
    """
    if not sample >= 1:
        raise BadInput(f"a sample needs one person or more, got {sample}")
    return group_variance(n, of_one) * (1 + n / sample)


def one_threshold(shift: npt.ArrayLike, variance: npt.ArrayLike) -> Reals:
    """Accuracy of a normal score that the target raises by ``shift``, cut midway: Phi(shift / (2 sigma)).

    The variance is that of the counts and of all the noise: theorem 2 of Liu et al. (2024), corrected.

    >>> cell = group_variance(2_000, 0.01 * 0.99, population=10_000) + 2 * 2.0**2
    >>> round(float(one_threshold(60, 60 * cell)), 3)
    0.786
    """
    spread = np.sqrt(np.asarray(variance, dtype=float))
    if not (spread > 0).all():
        raise BadInput(f"a score needs a variance > 0, got {variance!r}")
    return np.asarray(ndtr(np.asarray(shift, dtype=float) / (2 * spread)))


def threshold_at(fpr: float, mean: npt.ArrayLike, variance: npt.ArrayLike) -> Reals:
    """What a normal score exceeds with a chance of ``fpr`` (Liu et al. 2024, algorithm 6).

    As printed, the algorithm uses the variance where the standard deviation belongs.

    >>> threshold_at(0.5, 3.0, 4.0).tolist()
    3.0
    """
    if not 0 < fpr < 1:
        raise BadInput(f"fpr must be in (0, 1), got {fpr}")
    return np.asarray(mean, dtype=float) - np.sqrt(np.asarray(variance, dtype=float)) * ndtri(fpr)


def count_law(n: int, rate: float, population: int | None = None) -> Reals:
    """Probabilities of 0, ..., n people of a group in a cell that a share ``rate`` of the people visit.

    Binomial, or hypergeometric where the group is drawn without replacement from a population of that size.

    >>> count_law(2, 0.5).tolist(), count_law(2, 0.5, population=2).tolist()
    ([0.25, 0.5, 0.25], [0.0, 1.0, 0.0])
    """
    if not (n >= 0 and 0 <= rate <= 1):
        raise BadInput(f"a count needs a group of 0 or more and a rate in [0, 1], got {n} and {rate}")
    counts = np.arange(n + 1)
    if population is None:
        logs = _log_ways(n, counts) + xlogy(counts, rate) + xlog1py(n - counts, -rate)
    else:
        visitors = round(rate * population)
        if not n <= population or abs(visitors - rate * population) > 1e-6:
            raise BadInput(
                f"a rate of {rate} is no whole number of {population} people, or the group is larger"
            )
        rest = population - visitors
        possible = (counts <= visitors) & (n - counts <= rest)
        logs = np.full(n + 1, -np.inf)
        logs[possible] = (
            _log_ways(visitors, counts[possible])
            + _log_ways(rest, n - counts[possible])
            - _log_ways(population, np.array(n))
        )
    law = np.exp(logs)
    return np.asarray(law / law.sum())


def vote_chances(
    law: Reals, noise_at_least: Callable[[Reals], Reals], cut: float | None = None, shift: float = 1.0
) -> tuple[float, float]:
    """Chances that one cell votes without and with the target: (alpha', 1 - beta') of Liu et al. (2024).

    ``law`` are the probabilities of 0, 1, ... others in the cell and ``noise_at_least(x)`` is the chance of
    noise of at least x, of mean zero. A cell votes if it is at least ``cut``; by default halfway between
    its two means.

    >>> from leakgauge.theory.cell_attacks import cell_error_laplace
    >>> vote_chances(np.ones(1), lambda x: np.exp(-np.maximum(x, 0) / 2) / 2)[0] == cell_error_laplace(0.5)
    True
    """
    counts = np.arange(law.size, dtype=np.float64)
    place = float(law @ counts) + shift / 2 if cut is None else cut
    without, with_target = (float(law @ noise_at_least(place - moved - counts)) for moved in (0.0, shift))
    return without, with_target


def _log_ways(n: int, chosen: npt.NDArray[np.int_]) -> Reals:
    return np.asarray(gammaln(n + 1) - gammaln(chosen + 1) - gammaln(n - chosen + 1))
