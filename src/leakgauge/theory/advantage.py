"""How far an adversary's rates can lie apart (TPR - FPR) while a guarantee holds: three published bounds."""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals


def yeom(epsilon: npt.ArrayLike) -> Reals:
    """Largest advantage under pure epsilon-DP: e^epsilon - 1, at most 1 (Yeom et al. 2018, theorem 1).

    >>> round(float(yeom(np.log(1.5))), 12)
    0.5
    """
    return np.asarray(np.expm1(np.minimum(_epsilons(epsilon), np.log(2.0))))


def erlingsson(epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """Largest advantage: 1 - e^-epsilon (1 - delta) (Erlingsson et al. 2019).

    >>> float(erlingsson(np.log(2)))
    0.5
    """
    epsilon, delta = _epsilons(epsilon), _deltas(delta)
    return np.asarray(-np.expm1(-epsilon) + delta * np.exp(-epsilon))


def humphries(epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """Largest advantage: (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Humphries et al. 2023, theorem III.1).

    It is reached: the total variation of the trade-off of Kairouz, Oh and Viswanath (2015).

    >>> float(humphries(np.log(3)))
    0.5
    """
    epsilon, delta = _epsilons(epsilon), _deltas(delta)
    return np.asarray(np.tanh(epsilon / 2) + 2 * delta * expit(-epsilon))


def humphries_minus_erlingsson(epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """How far the bound of Humphries et al. lies below Erlingsson's (never above: at most 0).

    (delta - 1)(1 - e^-epsilon) / (e^epsilon + 1); appendix B of Humphries et al. (2023) prints
    1 + e^-epsilon, which would set the two apart at epsilon 0, where both equal delta.
    """
    epsilon, delta = _epsilons(epsilon), _deltas(delta)
    return np.asarray((1 - delta) * np.expm1(-epsilon) * expit(-epsilon))


def accuracy_from_advantage(advantage: npt.ArrayLike) -> Reals:
    """Balanced accuracy (TPR + TNR) / 2 of an attack whose rates lie this far apart."""
    return np.asarray((1 + np.asarray(advantage, dtype=float)) / 2)


def advantage_from_accuracy(accuracy: npt.ArrayLike) -> Reals:
    """Advantage TPR - FPR of an attack of this balanced accuracy."""
    return np.asarray(2 * np.asarray(accuracy, dtype=float) - 1)


def epsilon_from_accuracy(accuracy: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """Smallest epsilon under which a balanced accuracy is possible at all.

    ln((accuracy - delta) / (1 - accuracy)), at least 0: ``humphries`` solved for epsilon. For delta 0 it
    is ln(accuracy / (1 - accuracy)); the popular accuracy <= e^epsilon / 2 is loose.

    >>> round(float(np.exp(epsilon_from_accuracy(0.75))), 12)
    3.0
    """
    accuracy, delta = np.asarray(accuracy, dtype=float), _deltas(delta)
    if not ((accuracy >= 0) & (accuracy <= 1)).all():
        raise BadInput(f"accuracy must be in [0, 1], got {accuracy}; give a fraction, not a percentage")
    with np.errstate(divide="ignore"):
        odds = np.maximum(accuracy - delta, 0) / (1 - accuracy)
        return np.asarray(np.log(np.maximum(odds, 1.0)))


def _epsilons(epsilon: npt.ArrayLike) -> Reals:
    epsilon = np.asarray(epsilon, dtype=float)
    if not (epsilon >= 0).all():
        raise BadInput(f"epsilon must be >= 0, got {epsilon}")
    return epsilon


def _deltas(delta: npt.ArrayLike) -> Reals:
    delta = np.asarray(delta, dtype=float)
    if not ((delta >= 0) & (delta <= 1)).all():
        raise BadInput(f"delta must be in [0, 1], got {delta}")
    return delta
