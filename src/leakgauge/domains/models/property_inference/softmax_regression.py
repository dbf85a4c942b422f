"""Chances of kinds: a multinomial logistic regression that an adversary learns from rows of known kind."""

import warnings
from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.models.data.dataset import Ints

_MAX_STEPS = 300


@dataclass(frozen=True, eq=False)
class SoftmaxRegression:
    """Log chances that are linear in the columns, but for what makes them add up to one."""

    centre: Reals
    scale: float
    weights: Reals  # columns x kinds
    offsets: Reals

    def log_chances(self, columns: Reals) -> Reals:
        """Rows x kinds, all kinds being as likely beforehand."""
        logits = (columns - self.centre) / self.scale @ self.weights + self.offsets
        return logits - np.logaddexp.reduce(logits, axis=1)[:, None]

    def accuracy(self, columns: Reals, kinds: Ints) -> float:
        """The share of rows whose likeliest kind is the right one, the mean over kinds."""
        right = self.log_chances(columns).argmax(axis=1) == kinds
        return float(np.mean([right[kinds == kind].mean() for kind in np.unique(kinds)]))


def fit_softmax(columns: Reals, kinds: Ints, strength: float) -> SoftmaxRegression:
    """Learn from rows of kinds 0..K-1; kinds weigh the same, however many rows they have.

    Columns are centred, and brought to a mean squared length of one together, so that ``strength`` (the
    inverse of the ridge) means the same for few columns and for many.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    centre = columns.mean(axis=0)
    away = columns - centre
    scale = float(np.sqrt((away**2).sum(axis=1).mean())) or 1.0
    model = LogisticRegression(C=strength, class_weight="balanced", max_iter=_MAX_STEPS)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(away / scale, kinds)
    weights, offsets = model.coef_.T.astype(np.float64), model.intercept_.astype(np.float64)
    if weights.shape[1] == 1:  # of two kinds the library tells the second one's odds alone
        weights, offsets = np.column_stack([0 * weights, weights]), np.append(0.0, offsets)
    return SoftmaxRegression(centre, scale, weights, offsets)
