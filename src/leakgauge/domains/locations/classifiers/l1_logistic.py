"""Logistic regression on very many columns, of which an L1 penalty keeps a few."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.shadows.shadow_releases import LabelledShadows, ShadowRows

Ints = npt.NDArray[np.int64]

_AT_ONCE = 1 << 24  # numbers converted to float64 at a time
_SLACK = 1e-3  # by which a column that was left out may break the optimum's condition
_ROUGH, _EXACT = 1e-4, 1e-6  # liblinear's tolerances; the usual 1e-4 alone stops 5 % above the optimum
_FURTHER = 512  # columns added at a time


@dataclass(frozen=True, eq=False)
class SparseLinearModel:
    """A straight score of a few columns; it is given those columns alone."""

    columns: Ints  # rising
    weights: Reals
    offset: float

    def __call__(self, rows: ShadowRows) -> Reals:
        return np.asarray(rows @ self.weights + self.offset, dtype=np.float64)


def fit_l1_logistic(shadows: LabelledShadows, *, strength: float = 1.0) -> SparseLinearModel:
    """Fit on columns brought to mean 0 and variance 1; the scales come from these rows alone.

    Minimises ``strength`` times the log loss plus the sum of absolute weights (the intercept is one of them),
    by liblinear (Fan et al. 2008), as Guan et al. (2024) do. To save memory and time it is solved for the
    columns that promise most, and again with others as long as the optimum's condition fails for any of them.
    """
    rows, members = shadows.rows, shadows.members
    if members.all() or not members.any():
        raise BadInput("a classifier needs shadows with the target and without; draw more of them")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums must not depend on how many threads there are
        return _fit(rows, members, strength)


def _fit(rows: ShadowRows, members: Bits, strength: float) -> SparseLinearModel:
    """Find roughly which columns need a weight; then solve exactly, with what was overlooked."""
    scales = _scales(rows)
    truth = members.astype(np.float64)
    chosen = np.empty(0, dtype=np.int64)
    for tolerance in (_ROUGH, _EXACT):
        while True:
            line, logits = _solve(rows, members, scales, chosen, strength, tolerance)
            left = scales.useful.copy()
            left[chosen] = False
            further = _most_urgent(_slopes(rows, truth - expit(logits), scales), strength, left)
            if not further.size:
                break
            chosen = np.union1d(chosen, further)
    return line


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
    step = max(1, _AT_ONCE // len(rows))
    for first in range(0, rows.shape[1], step):
        columns = slice(first, first + step)
        block = rows[:, columns].astype(np.float64)
        centre[columns] = block.mean(axis=0)
        varies = (block != block[0]).any(axis=0)
        size[columns] = np.where(varies, block.std(axis=0), 0.0)
    return _Scales(centre, size)


def _slopes(rows: ShadowRows, rest: Reals, scales: _Scales) -> Reals:
    """How fast the log loss falls with the weight of each column."""
    raw = (rest.astype(rows.dtype) @ rows).astype(np.float64) - scales.centre * rest.sum()
    return np.divide(raw, scales.size, out=np.zeros(raw.size), where=scales.useful)


def _most_urgent(slopes: Reals, strength: float, among: Bits) -> Ints:
    """The columns whose weight cannot stay zero: the loss falls faster there than the penalty rises."""
    urgent = np.flatnonzero(among & (strength * np.abs(slopes) > 1 + _SLACK))
    order = np.argsort(-np.abs(slopes[urgent]), kind="stable")
    return np.sort(urgent[order[:_FURTHER]])


def _solve(
    rows: ShadowRows, members: Bits, scales: _Scales, chosen: Ints, strength: float, tolerance: float
) -> tuple[SparseLinearModel, Reals]:
    """The optimum over some columns, and its score of every row."""
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
    plain = weights[kept] / size[kept]
    offset = float(model.intercept_[0] - plain @ centre[kept])
    logits = np.asarray(model.decision_function(inputs), dtype=np.float64)
    return SparseLinearModel(chosen[kept], plain, offset), logits
