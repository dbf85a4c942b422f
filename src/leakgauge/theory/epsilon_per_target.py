"""The least epsilon at a delta for very many targets, each of whom moves noisy cells of many kinds.

All targets get the epsilon of their Renyi divergences, which add up in one sparse product: never too small,
and up to a tenth too large. Tight composition takes its place for the targets with the largest of them, which
are all where there are few.
"""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.game import Reals
from leakgauge.theory.loss_composition import AnyCell, epsilon_bounds
from leakgauge.theory.loss_sums import LossKinds
from leakgauge.theory.loss_tables import ORDERS, renyi_epsilons
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell

MOST_TIGHT = 200  # targets that are composed tightly
_FEW = 100  # targets up to which the lattice is the finest
_COARSE = 2**14  # points of a lattice where there are more


def tight_epsilons(kinds: LossKinds, cells: csr_array, mu_squared: Reals, delta: float) -> Reals:
    """An epsilon for each target that holds at a delta, close to the least one.

    ``cells`` are targets x kinds: how many of each kind; ``mu_squared`` is what Gaussian noise adds.
    """
    epsilons = renyi_epsilons(_log_moments(kinds), cells, mu_squared, delta, _tail(kinds))
    points = None if epsilons.size <= _FEW else _COARSE
    for row in np.argsort(-epsilons, kind="stable")[:MOST_TIGHT].tolist():
        own = cells[[row]]
        counted = [(cell_of(kinds, kind), int(n)) for kind, n in zip(own.indices.tolist(), own.data.tolist())]
        mu = float(np.sqrt(mu_squared[row]))
        if counted or mu > 0:
            epsilons[row] = min(epsilons[row], epsilon_bounds(counted, delta, mu, points=points).high)
    return epsilons


def cell_of(kinds: LossKinds, kind: int) -> AnyCell:
    """The privacy loss of one kind of cell."""
    if kind >= kinds.rate.size:
        return kinds.tabulated.cells[kind - kinds.rate.size]
    rate, shift = float(kinds.rate[kind]), int(kinds.shift[kind])
    return GeometricCell(rate, shift) if shift else LaplaceCell(rate)


def _log_moments(kinds: LossKinds) -> Reals:
    """The log of the mean of e^((order - 1) loss) for a member: kinds x orders.

    Laplace (Mironov 2017, table II): order / (2 order - 1) e^((order - 1) r) + (order - 1) / (2 order - 1)
    e^(-order r). Geometric: atoms at rate (shift - 2 j), the inner ones a geometric series.
    """
    logs = np.empty((kinds.rate.size, ORDERS.size))
    rise = ORDERS - 1
    laplace = kinds.shift == 0
    ratio = kinds.rate[laplace, None]
    logs[laplace] = np.logaddexp(
        rise * ratio + np.log(ORDERS / (ORDERS + rise)), np.log(rise / (ORDERS + rise)) - ORDERS * ratio
    )
    rate, shift = kinds.rate[~laplace, None], kinds.shift[~laplace, None]
    top = rise * rate * shift
    fall = -rate * (ORDERS + rise)
    ends = np.logaddexp(top, -rate * shift - top) - np.log1p(np.exp(-rate))
    with np.errstate(divide="ignore"):
        inner = fall + np.log(-np.expm1(fall * (shift - 1))) - np.log(-np.expm1(fall))
    logs[~laplace] = np.logaddexp(ends, np.log(np.tanh(rate / 2)) + top + inner)
    return np.vstack([np.maximum(logs, 0.0), kinds.tabulated.log_moments])


def _tail(kinds: LossKinds) -> Reals:
    """The probability that each kind may have beyond its table."""
    return np.append(np.zeros(kinds.rate.size), kinds.tabulated.tails)
