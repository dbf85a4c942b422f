"""What a guarantee allows advantage, accuracy, AUC, TPR and epsilon to reach."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Unit
from leakgauge.theory import tradeoff


def yeom_advantage(epsilon: npt.ArrayLike) -> Reals:
    """Largest advantage under pure epsilon-DP: e^epsilon - 1, at most 1 (Yeom et al. 2018, theorem 1).

    >>> round(float(yeom_advantage(np.log(1.5))), 12)
    0.5
    """
    return np.asarray(np.expm1(np.minimum(_epsilons(epsilon), np.log(2.0))))


def erlingsson_advantage(epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """Largest advantage: 1 - e^-epsilon (1 - delta) (Erlingsson et al. 2019).

    >>> float(erlingsson_advantage(np.log(2)))
    0.5
    """
    epsilon, delta = _epsilons(epsilon), _deltas(delta)
    return np.asarray(-np.expm1(-epsilon) + delta * np.exp(-epsilon))


def humphries_advantage(epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """Largest advantage: (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Humphries et al. 2023, theorem III.1).

    It is reached: the total variation of the trade-off of Kairouz, Oh and Viswanath (2015).

    >>> float(humphries_advantage(np.log(3)))
    0.5
    """
    epsilon, delta = _epsilons(epsilon), _deltas(delta)
    return np.asarray(np.tanh(epsilon / 2) + 2 * delta * scipy.special.expit(-epsilon))


def humphries_minus_erlingsson(epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """The bound of Humphries et al. minus Erlingsson's: at most 0.

    (delta - 1)(1 - e^-epsilon) / (e^epsilon + 1); appendix B of Humphries et al. (2023) prints
    1 + e^-epsilon, by which the two would differ at epsilon 0, where both equal delta.
    """
    epsilon, delta = _epsilons(epsilon), _deltas(delta)
    return np.asarray((1 - delta) * np.expm1(-epsilon) * scipy.special.expit(-epsilon))


def accuracy_from_advantage(advantage: npt.ArrayLike) -> Reals:
    """Balanced accuracy (TPR + TNR) / 2 of an attack with this advantage TPR - FPR."""
    return np.asarray((1 + np.asarray(advantage, dtype=float)) / 2)


def advantage_from_accuracy(accuracy: npt.ArrayLike) -> Reals:
    """Advantage TPR - FPR of an attack with this balanced accuracy."""
    return np.asarray(2 * np.asarray(accuracy, dtype=float) - 1)


def epsilon_from_accuracy(accuracy: npt.ArrayLike, delta: npt.ArrayLike = 0.0) -> Reals:
    """Smallest epsilon under which a balanced accuracy is possible at all.

    ln((accuracy - delta) / (1 - accuracy)), at least 0: ``humphries_advantage`` solved for epsilon. For delta
    0 it is ln(accuracy / (1 - accuracy)); the popular accuracy <= e^epsilon / 2 is loose.

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


def metric_bounds(guarantee: Guarantee, fprs: Sequence[float]) -> dict[str, float]:
    """The bound of every metric that has one; means over targets have the same bound.

    The curve of the guarantee is concave, so an average of targets below it is below it too. For a guarantee
    to a group of dependent records, ``advantage_independent`` is what the nominal epsilon would allow if they
    were independent (Humphries et al. 2023, theorem III.1); it is for comparison and does not apply to them.

    >>> round(metric_bounds(Guarantee(epsilon=float(np.log(3))), [])["accuracy"], 6)
    0.75
    """
    accuracy, area = tradeoff.max_accuracy(guarantee), tradeoff.max_auc(guarantee)
    bounds = {
        "epsilon": float(guarantee.epsilon),
        **dict.fromkeys(("accuracy", "accuracy_mean", "accuracy_own", "accuracy_worst"), accuracy),
        **dict.fromkeys(("advantage", "advantage_own", "advantage_per_release"), 2 * accuracy - 1),
        "auc": area,
        "auc_mean": area,
    }
    for fpr, tpr in zip(fprs, tradeoff.max_tpr(np.asarray(fprs, float), guarantee)):
        bounds[f"tpr_at_fpr_{fpr}"] = bounds[f"tpr_at_fpr_{fpr}_mean"] = float(tpr)
    if guarantee.unit is Unit.GROUP and guarantee.nominal_epsilon is not None:
        bounds["advantage_independent"] = float(
            humphries_advantage(guarantee.nominal_epsilon, guarantee.delta)
        )
    return bounds


def epsilon_for_limits(limits: Mapping[str, float], delta: float = 0.0) -> float | None:
    """Largest epsilon under which no attacker can exceed any of these limits on metrics.

    Nothing where none of them has a bound, or where delta alone exceeds one.

    >>> round(epsilon_for_limits({"accuracy": 0.75, "auc": 0.8}), 6) == round(float(np.log(3)), 6)
    True
    """
    fprs = [float(found[1]) for name in limits if (found := re.match(r"tpr_at_fpr_([0-9.]+)", name))]

    def keeps(epsilon: float) -> bool:
        bounds = metric_bounds(Guarantee(epsilon=epsilon, delta=delta), fprs)
        return all(bounds[name] <= limit for name, limit in limits.items() if name in bounds)

    low, high = 0.0, 40.0
    if keeps(high) or not keeps(low):
        return None
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low
