"""What somebody who knows all other records reaches against each, from the answers that contain it."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.domains.queries.log.signatures import Signatures
from leakgauge.domains.queries.records import Ints
from leakgauge.theory.cells import Geometric, Laplace
from leakgauge.theory.inversion import FPR
from leakgauge.theory.loss_sums import reached
from leakgauge.theory.losses import AnyCell
from leakgauge.theory.losses import best_attack as bracket
from leakgauge.theory.score_sums import Reached

_ONE_BY_ONE = 400  # kinds of cells, of all signatures together, up to which each is bracketed
_STEEPEST = float(np.log(1 / FPR))  # hits of e^shift x 1 % grow so fast with the shift, and nothing faster
_CHECKED = 12  # signatures that are bracketed besides, where there are more


def best_attack(found: Signatures) -> tuple[Reached, float]:
    """For each record: accuracy, AUC and TPR at 1 % FPR; and how far any of them may be off.

    Few signatures are bracketed from both sides, and the error is half of the widest bracket. Many are
    computed by characteristic functions; a few of them are bracketed too, and the error is the largest
    difference.
    """
    n = found.cells.shape[0]
    if found.cells.nnz + n <= _ONE_BY_ONE:
        low, high = _bracketed(found, np.arange(n))
        values, error = (low + high) / 2, float(np.max(high - low)) / 2
    else:
        many = reached(found.kinds, found.cells, found.mu_squared)
        values = np.stack([many.accuracy, many.auc, many.tpr])
        some = _spread(found.kinds.largest @ found.cells.T + found.mu_squared)
        low, high = _bracketed(found, some)
        error = float(np.max(np.maximum(values[:, some] - low, high - values[:, some])))
    error += _STEEPEST * found.rounded
    accuracy, auc, tpr = values[:, found.which]
    return Reached(accuracy, auc, tpr), error


def _spread(sizes: Reals) -> Ints:
    order = np.argsort(sizes, kind="stable")
    return order[np.unique(np.linspace(0, order.size - 1, _CHECKED).astype(np.int64))]


def _bracketed(found: Signatures, which: Ints) -> tuple[Reals, Reals]:
    """The three numbers of some signatures, from below and from above."""
    low, high = np.empty((2, 3, which.size))
    for place, row in enumerate(which.tolist()):
        cells, mu = _cells(found, found.cells[[row]]), float(np.sqrt(found.mu_squared[row]))
        if not cells and mu == 0:
            low[:, place] = high[:, place] = (0.5, 0.5, FPR)
            continue
        best = bracket(cells, mu)
        ends = [best.accuracy, best.auc, tuple(map(float, best.tpr_at(FPR)))]
        low[:, place], high[:, place] = np.array(ends).T
    return low, high


def _cells(found: Signatures, row: csr_array) -> list[tuple[AnyCell, int]]:
    rates, shifts = found.kinds.rate[row.indices].tolist(), found.kinds.shift[row.indices].tolist()
    kinds = [Geometric(rate, shift) if shift else Laplace(rate) for rate, shift in zip(rates, shifts)]
    return list(zip(kinds, map(int, row.data.tolist()), strict=True))
