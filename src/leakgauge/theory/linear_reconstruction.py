"""Success of linear reconstruction: many secret bits from noisy sums over sets of them, by least squares.

Dinur and Nissim (2003): with noise of o(sqrt n), about n log^2 n questions reveal nearly all n bits.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from leakgauge.core.game import Reals

_SINGULAR = 1e-10  # singular values below this share of the largest one count as zero


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares for bits x from the answers ``design`` x + noise: the solution nearest to one half.

    The estimate minus one half is ``weights`` (answers - design / 2). Its mean, given bit i and averaged over
    the others, is ``gains[i]`` (x_i - 1/2), and ``variances[i]`` is what the noise and the other bits add.
    With at least as many independent questions as bits, gains are one, and only the noise is left.
    """

    weights: Reals  # bits x answers
    gains: Reals
    variances: Reals

    @property
    def recovery(self) -> Reals:
        """The probability that each estimate is on the right side of one half.

        Exact for Gaussian noise and independent questions, otherwise the normal limit of many questions. A
        bit that no answer is about is a coin toss.

        >>> least_squares(np.ones((4, 1)), 1.0).recovery.round(4).tolist()
        [0.8413]
        """
        known = self.gains > 0
        deviations = np.sqrt(np.where(known, self.variances, 1.0))
        return np.where(known, ndtr(self.gains / 2 / deviations), 0.5)

    @property
    def log_odds_factors(self) -> Reals:
        """By what the estimates minus one half are multiplied to be log odds under normal noise."""
        known = self.gains > 0
        return np.where(known, self.gains / np.where(known, self.variances, 1.0), 0.0)


def least_squares(design: Reals, deviation: float) -> LeastSquares:
    """Return the estimate from answers (rows) about bits (columns) with noise of this standard deviation."""
    weights = np.linalg.pinv(design, rcond=_SINGULAR)
    resolution = weights @ design
    gains = np.where(np.diag(resolution) > _SINGULAR, np.diag(resolution), 0.0)
    others = resolution - np.diag(np.diag(resolution))
    variances = (others**2).sum(axis=1) / 4 + deviation**2 * (weights**2).sum(axis=1)
    return LeastSquares(weights, gains, variances)
