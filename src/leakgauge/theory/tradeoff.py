"""What no adversary can exceed while a guarantee holds."""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Curve, Guarantee
from leakgauge.theory.polygon import joined

_ROUNDING = 2.5e-16  # of one minus a rate
_RESOLVED = 1e-12  # what is left of one minus a rate when that is allowed for
_SMALLEST = float(np.finfo(float).tiny)  # smaller rates are not told from 0


def max_tpr(fpr: npt.ArrayLike, promise: Guarantee | Curve) -> Reals:
    """Largest true-positive rate at each false-positive rate.

    >>> max_tpr([0.0, 0.25], Guarantee(epsilon=np.log(2))).round(12).tolist()
    [0.0, 0.5]
    """
    rates, allowed = np.asarray(fpr, dtype=float), curve(promise)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise BadInput(f"a false-positive rate must be in [0, 1], got {rates}")
    return np.asarray(np.interp(rates, allowed.fpr, allowed.tpr))  # at a jump, its upper end


def curve(promise: Guarantee | Curve) -> Curve:
    """The whole trade-off: the guarantee's own curve, or else the one of its epsilon and delta.

    The two error trade-offs of (epsilon, delta)-DP hold at once (Kairouz, Oh and Viswanath 2015):
    TPR <= delta + e^epsilon FPR and 1 - FPR <= delta + e^epsilon (1 - TPR). The lines meet at
    FPR = 1 - TPR = (1 - delta) / (1 + e^epsilon).
    """
    if isinstance(promise, Curve):
        return promise
    if promise.curve is not None:
        return promise.curve
    delta = promise.delta
    corner = (1 - delta) * float(expit(-promise.epsilon))
    if promise.epsilon < np.inf:
        corner = max(corner, 5e-324)  # at FPR 0 nothing but delta is allowed, however large epsilon
    return joined(np.array([0.0, corner, 1 - delta]), np.array([delta, 1 - corner, 1.0]))


def max_auc(promise: Guarantee | Curve) -> float:
    """Largest area under the ROC curve.

    >>> round(max_auc(Guarantee(epsilon=np.log(3))), 12)
    0.75
    """
    allowed = curve(promise)
    return float(np.trapezoid(allowed.tpr, allowed.fpr))


def max_accuracy(promise: Guarantee | Curve) -> float:
    """Largest balanced accuracy (TPR + TNR) / 2.

    >>> round(max_accuracy(Guarantee(epsilon=np.log(3))), 12)
    0.75
    """
    allowed = curve(promise)
    return float((1 + np.max(allowed.tpr - allowed.fpr)) / 2)


def epsilon_at(promise: Guarantee | Curve, delta: float) -> float:
    """Smallest epsilon for which the curve lies within (epsilon, delta), in both directions.

    The largest log ratio (TPR - delta) / FPR, or (1 - FPR - delta) / (1 - TPR), over the corners. It is
    infinite where something is revealed for sure more often than delta; beyond 700 it is not told from
    infinity. If a curve is not its own mirror image, proofs of absence rarer than 1e-12 are overlooked, since
    one minus a rate cannot be told more finely.
    """
    if not 0 <= delta < 1:
        raise BadInput(f"delta must be in [0, 1), got {delta}")
    gains, costs = _gains_and_costs(curve(promise))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(gains > delta, (gains - delta) / costs, 1.0)
    return float(np.log(max(np.max(ratios), 1.0)))


def delta_at(promise: Guarantee | Curve, epsilon: float) -> float:
    """Smallest delta for which the curve lies within (epsilon, delta), in both directions.

    The largest TPR - e^epsilon FPR, or 1 - FPR - e^epsilon (1 - TPR), over the corners.
    """
    if not epsilon >= 0:
        raise BadInput(f"epsilon must be >= 0, got {epsilon}")
    gains, costs = _gains_and_costs(curve(promise))
    paid = np.zeros_like(costs)
    some = costs > 0
    paid[some] = np.exp(np.minimum(epsilon + np.log(costs[some]), 1.0))
    return float(np.clip(np.max(gains - paid), 0.0, 1.0))


def between(others: npt.ArrayLike, members: npt.ArrayLike) -> Curve:
    """The exact trade-off between two finite laws: probabilities of the same outputs in both worlds.

    By the lemma of Neyman and Pearson (1933) outputs enter in the order of their likelihood ratio.

    >>> between([0.75, 0.25], [0.25, 0.75]).tpr.tolist()
    [0.0, 0.75, 1.0]
    """
    absent, present = np.asarray(others, dtype=float), np.asarray(members, dtype=float)
    for law in (absent, present):
        if not ((law >= 0).all() and abs(law.sum() - 1) < 1e-9):
            raise BadInput(f"probabilities must be >= 0 and sum to 1, got a sum of {law.sum()}")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = present / absent
    order = np.argsort(-np.where(np.isnan(ratio), 0.0, ratio), kind="stable")
    fpr, tpr = np.cumsum(absent[order]), np.cumsum(present[order])
    return joined(np.append(0.0, fpr), np.append(0.0, tpr))


def _gains_and_costs(allowed: Curve) -> tuple[Reals, Reals]:
    """Corners as seen by someone who tries to prove membership, and, unless implied, absence."""
    gains, costs = 1 - allowed.fpr, 1 - allowed.tpr
    implied = max_tpr(np.minimum(costs + _ROUNDING, 1.0), allowed) >= gains - _RESOLVED
    if implied.all():
        gains, costs = allowed.tpr, allowed.fpr
    else:
        told = gains > _RESOLVED
        gains = np.concatenate([allowed.tpr, gains[told]])
        costs = np.concatenate([allowed.fpr, costs[told]])
    return gains, np.where(costs < _SMALLEST, 0.0, costs)
