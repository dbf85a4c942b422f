"""The best possible attack on very many targets at once, each of whom moves noisy cells of many kinds.

What ``losses`` brackets for one target is found here for all of them, by the characteristic functions of the
losses: these are known in closed form, and their logarithms add up in one sparse product. A loss of a
non-member has the law of minus the loss of a member, so one world says everything.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.theory.characteristic_functions import (
    FPR,
    CharacteristicTable,
    Resolution,
    SummedScores,
    Waves,
)
from leakgauge.theory.score_sums import AttackRates

_TAIL = 16.0  # a probability of e^-16 = 1e-7 may lie outside of a period
_MARGIN = 0.025  # of a period, at both of its ends
_LEAST = 1e-9  # half of a period
_LADDER = float(np.sqrt(2.0))  # of periods: targets of about the same spread share one
_BLOCK = 2**20  # numbers in memory at once
_SMOOTH, _LUMPY = Resolution(96, 4, 5), Resolution(384, 2, 2)
_MANY = 5  # cells from which on losses may be smooth
_FINER, _FEW_KINDS, _FEW_TARGETS = (
    4,
    1000,
    10_000,
)  # lumps are told apart more finely where there is time for it


@dataclass(frozen=True, eq=False)
class LossKinds:
    """Kinds of cells: a whole shift under geometric noise of some rate, or a ratio under Laplace noise.

    ``shift`` is 0 for Laplace noise, whose ``rate`` is the shift in scales.
    """

    rate: Reals
    shift: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        if not ((self.rate > 0) & (self.rate < np.inf)).all():
            raise BadInput("every rate of a cell must be > 0 and finite; leave out cells that nobody moves")

    @property
    def largest(self) -> Reals:
        """The largest loss of each kind."""
        return self.rate * np.maximum(self.shift, 1)

    @property
    def variance(self) -> Reals:
        """The variance of a member's loss, or more."""
        laplace = np.minimum(self.rate**2, 4.0)
        return np.where(self.shift == 0, laplace, self.largest**2)

    @property
    def mean(self) -> Reals:
        """The mean of a member's loss, from the derivative of the logarithm of its moments."""
        laplace = self.rate + np.expm1(-self.rate)
        rate, shift = self.rate, np.maximum(self.shift, 1)
        fall = np.exp(-rate)
        ends = expit(rate) * shift * -np.expm1(-rate * shift)
        inner = np.tanh(rate / 2) * _inner_sum(fall, shift)
        return np.where(self.shift == 0, laplace, rate * (ends + inner))

    def waves(self, frequencies: Reals) -> Waves:
        """Characteristic functions of a member's loss: kinds x frequencies.

        Laplace: atoms of 1/2 at r and e^-r / 2 at -r, and e^((l - r) / 2) / 4 between. Geometric: atoms at
        rate (shift - 2 j), the inner ones tanh(rate / 2) e^(-rate j).
        """
        found = np.empty((self.rate.size, frequencies.size), dtype=np.complex128)
        laplace = self.shift == 0
        ratio = self.rate[laplace, None]
        up, down = np.exp(1j * ratio * frequencies), np.exp(-1j * ratio * frequencies - ratio)
        found[laplace] = (up + down) / 2 + (up - down) / (2 + 4j * frequencies)
        rate, shift = self.rate[~laplace, None], self.shift[~laplace, None]
        turn = np.exp(1j * rate * shift * frequencies)
        step = np.exp(-rate - 2j * rate * frequencies)
        ends = expit(rate) * (turn + np.exp(-rate * shift) / turn)
        inner = turn * step * (1 - step ** (shift - 1)) / (1 - step)
        found[~laplace] = ends + np.tanh(rate / 2) * inner
        return found


def loss_sum_rates(kinds: LossKinds, cells: csr_array, mu_squared: Reals) -> AttackRates:
    """What the best attack reaches against targets who move these cells: targets x kinds, how many of each.

    ``mu_squared`` is what Gaussian noise adds for each target: the squared shift in standard deviations.
    """
    n = cells.shape[0]
    found = AttackRates(np.full(n, 0.5), np.full(n, 0.5), np.full(n, FPR))
    numbers = np.asarray(cells.sum(axis=1), dtype=np.float64).ravel()
    some = np.flatnonzero((numbers > 0) | (mu_squared > 0))
    if not some.size:
        return found
    reach = _reach(kinds, cells[some], mu_squared[some]) * (1 + 2 * _MARGIN)
    rungs = np.ceil(np.log(2 * reach) / np.log(_LADDER)).astype(np.int64)
    few = (numbers[some] < _MANY) & (mu_squared[some] == 0)
    for rung in np.unique(rungs).tolist():
        chosen = some[rungs == rung]
        own, period = _joined(cells[chosen], mu_squared[chosen]), _LADDER**rung
        table = _table(kinds, period, _SMOOTH)
        lumps: Bits = few[rungs == rung] | table.lumpy(own)
        _fill(found, chosen, table, own, reach[rungs == rung], ~lumps)
        if lumps.any():
            time = kinds.rate.size <= _FEW_KINDS and np.count_nonzero(lumps) <= _FEW_TARGETS
            fine = _table(kinds, period, _LUMPY.finer(_FINER if time else 1))
            _fill(found, chosen, fine, own, reach[rungs == rung], lumps)
    return found


def _reach(kinds: LossKinds, cells: csr_array, mu_squared: Reals) -> Reals:
    """How far from zero losses lie in either world, all but e^-16 of them (Bernstein 1927)."""
    counts = cells.astype(np.float64)
    mean, variance, most = (counts @ column for column in (kinds.mean, kinds.variance, kinds.largest))
    widest = np.zeros(cells.shape[0])
    rows = np.flatnonzero(np.diff(cells.indptr))
    if rows.size:
        widest[rows] = np.maximum.reduceat(kinds.largest[cells.indices], cells.indptr[rows])
    linear = 2 * widest * _TAIL / 3
    bounded = np.minimum(most, mean + linear + np.sqrt(linear**2 + 2 * variance * _TAIL))
    normal = mu_squared / 2 + np.sqrt(mu_squared * 2 * _TAIL)
    return np.maximum(bounded + normal, _LEAST)


def _joined(cells: csr_array, mu_squared: Reals) -> csr_array:
    """The cells with a last kind for Gaussian noise, of which there may be any amount."""
    from scipy.sparse import hstack

    gaussian = csr_array(mu_squared.astype(np.float32)[:, None])
    return hstack([cells.astype(np.float32), gaussian], format="csr")


def _table(kinds: LossKinds, period: float, effort: Resolution) -> CharacteristicTable:
    frequencies = np.arange(1, effort.n + 1, dtype=np.float64) * (2 * np.pi / period)
    waves = kinds.waves(frequencies)
    size = np.vstack([np.log(np.maximum(np.abs(waves), 1e-30)), -(frequencies**2) / 2])
    angle = np.vstack([np.angle(waves), frequencies / 2])
    sure = np.zeros((len(size), 4))
    return CharacteristicTable(
        period, np.hstack([size, size, angle, -angle, sure]).astype(effort.dtype), effort
    )


def _fill(
    found: AttackRates,
    targets: npt.NDArray[np.intp],
    table: CharacteristicTable,
    cells: csr_array,
    reach: Reals,
    which: Bits,
) -> None:
    for block in _blocks(np.flatnonzero(which), table.columns.shape[1]):
        sums = SummedScores.of(table, np.asarray(cells[block] @ table.columns))
        rows = targets[block]
        found.accuracy[rows], found.auc[rows], found.tpr[rows] = sums.reach(-reach[block])


def _blocks(places: npt.NDArray[np.intp], width: int) -> Iterator[npt.NDArray[np.intp]]:
    size = max(1, _BLOCK // width)
    for first in range(0, places.size, size):
        yield places[first : first + size]


def _inner_sum(fall: Reals, shift: npt.NDArray[np.int64]) -> Reals:
    """The sum of (shift - 2 j) fall^j over j = 1 .. shift - 1, in closed form."""
    n, q = shift - 1, fall
    with np.errstate(under="ignore"):
        powers = q * (1 - q**n) / (1 - q)
        weighted = q * (1 - (n + 1) * q**n + n * q ** (n + 1)) / (1 - q) ** 2
    return np.asarray(shift * powers - 2 * weighted)
