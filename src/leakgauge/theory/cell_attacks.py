"""How often the attacks of Liu et al. (2024) are right about a target who moves n noisy cells.

Each cell moves by the same shift. The adversary is informed: it knows every cell but for the target. All
rates are balanced accuracies.
``ratio`` is the shift over the scale (Laplace) or over the standard deviation (any other noise) of one cell.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, ndtr, xlogy

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals


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
    poisson = np.exp(xlogy(events, x) - x - gammaln(events + 1))
    return float(poisson @ betainc(n, n - events, 0.5))


def one_threshold_clt(n: npt.ArrayLike, ratio: float) -> Reals:
    """Accuracy of the sum of all cells, taken as normal: Phi(sqrt(n) ratio / 2).

    Exact for Gaussian noise, where no attack does better. ``ratio`` is the shift over the standard deviation,
    which for Laplace noise is sqrt(2) times the scale. Theorem 2 of Liu et al. (2024) adds the standard
    deviations of the cells where their variances must be added.

    >>> one_threshold_clt([60], ratio=1 / 8.2543).round(4).tolist()
    [0.6805]
    """
    _require_ratio(ratio)
    return np.asarray(ndtr(np.sqrt(_numbers(n)) * ratio / 2))


def one_threshold_as_printed(n: npt.ArrayLike, ratio: float) -> Reals:
    """What theorem 2 of Liu et al. (2024) says as printed: Phi(ratio / 2), whatever the number of cells."""
    _require_ratio(ratio)
    return np.full(_numbers(n).shape, ndtr(ratio / 2))


def cell_error_laplace(ratio: float) -> float:
    """How often one cell, cut midway, is wrong under Laplace noise: e^(-ratio / 2) / 2, for both worlds.

    (Liu et al. 2024, section 3.3, where the rate for members is printed as one minus this.)
    """
    return float(np.exp(-_require_ratio(ratio) / 2) / 2)


def cell_error_gaussian(ratio: float) -> float:
    """How often one cell, cut midway, is wrong under Gaussian noise: Phi(-ratio / 2), for both worlds."""
    return float(ndtr(-_require_ratio(ratio) / 2))


def two_threshold(n: npt.ArrayLike, cell_error: float) -> Reals:
    """Accuracy of the majority of the cells, each cut midway: exact (Liu et al. 2024, theorem 3).

    Binomial counts. A tie is as likely in both worlds, so whoever gets it, an even number of cells is worth
    no more than one cell fewer; and the majority of 2m - 1 is right with probability I(1 - cell_error; m, m).

    >>> two_threshold([1, 59, 60], cell_error_laplace(0.5)).round(4).tolist()
    [0.6106, 0.958, 0.958]
    """
    majority = np.ceil(_numbers(n) / 2)
    return np.asarray(betainc(majority, majority, 1 - _require_error(cell_error)))


def two_threshold_clt(n: npt.ArrayLike, cell_error: float) -> Reals:
    """The same with normal counts, as Liu et al. (2024) approximate them for five cells and more.

    >>> two_threshold_clt([60], cell_error_laplace(0.5)).round(4).tolist()
    [0.9605]
    """
    error = _require_error(cell_error)
    return np.asarray(ndtr(np.sqrt(_numbers(n)) * (0.5 - error) / np.sqrt(error * (1 - error))))


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
