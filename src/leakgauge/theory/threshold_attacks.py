"""Accuracy of the threshold attacks of Liu et al. (2024) on a target who moves n noisy cells.

All rates are balanced accuracies. Three families:

- The informed attacker knows every cell except for the target, which moves each cell by the same shift.
  ``ratio`` is the shift over the scale (Laplace) or over the standard deviation (any other noise) of one
  cell.
- The attacker who does not know the counts of the others: a group of n people is drawn from a population, and
  the attacker knows how its members move, not who is in. Theorem 2 of the paper adds standard deviations
  where variances must be added, and takes cells as uncorrelated; people who visit several of the target's
  cells correlate them.
- Votes of cells, each with a chance of its own, independently of the others: ``alarms[i]`` where the target
  is out, ``hits[i]`` where it is in. The target is said to be in if at least ``least`` cells vote; exactly
  ``least`` is enough (equation 10 of the paper; its algorithm 1 decides the opposite, which matters because
  votes are whole numbers).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput


def one_threshold_laplace(n: npt.ArrayLike, ratio: float) -> Reals:
    """Accuracy of the sum of all cells, cut midway, under Laplace noise: exact, for any number of cells.

    An error is a sum of n Laplace variables beyond half of what the target adds.

    >>> one_threshold_laplace([1, 60], ratio=0.5).round(4).tolist()
    [0.6106, 0.915]
    """
    numbers, _ = _numbers(n), _require_ratio(ratio)
    errors = [laplace_sum_above(size * ratio / 2, int(size)) for size in numbers.ravel()]
    return 1 - np.reshape(errors, numbers.shape)


def laplace_sum_above(x: float, n: int) -> float:
    """Chance that n Laplace variables of scale one add up to more than ``x`` >= 0.

    The sum is the difference of two gamma variables: the waiting times for event n of two Poisson
    processes. The first waits longer by more than x if it saw fewer than n events in time x and,
    after that, until the other's event n: Poisson(x) and negative binomial (n, 1/2). Derived here.

    >>> laplace_sum_above(0.0, 7), round(laplace_sum_above(np.log(2), 1), 12)
    (0.5, 0.25)
    """
    if not 0 <= x < np.inf:
        raise BadInput(f"the sum must be compared with a finite number >= 0, got {x}")
    events = np.arange(n)
    poisson = np.exp(scipy.special.xlogy(events, x) - x - scipy.special.gammaln(events + 1))
    return float(poisson @ scipy.special.betainc(n, n - events, 0.5))


def one_threshold_clt(n: npt.ArrayLike, ratio: float) -> Reals:
    """Accuracy of the sum of all cells, taken as normal: Phi(sqrt(n) ratio / 2).

    Exact for Gaussian noise, where no attack does better. ``ratio`` is the shift over the standard deviation,
    which for Laplace noise is sqrt(2) times the scale. Theorem 2 of Liu et al. (2024) adds the standard
    deviations of the cells where their variances must be added.

    >>> one_threshold_clt([60], ratio=1 / 8.2543).round(4).tolist()
    [0.6805]
    """
    _require_ratio(ratio)
    return np.asarray(scipy.special.ndtr(np.sqrt(_numbers(n)) * ratio / 2))


def one_threshold_as_printed(n: npt.ArrayLike, ratio: float) -> Reals:
    """What theorem 2 of Liu et al. (2024) says as printed: Phi(ratio / 2), whatever the number of cells."""
    _require_ratio(ratio)
    return np.full(_numbers(n).shape, scipy.special.ndtr(ratio / 2))


def cell_error_laplace(ratio: float) -> float:
    """How often one cell, cut midway, is wrong under Laplace noise: e^(-ratio / 2) / 2, for both worlds.

    (Liu et al. 2024, section 3.3, where the rate for members is printed as one minus this.)
    """
    return float(np.exp(-_require_ratio(ratio) / 2) / 2)


def cell_error_gaussian(ratio: float) -> float:
    """How often one cell, cut midway, is wrong under Gaussian noise: Phi(-ratio / 2), for both worlds."""
    return float(scipy.special.ndtr(-_require_ratio(ratio) / 2))


def two_threshold(n: npt.ArrayLike, cell_error: float) -> Reals:
    """Accuracy of the majority of the cells, each cut midway: exact (Liu et al. 2024, theorem 3).

    Binomial counts. A tie is as likely in both worlds, so that, whichever way it is decided, an even number
    of cells is worth no more than one cell fewer; and the majority of 2m - 1 is right with probability I(1 -
    cell_error; m, m).

    >>> two_threshold([1, 59, 60], cell_error_laplace(0.5)).round(4).tolist()
    [0.6106, 0.958, 0.958]
    """
    majority = np.ceil(_numbers(n) / 2)
    return np.asarray(scipy.special.betainc(majority, majority, 1 - _require_error(cell_error)))


def two_threshold_clt(n: npt.ArrayLike, cell_error: float) -> Reals:
    """The same with normal counts, as Liu et al. (2024) approximate them for five cells and more.

    >>> two_threshold_clt([60], cell_error_laplace(0.5)).round(4).tolist()
    [0.9605]
    """
    error = _require_error(cell_error)
    return np.asarray(scipy.special.ndtr(np.sqrt(_numbers(n)) * (0.5 - error) / np.sqrt(error * (1 - error))))


def _numbers(n: npt.ArrayLike) -> Reals:
    numbers = np.asarray(n, dtype=float)
    if not ((numbers >= 1) & (numbers == np.floor(numbers)) & (numbers < np.inf)).all():
        raise BadInput(f"the number of cells must be a whole number >= 1, got {n!r}")
    return numbers


def _require_ratio(ratio: float) -> float:
    if not 0 < ratio < np.inf:
        raise BadInput(f"the ratio of shift to noise must be > 0 and finite, got {ratio}")
    return ratio


def _require_error(error: float) -> float:
    if not 0 < error <= 0.5:
        raise BadInput(f"the error of a cell must be in (0, 0.5], got {error}")
    return error


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
    """Variance of a sum over a group, around its prediction from a sample of others: n V (1 + n / sample).

    The group has variance n V among all possible groups, and the prediction, n times the mean of the sample,
    has n^2 V / sample. The attacker's own shadows, drawn from its sample, do not show the second part.
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
    return np.asarray(scipy.special.ndtr(np.asarray(shift, dtype=float) / (2 * spread)))


def threshold_at_fpr(fpr: float, mean: npt.ArrayLike, variance: npt.ArrayLike) -> Reals:
    """The threshold that a normal score exceeds with a chance of ``fpr`` (Liu et al. 2024, algorithm 6).

    As printed, the algorithm uses the variance where the standard deviation belongs.

    >>> threshold_at_fpr(0.5, 3.0, 4.0).tolist()
    3.0
    """
    if not 0 < fpr < 1:
        raise BadInput(f"fpr must be in (0, 1), got {fpr}")
    return np.asarray(mean, dtype=float) - np.sqrt(np.asarray(variance, dtype=float)) * scipy.special.ndtri(
        fpr
    )


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
        logs = (
            _log_ways(n, counts)
            + scipy.special.xlogy(counts, rate)
            + scipy.special.xlog1py(n - counts, -rate)
        )
    else:
        visitors = round(rate * population)
        if not n <= population or abs(visitors - rate * population) > 1e-6:
            raise BadInput(
                f"a rate of {rate} is not a whole number of {population} people, or the group is larger"
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

    >>> vote_chances(np.ones(1), lambda x: np.exp(-np.maximum(x, 0) / 2) / 2)[0] == cell_error_laplace(0.5)
    True
    """
    counts = np.arange(law.size, dtype=np.float64)
    place = float(law @ counts) + shift / 2 if cut is None else cut
    without, with_target = (float(law @ noise_at_least(place - moved - counts)) for moved in (0.0, shift))
    return without, with_target


def _log_ways(n: int, chosen: npt.NDArray[np.int_]) -> Reals:
    return np.asarray(
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(chosen + 1)
        - scipy.special.gammaln(n - chosen + 1)
    )


def poisson_binomial(chances: npt.ArrayLike) -> Reals:
    """Probabilities of 0, 1, ..., n votes along the last axis: the Poisson-binomial distribution, exact.

    Cells are added one by one; nothing is subtracted, so that small probabilities keep their digits.

    >>> poisson_binomial([0.5, 0.25]).tolist()
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


def chance_of_votes(chances: npt.ArrayLike, least: npt.ArrayLike) -> Reals:
    """Probability of at least this many votes; between whole numbers, of the next whole number.

    >>> chance_of_votes([0.5, 0.25], [0, 1, 1.5, 3]).tolist()
    [1.0, 0.625, 0.125, 0.0]
    """
    tails = _tails(_one_row(chances))
    needed = np.ceil(np.asarray(least, dtype=float))
    return tails[np.clip(needed, 0, tails.size - 1).astype(np.intp)]


def vote_midpoint(alarms: npt.ArrayLike, hits: npt.ArrayLike) -> Reals:
    """Halfway between the usual numbers of votes without and with the target (Liu et al. 2024, equation 6).

    Rounded to nine digits, so that rounding errors do not turn a tie into a vote more or less.
    """
    return np.asarray(np.round((_chances(alarms).sum(axis=-1) + _chances(hits).sum(axis=-1)) / 2, 9))


def least_votes(alarms: npt.ArrayLike, fpr: float) -> npt.NDArray[np.int64]:
    """The smallest number of votes that non-members reach with a chance of at most ``fpr``; exact.

    >>> least_votes([0.5] * 4, fpr=0.1).tolist()
    4
    """
    if not 0 <= fpr <= 1:
        raise BadInput(f"fpr must be in [0, 1], got {fpr}")
    return np.argmax(_tails(_chances(alarms)) <= fpr, axis=-1)


def vote_accuracy(alarms: npt.ArrayLike, hits: npt.ArrayLike, least: npt.ArrayLike | None = None) -> Reals:
    """Balanced accuracy of requiring ``least`` votes (by default the midpoint), exact.

    >>> round(float(vote_accuracy([0.3894] * 60, [0.6106] * 60)), 4)
    0.958
    """
    needed = vote_midpoint(alarms, hits) if least is None else least
    return (1 + chance_of_votes(hits, needed) - chance_of_votes(alarms, needed)) / 2


def vote_accuracy_clt(
    alarms: npt.ArrayLike, hits: npt.ArrayLike, least: npt.ArrayLike | None = None
) -> Reals:
    """The same with normal numbers of votes.

    Their means are sums of chances and their variances sums of p (1 - p), whatever the cells; what Liu et al.
    (2024) print for auxiliary attackers in section 3.3 is the distribution of the one-threshold score
    instead.

    >>> round(float(vote_accuracy_clt([0.3894] * 60, [0.6106] * 60)), 4)
    0.9605
    """
    needed = np.asarray(vote_midpoint(alarms, hits) if least is None else least, dtype=float)
    tpr, fpr = (_normal_at_least(_one_row(chances), needed) for chances in (hits, alarms))
    return (1 + tpr - fpr) / 2


def _normal_at_least(chances: Reals, needed: Reals) -> Reals:
    spread = np.sqrt(chances @ (1 - chances))
    if spread == 0:
        return np.where(chances.sum() >= needed, 1.0, 0.0)
    return np.asarray(scipy.special.ndtr((chances.sum() - needed) / spread))


def _tails(chances: Reals) -> Reals:
    """Chances of at least 0, 1, ..., n, n + 1 votes."""
    law = poisson_binomial(chances)
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
