"""The best attack of an informed attacker by the number of cells alone, where the counts do not matter."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.domains.locations.cell_exposure.score_distributions import GroupDraws, informed_score_laws
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory import gdp
from leakgauge.theory.characteristic_functions import FPR
from leakgauge.theory.loss_composition import AnyCell, best_attack
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell
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
    if numbers.size <= _MOST or isinstance(chain.noise, gaussian.Mechanism):
        low, high = _lower_and_upper(chain, numbers)
        return (low + high) / 2, float(np.max(high - low)) / 2
    values = _summed(chain, numbers)
    tried = np.unique(np.linspace(0, numbers.size - 1, _CHECKED).astype(np.int64))
    low, high = _lower_and_upper(chain, numbers[tried])
    return values, float(np.max(np.abs(values[:, tried] - (low + high) / 2)))


def _lower_and_upper(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, Reals]:
    """The same from below and from above."""
    match chain.noise:
        case gaussian.Mechanism(noise_scale=sigma) if not chain.round:
            mus = (np.sqrt(numbers) / sigma).tolist()
            exact = [(gdp.max_accuracy(mu), gdp.max_auc(mu), float(gdp.max_tpr(FPR, mu))) for mu in mus]
            return np.array(exact).T, np.array(exact).T
        case laplace.Mechanism(noise_scale=scale) if not chain.round:
            return _composed(LaplaceCell(1 / scale), numbers)
        case geometric.Mechanism(noise_scale=scale):
            return _composed(GeometricCell(1 / scale), numbers)
        case _:
            values, finer = (_summed(chain, numbers, more) for more in (1, 2))
            return np.minimum(values, finer), np.maximum(values, finer)


def _summed(chain: ReleaseChain, numbers: Ints, finer: int = 1) -> Reals:
    laws = informed_score_laws(chain, GroupDraws(1, 0, 0), np.zeros(1, dtype=np.int64))
    found = score_sum_rates(laws, csr_array(numbers[:, None]), finer=finer * _FINER)
    return np.stack([found.accuracy, found.auc, found.tpr])


def _composed(cell: AnyCell, numbers: Ints) -> tuple[Reals, Reals]:
    low, high = np.empty((2, 3, numbers.size))
    for i, n in enumerate(numbers.tolist()):
        best = best_attack([(cell, n)])
        ends = [best.accuracy, best.auc, tuple(map(float, best.tpr_at(FPR)))]
        low[:, i], high[:, i] = np.array(ends).T
    return low, high
