"""The best attack of an informed attacker by the number of cells alone, where the counts do not matter."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.domains.locations.cell_exposure.score_distributions import GroupDraws, informed_score_laws
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms._additive import AttackBounds
from leakgauge.theory.characteristic_functions import FPR
from leakgauge.theory.score_sums import AttackRates, score_sum_rates

_MOST = 72  # numbers of cells whose optimum is bracketed one by one
_CHECKED = 7  # of more than those
_FINER = 8


def informed_optimum_by_cells(chain: ReleaseChain, numbers: Ints) -> tuple[AttackRates, float]:
    """For each of these numbers of cells; and how far the values may be off.

    A chain that neither clamps nor suppresses moves its law with the count, so that all that is left of a
    cell is the noise.
    """
    distinct = np.unique(numbers[numbers > 0])
    values, error = _values(chain, distinct) if distinct.size else (np.empty((3, 0)), 0.0)
    full = np.column_stack([[0.5, 0.5, FPR], values])
    rows = np.where(numbers > 0, np.searchsorted(distinct, numbers) + 1, 0)
    accuracy, auc, tpr = (column[rows] for column in full)
    return AttackRates(accuracy, auc, tpr), error


def _values(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, float]:
    """Accuracy, AUC and TPR: metrics x numbers of cells; and how far they may be off."""
    if numbers.size <= _MOST or (chain.noise is not None and chain.noise.closed_form):
        low, high = _lower_and_upper(chain, numbers)
        return (low + high) / 2, float(np.max(high - low)) / 2
    values = _summed(chain, numbers)
    tried = np.unique(np.linspace(0, numbers.size - 1, _CHECKED).astype(np.int64))
    low, high = _lower_and_upper(chain, numbers[tried])
    return values, float(np.max(np.abs(values[:, tried] - (low + high) / 2)))


def _lower_and_upper(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, Reals]:
    """The same from below and from above."""
    noise = chain.noise
    if noise is not None and (noise.lattice or not chain.round):
        found = [noise.best_attack([(1.0, n)]) for n in numbers.tolist()]
        if None not in found:
            ends = np.array([_ends(best) for best in found if best is not None])
            return ends[:, :, 0].T, ends[:, :, 1].T
    values, finer = (_summed(chain, numbers, more) for more in (1, 2))
    return np.minimum(values, finer), np.maximum(values, finer)


def _summed(chain: ReleaseChain, numbers: Ints, finer: int = 1) -> Reals:
    laws = informed_score_laws(chain, GroupDraws(1, 0, 0), np.zeros(1, dtype=np.int64))
    found = score_sum_rates(laws, csr_array(numbers[:, None]), finer=finer * _FINER)
    return np.stack([found.accuracy, found.auc, found.tpr])


def _ends(best: AttackBounds) -> list[tuple[float, float]]:
    """Accuracy, AUC and TPR of the best attack, each from below and from above."""
    below, above = map(float, best.tpr_at(FPR))
    return [best.accuracy, best.auc, (below, above)]
