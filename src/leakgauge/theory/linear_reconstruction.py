"""Success of linear reconstruction: many secret bits from noisy sums over sets of them, by least squares.

Dinur and Nissim (2003): with noise of o(sqrt n), about n log^2 n questions reveal nearly all n bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import bmat, csr_array, eye_array
from scipy.special import ndtr

from leakgauge.core.arrays import Reals

_SINGULAR = 1e-10  # singular values below this share of the largest one count as zero


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares for bits x, which are fair coins, from the answers ``design`` x + noise.

    The estimate minus one half is ``weights`` (answers - design / 2). Its mean, given bit i and averaged over
    the others, is ``gains[i]`` (x_i - 1/2), and ``variances[i]`` is what the noise and the other bits add.
    Without a prior, and with at least as many independent questions as bits, gains are one, and only the
    noise is left.
    """

    weights: Reals  # bits x answers
    gains: Reals
    variances: Reals

    @property
    def recovery(self) -> Reals:
        """The probability that each estimate is on the right side of one half.

        Exact for Gaussian noise where gains are one, otherwise the normal limit of many questions and bits. A
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


def least_squares(design: Reals, deviation: float, *, prior_variance: float | None = None) -> LeastSquares:
    """Return the estimate from answers (rows) about bits (columns) with noise of this standard deviation.

    With a ``prior_variance`` of the bits about one half, the estimate is the best linear one: it also weighs
    that bits cannot be far from one half, which matters where there are about as many questions as bits.
    """
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    useful = singular > _SINGULAR * singular.max(initial=0.0)
    penalty = 0.0 if prior_variance is None else deviation**2 / prior_variance
    inverse = np.where(useful, singular, 0.0) / np.where(useful, singular**2 + penalty, 1.0)
    weights = (right.T * inverse) @ left.T
    resolution = weights @ design
    gains = np.where(np.diag(resolution) > _SINGULAR, np.diag(resolution), 0.0)
    others = resolution - np.diag(np.diag(resolution))
    variances = (others**2).sum(axis=1) / 4 + deviation**2 * (weights**2).sum(axis=1)
    return LeastSquares(weights, gains, variances)


def least_absolute(design: Any, answers: Reals) -> Reals:
    """Return the numbers from 0 to 1 with the least sum of absolute residuals: a linear program.

    Under Laplace noise of one scale this is the maximum likelihood.

    >>> least_absolute(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([1.1, 0.9])).round(3).tolist()
    [0.9, 0.2]
    """
    n_answers, n_bits = design.shape
    sums, slack = csr_array(design), eye_array(n_answers)
    rows = bmat([[sums, -slack], [-sums, -slack]], format="csr")
    cost = np.concatenate([np.zeros(n_bits), np.ones(n_answers)])
    bounds = [(0.0, 1.0)] * n_bits + [(0.0, None)] * n_answers
    solution = linprog(
        cost, A_ub=rows, b_ub=np.concatenate([answers, -answers]), bounds=bounds, method="highs"
    )
    if solution.x is None:
        raise RuntimeError(f"the linear program has no solution: {solution.message}")
    return np.asarray(solution.x[:n_bits])
