"""The least epsilon at a delta for very many targets, each of whom moves noisy cells of many kinds.

All targets get the epsilon of their Renyi divergences, which add up in one sparse product: never too small,
and up to a tenth too large. Tight composition takes its place for the targets with the largest of them, which
are all where there are few. Targets of about the same spread are composed together, on one lattice.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Reals
from leakgauge.theory.loss_composition import LATTICE_POINTS, AnyCell, epsilon_bounds
from leakgauge.theory.loss_sums import LossKinds, occurring_kinds
from leakgauge.theory.loss_tables import ORDERS, renyi_epsilons
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell, laplace_lattices
from leakgauge.theory.tilted_losses import sum_many_tilted, windows

MOST_TIGHT = 200  # targets that are composed tightly
ONE_BY_ONE = 400  # kinds of cells over all targets, up to which each target has a lattice of its own
# Points of a lattice for several targets of so many cells; more for more cells, as each is rounded up to it.
# Their epsilon is then too large by 0.01 to 0.04 %; with half as many points, for many kinds, by up to 0.1 %.
POINTS, USUAL_CELLS = 2**13, 100
MANY_KINDS = 1000
_ALIKE = 2.0  # a factor by which ranges and tilts of targets may differ that are composed together


def tight_epsilons(kinds: LossKinds, cells: csr_array, mu_squared: Reals, delta: float) -> Reals:
    """An epsilon for each target that holds at a delta, close to the least one.

    ``cells`` are targets x kinds: how many of each kind; ``mu_squared`` is what Gaussian noise adds.
    """
    epsilons = renyi_epsilons(_log_moments(kinds), cells, mu_squared, delta, _tail(kinds))
    rows = np.argsort(-epsilons, kind="stable")[:MOST_TIGHT]
    own, mus = cells[rows], np.sqrt(mu_squared[rows])
    alone = np.diff(own.indptr) == 0
    if own.nnz + rows.size > ONE_BY_ONE:
        together = np.flatnonzero(~alone)
        epsilons[rows[together]] = np.minimum(
            epsilons[rows[together]], _composed_together(kinds, own[together], mus[together], delta)
        )
    else:
        alone[:] = True
    for place in np.flatnonzero(alone).tolist():
        row, mu = int(rows[place]), float(mus[place])
        counted = [(cell_of(kinds, kind), int(n)) for kind, n in _entries(own, place)]
        if counted or mu > 0:
            epsilons[row] = min(epsilons[row], epsilon_bounds(counted, delta, mu).high)
    return epsilons


def _entries(cells: csr_array, row: int) -> Iterator[tuple[int, float]]:
    part = slice(int(cells.indptr[row]), int(cells.indptr[row + 1]))
    return zip(cells.indices[part].tolist(), cells.data[part].tolist())


def _composed_together(kinds: LossKinds, cells: csr_array, mus: Reals, delta: float) -> Reals:
    """An epsilon for each target by tight composition, from lattices that reveal no less than its cells.

    Targets share a lattice and a tilt if the ranges of their losses are of about the same size, and if Renyi
    divergences of about the same order are best for them.
    """
    kinds, cells = occurring_kinds(kinds, cells)
    counts = cells.astype(np.float64)
    counts.sum_duplicates()
    log_moments = _log_moments(kinds)
    paid = (ORDERS - 1) * np.log1p(-1 / ORDERS) - np.log(ORDERS) - np.log(delta)
    total = counts @ log_moments + np.multiply.outer(mus**2 / 2, ORDERS * (ORDERS - 1))
    order = np.argmin((total + paid) / (ORDERS - 1), axis=1)
    widest = np.maximum.reduceat(kinds.largest[counts.indices], counts.indptr[:-1])
    most, means, variances = (counts @ np.stack([kinds.largest, kinds.mean, kinds.variance], axis=1)).T
    low, high = windows(means, variances, widest, most, mus, 0.0)
    beyond = counts @ _tail(kinds)
    epsilons = np.where((mus == 0) & (beyond == 0), most, np.inf)
    tilts = ORDERS[order] - 1
    for rows in _similar(high - low, tilts):
        own_kinds, own = occurring_kinds(kinds, counts[rows])
        n_cells = float(own.sum(axis=1).max())
        points = min(LATTICE_POINTS, POINTS * max(1.0, np.sqrt(n_cells / USUAL_CELLS)))
        step = float((high - low)[rows].max()) / (points if len(own_kinds) <= MANY_KINDS else points / 2)
        tilt = float(np.median(tilts[rows]))
        sums = sum_many_tilted(partial(_lattices, own_kinds, step), own, mus[rows], step, tilt)
        for row, summed in zip(rows.tolist(), sums):
            if delta > beyond[row]:
                epsilons[row] = min(epsilons[row], summed.epsilon_above(delta - float(beyond[row])))
    return epsilons


def _similar(ranges: Reals, tilts: Reals) -> Iterator[npt.NDArray[np.intp]]:
    """Targets in groups, by rising range."""
    order = np.argsort(ranges, kind="stable")
    while order.size:
        first = order[0]
        near = (ranges[order] <= _ALIKE * ranges[first]) & (
            np.abs(np.log(tilts[order] / tilts[first])) <= np.log(_ALIKE)
        )
        yield order[near]
        order = order[~near]


def _lattices(kinds: LossKinds, step: float, block: slice) -> Reals:
    """The losses of some kinds on a lattice that reveals no less than they do: a row each."""
    which = np.arange(block.start, block.stop)
    laplace = which[which < kinds.rate.size]
    laplace = laplace[kinds.shift[laplace] == 0]
    laws = [cell_of(kinds, kind).pessimistic_lattice(step) for kind in np.setdiff1d(which, laplace).tolist()]
    together = laplace_lattices(kinds.rate[laplace], step) if laplace.size else np.zeros((0, 1))
    lattices = np.zeros((which.size, max([together.shape[1], *(law.size for law in laws)])))
    lattices[laplace - block.start, : together.shape[1]] = together
    for kind, law in zip(np.setdiff1d(which, laplace).tolist(), laws):
        lattices[kind - block.start, : law.size] = law
    return lattices


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
