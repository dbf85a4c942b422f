"""Trade-off curves between false and true positives: what no attacker can exceed while a guarantee holds.

Curves are polygons, drawn inside or outside the exact curve. The privacy loss of an output is ln P(output |
member) - ln P(output | non-member). A pair of distributions is symmetric if the loss of a member is
distributed as minus the loss of a non-member, as for a shift under symmetric noise. Then the losses above
zero are enough: the rest of the curve is their mirror image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, TradeoffCurve

_ROUNDING = 2.5e-16  # of one minus a rate
_RESOLVED = 1e-12  # smaller differences of one minus a rate are rounding errors
_SMALLEST = float(np.finfo(float).tiny)  # smaller rates count as 0


def max_tpr(fpr: npt.ArrayLike, promise: Guarantee | TradeoffCurve) -> Reals:
    """Largest true-positive rate at each false-positive rate.

    >>> max_tpr([0.0, 0.25], Guarantee(epsilon=np.log(2))).round(12).tolist()
    [0.0, 0.5]
    """
    rates, allowed = np.asarray(fpr, dtype=float), curve(promise)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise BadInput(f"a false-positive rate must be in [0, 1], got {rates}")
    return np.asarray(np.interp(rates, allowed.fpr, allowed.tpr))  # at a jump, its upper end


def curve(promise: Guarantee | TradeoffCurve) -> TradeoffCurve:
    """The whole trade-off: the guarantee's own curve, or else the one of its epsilon and delta.

    The two error trade-offs of (epsilon, delta)-DP hold at once (Kairouz, Oh and Viswanath 2015):
    TPR <= delta + e^epsilon FPR and 1 - FPR <= delta + e^epsilon (1 - TPR). The lines meet at
    FPR = 1 - TPR = (1 - delta) / (1 + e^epsilon).
    """
    if isinstance(promise, TradeoffCurve):
        return promise
    if promise.curve is not None:
        return promise.curve
    delta = promise.delta
    corner = (1 - delta) * _share_of_the_smaller(promise.epsilon)
    if promise.epsilon < np.inf:
        corner = max(corner, 5e-324)  # at FPR 0 only delta is allowed, however large epsilon
    return curve_through(np.array([0.0, corner, 1 - delta]), np.array([delta, 1 - corner, 1.0]))


def _share_of_the_smaller(epsilon: float) -> float:
    """1 / (1 + e^epsilon), as ``scipy.special.expit(-epsilon)``, which takes longer to load than to compute.

    >>> _share_of_the_smaller(0.0), _share_of_the_smaller(np.inf)
    (0.5, 0.0)
    """
    try:
        return 1 / (1 + exp(epsilon))
    except OverflowError:
        return 0.0


def max_auc(promise: Guarantee | TradeoffCurve) -> float:
    """Largest area under the ROC curve.

    >>> round(max_auc(Guarantee(epsilon=np.log(3))), 12)
    0.75
    """
    allowed = curve(promise)
    return float(np.trapezoid(allowed.tpr, allowed.fpr))


def max_accuracy(promise: Guarantee | TradeoffCurve) -> float:
    """Largest balanced accuracy (TPR + TNR) / 2.

    >>> round(max_accuracy(Guarantee(epsilon=np.log(3))), 12)
    0.75
    """
    allowed = curve(promise)
    return float((1 + np.max(allowed.tpr - allowed.fpr)) / 2)


def epsilon_at(promise: Guarantee | TradeoffCurve, delta: float) -> float:
    """Smallest epsilon for which the curve lies within (epsilon, delta), in both directions.

    The largest log ratio (TPR - delta) / FPR, or (1 - FPR - delta) / (1 - TPR), over the corners. It is
    infinite where membership is revealed with certainty more often than delta, and beyond 700. If a curve is
    not its own mirror image, proofs of absence rarer than 1e-12 are overlooked, since one minus a rate has no
    more digits.
    """
    if not 0 <= delta < 1:
        raise BadInput(f"delta must be in [0, 1), got {delta}")
    gains, costs = _gains_and_costs(curve(promise))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(gains > delta, (gains - delta) / costs, 1.0)
    return float(np.log(max(np.max(ratios), 1.0)))


def delta_at(promise: Guarantee | TradeoffCurve, epsilon: float) -> float:
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


def exact_curve(others: npt.ArrayLike, members: npt.ArrayLike) -> TradeoffCurve:
    """The exact trade-off between two finite distributions: probabilities of the same outputs in both worlds.

    By the lemma of Neyman and Pearson (1933) outputs are accepted in the order of their likelihood ratio.

    >>> exact_curve([0.75, 0.25], [0.25, 0.75]).tpr.tolist()
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
    return curve_through(np.append(0.0, fpr), np.append(0.0, tpr))


def _gains_and_costs(allowed: TradeoffCurve) -> tuple[Reals, Reals]:
    """Rates of correct and of false proofs of membership at the corners and, unless implied, of absence."""
    gains, costs = 1 - allowed.fpr, 1 - allowed.tpr
    implied = max_tpr(np.minimum(costs + _ROUNDING, 1.0), allowed) >= gains - _RESOLVED
    if implied.all():
        gains, costs = allowed.tpr, allowed.fpr
    else:
        resolved = gains > _RESOLVED
        gains = np.concatenate([allowed.tpr, gains[resolved]])
        costs = np.concatenate([allowed.fpr, costs[resolved]])
    return gains, np.where(costs < _SMALLEST, 0.0, costs)


@dataclass(frozen=True, eq=False)
class PositiveLosses:
    """Probabilities of the losses above zero, in bins, strongest evidence first.

    Every loss of a bin lies in [``low``, ``high``]; a bin with both equal is an atom.
    """

    low: Reals
    high: Reals
    members: Reals
    others: Reals

    def coarser(self, n: int) -> "PositiveLosses":
        """Join neighbouring bins until at most ``n`` are left, equally wide over the losses that occur."""
        if self.low.size <= n:
            return self
        mass = np.cumsum(self.members)
        ends = np.searchsorted(mass, [min(1e-15, mass[-1]), mass[-1] * (1 - 1e-15)])
        top, bottom = np.minimum(ends, self.low.size - 1)
        span = max(self.low[top] - self.low[bottom], np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            place = np.clip((self.low[top] - self.low) / span * n, 0, n - 1).astype(np.int64)
        first = np.flatnonzero(np.append(True, np.diff(place) > 0))
        last = np.append(first[1:], self.low.size) - 1
        return PositiveLosses(
            self.low[last],
            self.high[first],
            np.add.reduceat(self.members, first),
            np.add.reduceat(self.others, first),
        )


@dataclass(frozen=True, eq=False)
class TwoSidedLosses:
    """Losses above zero, and below zero with the worlds exchanged, so that these are above zero too.

    ``sure_members`` is how often a member is revealed with certainty, by an output that no non-member gives;
    ``sure_others`` how often a non-member is.
    """

    above: PositiveLosses
    below: PositiveLosses
    sure_members: float = 0.0
    sure_others: float = 0.0

    def coarser(self, n: int) -> "TwoSidedLosses":
        """Join neighbouring bins until at most ``n`` are left on either side."""
        return replace(self, above=self.above.coarser(n), below=self.below.coarser(n))


def inner_curve(half: PositiveLosses) -> TradeoffCurve:
    """The polygon of an attacker who sees only the bin of a loss: a lower bound."""
    return _mirrored(*_corners_inside(half))


def outer_curve(half: PositiveLosses) -> TradeoffCurve:
    """The polygon of an attacker who sees every loss moved to the ends of its bin: an upper bound.

    The move keeps the probability of the bin in both worlds, so it is a mean-preserving spread of the
    likelihood ratio, and reveals no less (Blackwell 1953; for privacy losses Doroshenko et al. 2022).
    """
    return _mirrored(*_corners_outside(half))


def inner_two_sided_curve(whole: TwoSidedLosses) -> TradeoffCurve:
    """The polygon inside the curve of a pair of distributions that need not mirror each other."""
    return _joined_halves(whole, _corners_inside(whole.above), _corners_inside(whole.below))


def outer_two_sided_curve(whole: TwoSidedLosses) -> TradeoffCurve:
    """The polygon outside the curve of a pair of distributions that need not mirror each other."""
    return _joined_halves(whole, _corners_outside(whole.above), _corners_outside(whole.below))


def _corners_inside(half: PositiveLosses) -> tuple[Reals, Reals]:
    return np.cumsum(half.others), np.cumsum(half.members)


def _corners_outside(half: PositiveLosses) -> tuple[Reals, Reals]:
    width = half.high - half.low
    atom = ~(width > 0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        excess = half.members - np.exp(half.low) * half.others
        strong = np.where(atom, half.members, excess / -np.expm1(-width))
    strong = np.clip(np.nan_to_num(strong, nan=np.inf), 0.0, half.members)
    strong_others = np.where(atom, half.others, np.minimum(strong * np.exp(-half.high), half.others))
    members = np.stack([strong, half.members - strong], axis=1).ravel()
    others = np.stack([strong_others, half.others - strong_others], axis=1).ravel()
    return np.cumsum(others), np.cumsum(members)


def curve_through(fpr: Reals, tpr: Reals) -> TradeoffCurve:
    """The curve through these points, rounding errors corrected; it ends at (1, 1)."""
    fpr, tpr = (np.maximum.accumulate(np.clip(rates, 0.0, 1.0)) for rates in (fpr, tpr))
    fpr, tpr = np.append(fpr, 1.0), np.append(tpr, 1.0)
    keep = np.append(True, (np.diff(fpr) > 0) | (np.diff(tpr) > 0))
    fpr, tpr = fpr[keep], tpr[keep]
    for rates in (fpr, tpr):
        rates.setflags(write=False)
    return TradeoffCurve(fpr, tpr)


def upper_envelope(curves: Sequence[TradeoffCurve]) -> TradeoffCurve:
    """A curve that none of these exceeds: the largest of them where any has a corner."""
    fpr = np.unique(np.concatenate([one.fpr for one in curves]))
    return curve_through(fpr, np.max([max_tpr(fpr, one) for one in curves], axis=0))


def _mirrored(fpr: Reals, tpr: Reals) -> TradeoffCurve:
    """Continue the curve of the losses above zero by its mirror image."""
    tpr = np.minimum(tpr, 1 - fpr)  # the mirror is where FPR = 1 - TPR; rounding may step across it
    return curve_through(
        np.concatenate([[0.0], fpr, 1 - tpr[::-1], [1.0]]), np.concatenate([[0.0], tpr, 1 - fpr[::-1], [1.0]])
    )


def _joined_halves(
    whole: TwoSidedLosses, above: tuple[Reals, Reals], below: tuple[Reals, Reals]
) -> TradeoffCurve:
    """Draw the curve from both of its ends; losses of zero fill the gap between them."""
    fpr, tpr = above[0], whole.sure_members + above[1]
    tnr, fnr = whole.sure_others + below[1], below[0]
    return curve_through(
        np.concatenate([[0.0], fpr, 1 - tnr[::-1], [1 - whole.sure_others]]),
        np.concatenate([[whole.sure_members], tpr, 1 - fnr[::-1], [1.0]]),
    )


def curve_from_profile(epsilons: Reals, deltas: Reals) -> TradeoffCurve:
    """The largest rates possible while (epsilon, delta) holds, in both directions, for each of these pairs.

    A pair is two lines (Kairouz, Oh and Viswanath 2015): TPR <= delta + e^epsilon FPR, and its mirror image
    1 - FPR <= delta + e^epsilon (1 - TPR). The curve is the lowest of all lines: never below the exact one,
    and close to it where the epsilons are many.

    >>> curve_from_profile(np.array([np.log(3)]), np.array([0.1])).tpr.round(3).tolist()
    [0.1, 0.775, 1.0, 1.0]
    """
    rising = epsilons.size > 0 and epsilons[0] >= 0 and bool((np.diff(epsilons) > 0).all())
    if not (rising and epsilons.shape == deltas.shape and ((deltas >= 0) & (deltas <= 1)).all()):
        raise BadInput("a privacy profile needs epsilons that rise from 0, and a delta in [0, 1] for each")
    steep, flat = np.exp(epsilons), np.exp(-epsilons[::-1])
    slopes = np.concatenate([[0.0], flat[flat < 1], steep])
    starts = np.concatenate([[1.0], (1 - flat * (1 - deltas[::-1]))[flat < 1], deltas])
    crossings = -np.diff(starts) / np.diff(slopes)
    fpr = np.unique(np.clip(np.append(crossings, [0.0, 1.0]), 0.0, 1.0))
    tpr = np.array([(starts + slopes * rate).min() for rate in fpr])
    return TradeoffCurve(fpr, np.maximum.accumulate(tpr))
