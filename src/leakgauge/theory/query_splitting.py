"""Accuracy of attacks that use m independent answers about one target: query splitting (Huang et al.).

An answer is the target's value, if it is in, plus noise. All rates are balanced accuracies. ``ratio`` is the
shift over the scale under Laplace noise, over the standard deviation under any other; a record of value v in
a sum bounded by b moves an answer of epsilon by ``laplace_ratio(epsilon, v, b)`` scales, a count by epsilon.
For the t-test see ``t_test_power``.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, xlog1py

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.theory import loss_composition, threshold_attacks
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell


def laplace_ratio(epsilon: float, value: float = 1.0, bound: float = 1.0) -> float:
    """By how many scales a record of this value moves an answer of epsilon: a count, or a bounded sum.

    >>> laplace_ratio(0.3), laplace_ratio(0.3, value=-50.0, bound=100.0), laplace_ratio(0.3, 900.0, 100.0)
    (0.3, 0.15, 0.3)
    """
    for name, number in (("epsilon", epsilon), ("bound", bound)):
        if not 0 < number < np.inf:
            raise BadInput(f"{name} must be > 0 and finite, got {number}")
    return float(epsilon * min(abs(value) / bound, 1.0))


def midpoint_laplace(m: npt.ArrayLike, ratio: float) -> Reals:
    """Success of the mean of the answers, cut at half of the value, under Laplace noise: exact.

    >>> midpoint_laplace([10, 29], 0.33).round(3).tolist()
    [0.649, 0.737]
    """
    return threshold_attacks.one_threshold_laplace(m, ratio)


def midpoint_gaussian(m: npt.ArrayLike, ratio: float) -> Reals:
    """The same under Gaussian noise, where no attack does better: Phi(sqrt(m) ratio / 2)."""
    return threshold_attacks.one_threshold_clt(m, ratio)


def midpoint_geometric(m: int, rate: float, shift: int = 1) -> float:
    """The same under two-sided geometric noise, whose probabilities fall by e^-rate per unit: exact.

    The sum of the noise is the difference of two negative binomial variables. A mean exactly at the cut is as
    likely in both worlds: the success is the same whichever way it is decided.

    >>> round(midpoint_geometric(10, 1.0), 4)
    0.8822
    """
    cell = GeometricCell(rate, shift)  # checks both
    if not (m >= 1 and m == int(m)):
        raise BadInput(f"the number of answers must be a whole number >= 1, got {m!r}")
    size = int(m)
    success = -np.expm1(-cell.rate)
    mean, spread = size / np.expm1(cell.rate), np.sqrt(size * (1 - success)) / success
    down = np.arange(int(mean + 12 * spread + 40 / cell.rate) + 1)
    masses = np.exp(
        gammaln(down + size)
        - gammaln(down + 1)
        - gammaln(size)
        + size * np.log(success)
        + xlog1py(down, -success)
    )
    half = size * cell.shift / 2
    least = (np.floor(half) + 1, np.ceil(half))  # of the sums that are wrong: without the tie, and with it
    errors = [masses @ betainc(down + first, size, 1 - success) for first in least]
    return float(1 - np.mean(errors))


def optimum_laplace(m: int, ratio: float) -> tuple[float, float]:
    """Success of the best possible attack, the sum of clipped answers: lower and upper bound.

    >>> [round(bound, 3) for bound in optimum_laplace(10, 1.0)]
    [0.917, 0.917]
    """
    return loss_composition.best_attack([(LaplaceCell(ratio), m)]).accuracy


def optimum_geometric(m: int, rate: float, shift: int = 1) -> tuple[float, float]:
    """The same under two-sided geometric noise, whose probabilities fall by e^-rate per unit."""
    return loss_composition.best_attack([(GeometricCell(rate, shift), m)]).accuracy
