"""What an adversary knows of its own score in the two worlds, and where it cuts it."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.theory.count_attacks import threshold_at

_CERTAIN = 1e6  # the evidence in a gap without any noise


@dataclass(frozen=True, eq=False)
class NormalScore:
    """A score that is about normal: its means without and with the target, and a variance for both.

    Numbers, or one for each release. ``n_shadows`` is how many shadows it was learned from; no end of them
    if it was computed.
    """

    without: Reals
    with_target: Reals
    variance: Reals
    n_shadows: float = np.inf

    @classmethod
    def of(cls, scores: Reals, members: Bits) -> "NormalScore":
        """Learn from shadows: algorithms 3 and 6 of Liu et al. (2024).

        As printed, algorithm 6 takes the mean of two variances for a standard deviation.

        >>> float(NormalScore.of(np.array([0.0, 2.0, 5.0, 7.0]), np.array([0, 0, 1, 1], bool)).midpoint)
        3.5
        """
        inside, outside = scores[members], scores[~members]
        if inside.size < 2 or outside.size < 2:
            raise BadInput(
                f"a threshold needs two releases or more of each kind, got {inside.size} with the target and "
                f"{outside.size} without; take more"
            )
        variance = (inside.var(ddof=1) + outside.var(ddof=1)) / 2
        return cls(outside.mean(), inside.mean(), variance, scores.size)

    @property
    def midpoint(self) -> Reals:
        """Where a symmetric score is cut for the best accuracy; no dust of floats, so that ties stay ties."""
        return np.round((self.without + self.with_target) / 2, 9)

    def threshold(self, fpr: float | None) -> Reals:
        """The midpoint, or what a normal score exceeds without the target with a chance of ``fpr``.

        A score that never varies is cut at the midpoint whatever the rate: cut where it always lies without
        the target, it would reach its own cut every time.
        """
        if fpr is None:
            return self.midpoint
        varies = np.asarray(self.variance) > 0
        return np.where(varies, threshold_at(fpr, self.without, self.variance), self.midpoint)

    @property
    def evidence(self) -> Reals:
        """Log odds per unit of the score, so that targets with many and with few cells can be compared.

        The gap of the means over the variance: the slope of a normal log-likelihood ratio. A gap that was
        learned from shadows counts as no smaller than its standard error, so that accident turns no score
        around.
        """
        gap = np.maximum(self.with_target - self.without, 2 * np.sqrt(self.variance / self.n_shadows))
        least = np.where(gap > 0, gap / _CERTAIN, 1.0)
        return np.asarray(np.maximum(gap, 0.0) / np.maximum(self.variance, least))
