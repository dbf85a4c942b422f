"""Trade-off curves as polygons, drawn inside or outside the curve of a symmetric pair of laws.

The privacy loss of an output is ln P(output | member) - ln P(output | not). A pair of laws is symmetric if
the loss of a member has the law of minus the loss of a non-member, as for a shift under symmetric noise. Then
the losses above zero say everything: the rest of the curve is their mirror image.
"""

from dataclasses import dataclass, replace

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Curve


@dataclass(frozen=True, eq=False)
class Half:
    """Probabilities of the losses above zero, in bins, strongest evidence first.

    Every loss of a bin lies in [``low``, ``high``]; a bin with both equal is an atom.
    """

    low: Reals
    high: Reals
    members: Reals
    others: Reals

    def coarser(self, n: int) -> "Half":
        """Join neighbouring bins until at most ``n`` are left: an even cut of the losses that occur."""
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
        return Half(
            self.low[last],
            self.high[first],
            np.add.reduceat(self.members, first),
            np.add.reduceat(self.others, first),
        )


@dataclass(frozen=True, eq=False)
class Whole:
    """Losses above zero, and below zero with the worlds exchanged, so that these are above zero too.

    ``sure_members`` is how often a member is revealed for sure, by an output that no non-member gives;
    ``sure_others`` how often a non-member is.
    """

    above: Half
    below: Half
    sure_members: float = 0.0
    sure_others: float = 0.0

    def coarser(self, n: int) -> "Whole":
        """Join neighbouring bins until at most ``n`` are left on either side."""
        return replace(self, above=self.above.coarser(n), below=self.below.coarser(n))


def inner(half: Half) -> Curve:
    """The polygon of an adversary who sees no more of a loss than its bin: a lower bound."""
    return _mirrored(*_corners_inside(half))


def outer(half: Half) -> Curve:
    """The polygon of an adversary who sees every loss pushed to the ends of its bin: an upper bound.

    The push keeps the probability of the bin in both worlds, so it is a mean-preserving spread of the
    likelihood ratio, and reveals more (Blackwell 1953; for privacy losses Doroshenko et al. 2022).
    """
    return _mirrored(*_corners_outside(half))


def inner_whole(whole: Whole) -> Curve:
    """The polygon inside the curve of a pair of laws that need not mirror each other."""
    return _ends_met(whole, _corners_inside(whole.above), _corners_inside(whole.below))


def outer_whole(whole: Whole) -> Curve:
    """The polygon outside the curve of a pair of laws that need not mirror each other."""
    return _ends_met(whole, _corners_outside(whole.above), _corners_outside(whole.below))


def _corners_inside(half: Half) -> tuple[Reals, Reals]:
    return np.cumsum(half.others), np.cumsum(half.members)


def _corners_outside(half: Half) -> tuple[Reals, Reals]:
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


def joined(fpr: Reals, tpr: Reals) -> Curve:
    """The curve through these points, rounding errors mended; it ends at (1, 1)."""
    fpr, tpr = (np.maximum.accumulate(np.clip(rates, 0.0, 1.0)) for rates in (fpr, tpr))
    fpr, tpr = np.append(fpr, 1.0), np.append(tpr, 1.0)
    keep = np.append(True, (np.diff(fpr) > 0) | (np.diff(tpr) > 0))
    fpr, tpr = fpr[keep], tpr[keep]
    for rates in (fpr, tpr):
        rates.setflags(write=False)
    return Curve(fpr, tpr)


def _mirrored(fpr: Reals, tpr: Reals) -> Curve:
    """Continue the curve of the losses above zero by its mirror image."""
    tpr = np.minimum(tpr, 1 - fpr)  # the mirror is where FPR = 1 - TPR; rounding may step across it
    return joined(
        np.concatenate([[0.0], fpr, 1 - tpr[::-1], [1.0]]), np.concatenate([[0.0], tpr, 1 - fpr[::-1], [1.0]])
    )


def _ends_met(whole: Whole, above: tuple[Reals, Reals], below: tuple[Reals, Reals]) -> Curve:
    """Draw the curve from both of its ends; where they meet, losses of zero fill the gap."""
    fpr, tpr = above[0], whole.sure_members + above[1]
    tnr, fnr = whole.sure_others + below[1], below[0]
    return joined(
        np.concatenate([[0.0], fpr, 1 - tnr[::-1], [1 - whole.sure_others]]),
        np.concatenate([[whole.sure_members], tpr, 1 - fnr[::-1], [1.0]]),
    )
