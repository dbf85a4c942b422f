"""L1-penalised logistic regression on very many columns, of which few get a weight."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.shadows.simulator import LabelledShadows, ShadowRows

Ints = npt.NDArray[np.int64]

_BLOCK_ENTRIES = 1 << 24  # numbers converted to float64 at a time
_SLACK = 1e-3  # tolerance of the optimality condition for columns outside the active set
_ROUGH, _EXACT = 1e-4, 1e-6  # tolerances of liblinear; its default 1e-4 alone stops 5 % above the optimum
_MAX_ADDED = 512  # columns added to the active set at a time


@dataclass(frozen=True, eq=False)
class SparseLinearModel:
    """A linear score of a few columns; its input has those columns only."""

    columns: Ints  # ascending
    weights: Reals
    offset: float

    def __call__(self, rows: ShadowRows) -> Reals:
        return np.asarray(rows @ self.weights + self.offset, dtype=np.float64)


def fit_l1_logistic(shadows: LabelledShadows, *, strength: float = 1.0) -> SparseLinearModel:
    """Fit an L1 logistic regression on columns scaled to mean 0 and variance 1.

    Minimises ``strength`` times the log loss plus the sum of absolute weights (the intercept is one of them),
    by liblinear (Fan et al. 2008), as Guan et al. (2024) do. To save memory and time it is solved for an
    active set of columns, which grows until no other column violates the optimality condition.
    """
    rows, members = shadows.rows, shadows.members
    if members.all() or not members.any():
        raise BadInput(
            "fit_l1_logistic needs shadows with the target and without it, got one kind only; draw more"
        )
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums must not depend on the number of threads
        return _fit(rows, members, strength)


def _fit(rows: ShadowRows, members: Bits, strength: float) -> SparseLinearModel:
    """Find the active set with a rough tolerance, then solve and extend it with the exact one."""
    scales = _scales(rows)
    truth = members.astype(np.float64)
    chosen = np.empty(0, dtype=np.int64)
    for tolerance in (_ROUGH, _EXACT):
        while True:
            model, logits = _solve(rows, members, scales, chosen, strength, tolerance)
            candidates = scales.useful.copy()
            candidates[chosen] = False
            added = _violating_columns(_slopes(rows, truth - expit(logits), scales), strength, candidates)
            if not added.size:
                break
            chosen = np.union1d(chosen, added)
    return model


@dataclass(frozen=True, eq=False)
class _Scales:
    """Mean and standard deviation of every column."""

    centre: Reals
    size: Reals

    @property
    def useful(self) -> Bits:
        return np.asarray(self.size > 0)


def _scales(rows: ShadowRows) -> _Scales:
    centre, size = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    step = max(1, _BLOCK_ENTRIES // len(rows))
    for first in range(0, rows.shape[1], step):
        columns = slice(first, first + step)
        block = rows[:, columns].astype(np.float64)
        centre[columns] = block.mean(axis=0)
        varies = (block != block[0]).any(axis=0)
        size[columns] = np.where(varies, block.std(axis=0), 0.0)
    return _Scales(centre, size)


def _slopes(rows: ShadowRows, residuals: Reals, scales: _Scales) -> Reals:
    """Return how fast the log loss falls with the weight of each column."""
    raw = (residuals.astype(rows.dtype) @ rows).astype(np.float64) - scales.centre * residuals.sum()
    return np.divide(raw, scales.size, out=np.zeros(raw.size), where=scales.useful)


def _violating_columns(slopes: Reals, strength: float, among: Bits) -> Ints:
    """Return columns whose weight cannot be zero: the loss falls faster than the penalty rises."""
    violating = np.flatnonzero(among & (strength * np.abs(slopes) > 1 + _SLACK))
    order = np.argsort(-np.abs(slopes[violating]), kind="stable")
    return np.sort(violating[order[:_MAX_ADDED]])


def _solve(
    rows: ShadowRows, members: Bits, scales: _Scales, chosen: Ints, strength: float, tolerance: float
) -> tuple[SparseLinearModel, Reals]:
    """Return the optimum over some columns, and its score of every row."""
    if not chosen.size:
        return SparseLinearModel(chosen, np.zeros(0), 0.0), np.zeros(len(rows))
    from sklearn.linear_model import LogisticRegression

    centre, size = scales.centre[chosen], scales.size[chosen]
    inputs = (rows[:, chosen].astype(np.float64) - centre) / size
    model = LogisticRegression(
        solver="liblinear", l1_ratio=1.0, C=strength, tol=tolerance, max_iter=10_000, random_state=0
    ).fit(inputs, members)
    weights = model.coef_[0]
    kept = weights != 0
    unscaled = weights[kept] / size[kept]
    offset = float(model.intercept_[0] - unscaled @ centre[kept])
    logits = np.asarray(model.decision_function(inputs), dtype=np.float64)
    return SparseLinearModel(chosen[kept], unscaled, offset), logits
