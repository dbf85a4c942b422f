"""The best attack of an informed attacker by number of cells, for chains where the counts do not matter."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.domains.locations.cell_exposure.score_distributions import GroupDraws, informed_score_laws
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms._additive import AttackBounds
from leakgauge.theory.characteristic_functions import FPR
from leakgauge.theory.score_sums import AttackRates, score_sum_rates

_MOST = 72  # up to this many different numbers of cells, each optimum is bounded separately
_CHECKED = 7  # numbers of cells checked if there are more
_FINER = 8  # factor of the resolution


def informed_optimum_by_cells(chain: ReleaseChain, numbers: Ints) -> tuple[AttackRates, float]:
    """The rates of the best attack for each number of cells, and their maximum error.

    A chain that neither clamps nor suppresses shifts its output distribution with the count, so only the
    noise matters.
    """
    distinct = np.unique(numbers[numbers > 0])
    values, error = _values(chain, distinct) if distinct.size else (np.empty((3, 0)), 0.0)
    full = np.column_stack([[0.5, 0.5, FPR], values])
    rows = np.where(numbers > 0, np.searchsorted(distinct, numbers) + 1, 0)
    accuracy, auc, tpr = (column[rows] for column in full)
    return AttackRates(accuracy, auc, tpr), error


def _values(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, float]:
    """Accuracy, AUC and TPR: metrics x numbers of cells; and their maximum error."""
    if numbers.size <= _MOST or (chain.noise is not None and chain.noise.closed_form):
        low, high = _lower_and_upper(chain, numbers)
        return (low + high) / 2, float(np.max(high - low)) / 2
    values = _summed(chain, numbers)
    checked = np.unique(np.linspace(0, numbers.size - 1, _CHECKED).astype(np.int64))
    low, high = _lower_and_upper(chain, numbers[checked])
    return values, float(np.max(np.abs(values[:, checked] - (low + high) / 2)))


def _lower_and_upper(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, Reals]:
    """Lower and upper bounds of accuracy, AUC and TPR."""
    noise = chain.noise
    if noise is not None and (noise.lattice or not chain.round):
        bests = [noise.best_attack([(1.0, n)]) for n in numbers.tolist()]
        if None not in bests:
            ends = np.array([_ends(best) for best in bests if best is not None])
            return ends[:, :, 0].T, ends[:, :, 1].T
    values, finer = (_summed(chain, numbers, more) for more in (1, 2))
    return np.minimum(values, finer), np.maximum(values, finer)


def _summed(chain: ReleaseChain, numbers: Ints, finer: int = 1) -> Reals:
    laws = informed_score_laws(chain, GroupDraws(1, 0, 0), np.zeros(1, dtype=np.int64))
    rates = score_sum_rates(laws, csr_array(numbers[:, None]), finer=finer * _FINER)
    return np.stack([rates.accuracy, rates.auc, rates.tpr])


def _ends(best: AttackBounds) -> list[tuple[float, float]]:
    """Accuracy, AUC and TPR of the best attack, each with a lower and an upper bound."""
    below, above = map(float, best.tpr_at(FPR))
    return [best.accuracy, best.auc, (below, above)]
