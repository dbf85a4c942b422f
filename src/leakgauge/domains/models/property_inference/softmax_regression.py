"""Multinomial logistic regression, which an attacker fits to rows of known component."""

import warnings
from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.models.data.dataset import Ints

_MAX_STEPS = 300


@dataclass(frozen=True, eq=False)
class SoftmaxRegression:
    """Log-probabilities of components by a linear model with a softmax."""

    centre: Reals
    scale: float
    weights: Reals  # columns x kinds
    offsets: Reals

    def log_probabilities(self, columns: Reals) -> Reals:
        """Rows x components, which are equally likely beforehand."""
        logits = (columns - self.centre) / self.scale @ self.weights + self.offsets
        return logits - np.logaddexp.reduce(logits, axis=1)[:, None]

    def accuracy(self, columns: Reals, kinds: Ints) -> float:
        """The share of rows whose most probable component is the right one, averaged over components."""
        right = self.log_probabilities(columns).argmax(axis=1) == kinds
        return float(np.mean([right[kinds == kind].mean() for kind in np.unique(kinds)]))


def fit_softmax(columns: Reals, kinds: Ints, strength: float) -> SoftmaxRegression:
    """Fit to rows of components 0..K-1, which weigh the same, however many rows they have.

    Columns are centred and scaled to a mean squared row length of one, so that ``strength`` (the inverse of
    the ridge penalty) has the same meaning for few and for many columns.
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
    if weights.shape[1] == 1:  # for two components the library returns only the weights of the second
        weights, offsets = np.column_stack([0 * weights, weights]), np.append(0.0, offsets)
    return SoftmaxRegression(centre, scale, weights, offsets)
