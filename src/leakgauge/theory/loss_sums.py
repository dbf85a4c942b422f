"""The best possible attack on very many targets at once, each of whom moves noisy cells of many kinds.

``loss_composition`` encloses the rates for one target; here they are computed for all of them, by the
characteristic functions of the losses: these are known in closed form or from a table, and their logarithms
add up in one sparse product. The loss of a non-member is distributed as minus the loss of a member, so that
one world is enough.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.theory import score_sums
from leakgauge.theory.characteristic_functions import CharacteristicTable, Resolution, Waves
from leakgauge.theory.loss_tables import LossTables

_LEAST = 1e-9  # half of a period
_BLOCK = 2**20  # numbers in memory at once
_FINER = 4  # times as many frequencies for losses on few values, where kinds and targets are few
_FEW_KINDS, _FEW_TARGETS = 1000, 10_000


@dataclass(frozen=True, eq=False)
class LossKinds:
    """Kinds of cells: a whole shift under geometric noise of some rate, or a ratio under Laplace noise.

    ``shift`` is 0 for Laplace noise, whose ``rate`` is the shift in scales. Cells of other noise come after
    these, ``tabulated``.
    """

    rate: Reals
    shift: npt.NDArray[np.int64]
    tabulated: LossTables = field(default_factory=lambda: LossTables.of(()))

    def __post_init__(self) -> None:
        if not ((self.rate > 0) & (self.rate < np.inf)).all():
            raise BadInput(
                "every rate of a cell must be > 0 and finite; leave out cells that no target changes"
            )

    def __len__(self) -> int:
        return int(self.rate.size) + len(self.tabulated.cells)

    def only(self, which: npt.NDArray[np.intp]) -> "LossKinds":
        """Some of the kinds, in rising order."""
        plain, apart = which[which < self.rate.size], which[which >= self.rate.size] - self.rate.size
        return LossKinds(self.rate[plain], self.shift[plain], self.tabulated.only(apart.tolist()))

    @cached_property
    def largest(self) -> Reals:
        """The largest loss of each kind."""
        return np.append(self.rate * np.maximum(self.shift, 1), self.tabulated.largest)

    @cached_property
    def variance(self) -> Reals:
        """The variance of a member's loss, or an upper bound of it."""
        laplace = np.minimum(self.rate**2, 4.0)
        geometric = self.largest[: self.rate.size] ** 2
        return np.append(np.where(self.shift == 0, laplace, geometric), self.tabulated.variance)

    @cached_property
    def mean(self) -> Reals:
        """The mean of a member's loss, from the derivative of the logarithm of its moments."""
        laplace = self.rate + np.expm1(-self.rate)
        rate, shift = self.rate, np.maximum(self.shift, 1)
        fall = np.exp(-rate)
        ends = expit(rate) * shift * -np.expm1(-rate * shift)
        inner = np.tanh(rate / 2) * _inner_sum(fall, shift)
        known = np.where(self.shift == 0, laplace, rate * (ends + inner))
        return np.append(known, self.tabulated.mean)

    def waves(self, frequency: float, n: int) -> Waves:
        """Characteristic functions of a member's loss: kinds x the first ``n`` multiples of a frequency.

        Laplace: atoms of 1/2 at r and e^-r / 2 at -r, and e^((l - r) / 2) / 4 between. Geometric: atoms at
        rate (shift - 2 j), the inner ones tanh(rate / 2) e^(-rate j).
        """
        frequencies = np.arange(1, n + 1, dtype=np.float64) * frequency
        values = np.empty((self.rate.size, n), dtype=np.complex128)
        laplace = self.shift == 0
        up = _turns(self.rate[laplace] * frequency, n)
        share = 0.5 + 1 / (2 + 4j * frequencies)
        down = np.conj(up) * np.exp(-self.rate[laplace, None])
        up *= share
        down *= 1 - share
        up += down
        values[laplace] = up
        rate, shift = self.rate[~laplace, None], self.shift[~laplace, None]
        turn = np.exp(1j * rate * shift * frequencies)
        step = np.exp(-rate - 2j * rate * frequencies)
        ends = expit(rate) * (turn + np.exp(-rate * shift) / turn)
        inner = turn * step * (1 - step ** (shift - 1)) / (1 - step)
        values[~laplace] = ends + np.tanh(rate / 2) * inner
        return np.vstack([values, self.tabulated.waves(frequencies)])


def loss_sum_rates(
    kinds: LossKinds, cells: csr_array, mu_squared: Reals, *, finer: int = 1
) -> score_sums.AttackRates:
    """The rates of the best attack against targets who move these cells.

    ``cells`` are targets x kinds: how many cells of each kind. ``mu_squared`` is what Gaussian noise adds for
    each target: the squared shift in standard deviations. ``finer`` multiplies the number of frequencies.
    """
    rates = score_sums.AttackRates.of_chance(cells.shape[0])
    numbers = np.asarray(cells.sum(axis=1), dtype=np.float64).ravel()
    some = np.flatnonzero((numbers > 0) | (mu_squared > 0))
    if not some.size:
        return rates
    reach = _reach(kinds, cells[some], mu_squared[some]) * (1 + 2 * score_sums.MARGIN)
    powers = np.ceil(np.log(2 * reach) / np.log(score_sums.PERIOD_RATIO)).astype(np.int64)
    few_cells = (numbers[some] < score_sums.FEWEST_SMOOTH) & (mu_squared[some] == 0)
    for power in np.unique(powers).tolist():
        rows, period = powers == power, score_sums.PERIOD_RATIO**power
        occurring, counts = occurring_kinds(kinds, cells[some[rows]])
        own = _joined(counts, mu_squared[some[rows]])
        gaussian = bool(mu_squared[some[rows]].any())
        table = _table(occurring, period, score_sums.SMOOTH.finer(finer), gaussian=gaussian)
        lumps: Bits = few_cells[rows]
        lumps |= rates.fill(some[rows], table, own, -reach[rows], ~lumps, _BLOCK, skip_lumpy=True)
        if lumps.any():
            few = len(kinds) <= _FEW_KINDS and np.count_nonzero(lumps) <= _FEW_TARGETS
            lumpy = score_sums.LUMPY.finer(finer * (_FINER if few else 1))
            fine = _table(occurring, period, lumpy, gaussian=gaussian)
            rates.fill(some[rows], fine, own, -reach[rows], lumps, _BLOCK)
    return rates


def occurring_kinds(kinds: LossKinds, cells: csr_array) -> tuple[LossKinds, csr_array]:
    """The kinds of which there are any cells, and the cells as targets x these kinds."""
    occurs = np.zeros(cells.shape[1], dtype=bool)
    occurs[cells.indices] = True
    if occurs.all() or not occurs.any():
        return kinds, cells
    places = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    which = np.flatnonzero(occurs)
    own = csr_array((cells.data, places[cells.indices], cells.indptr), shape=(cells.shape[0], which.size))
    return kinds.only(which), own


def _reach(kinds: LossKinds, cells: csr_array, mu_squared: Reals) -> Reals:
    """How far from zero losses lie in either world, except for e^-16 of them (Bernstein 1927)."""
    mean, variance, most = (cells @ np.stack([kinds.mean, kinds.variance, kinds.largest], axis=1)).T
    widest = np.zeros(cells.shape[0])
    rows = np.flatnonzero(np.diff(cells.indptr))
    if rows.size:
        widest[rows] = np.maximum.reduceat(kinds.largest[cells.indices], cells.indptr[rows])
    linear = 2 * widest * score_sums.TAIL_EXPONENT / 3
    bounded = np.minimum(most, mean + linear + np.sqrt(linear**2 + 2 * variance * score_sums.TAIL_EXPONENT))
    normal = mu_squared / 2 + np.sqrt(mu_squared * 2 * score_sums.TAIL_EXPONENT)
    return np.maximum(bounded + normal, _LEAST)


def _joined(cells: csr_array, mu_squared: Reals) -> csr_array:
    """The cells with a last kind for Gaussian noise, of which there may be any amount, if there is any."""
    from scipy.sparse import hstack

    if not mu_squared.any():
        return cells.astype(np.float32)
    gaussian = csr_array(mu_squared.astype(np.float32)[:, None])
    return hstack([cells.astype(np.float32), gaussian], format="csr")


def _table(kinds: LossKinds, period: float, resolution: Resolution, *, gaussian: bool) -> CharacteristicTable:
    waves = kinds.waves(2 * np.pi / period, resolution.n)
    size = np.log(np.maximum(waves.real**2 + waves.imag**2, 1e-60)) / 2
    angle = np.angle(waves)
    if gaussian:
        frequencies = np.arange(1, resolution.n + 1, dtype=np.float64) * (2 * np.pi / period)
        size, angle = np.vstack([size, -(frequencies**2) / 2]), np.vstack([angle, frequencies / 2])
    columns = np.hstack([size, angle]).astype(resolution.dtype)
    return CharacteristicTable(period, columns, resolution, mirrored=True)


def _turns(angles: Reals, n: int) -> Waves:
    """e^(i k angle) for k = 1 .. n, a row for each angle: products of few exponentials, as these are slow."""
    width = max(1, round(np.sqrt(n)))
    near = np.exp(1j * np.multiply.outer(angles, np.arange(1, width + 1)))
    far = np.exp(1j * np.multiply.outer(angles, np.arange(0, n, width)))
    shape = angles.size, far.shape[1] * width
    return (far[:, :, None] * near[:, None, :]).reshape(shape)[:, :n]


def _inner_sum(fall: Reals, shift: npt.NDArray[np.int64]) -> Reals:
    """The sum of (shift - 2 j) fall^j over j = 1 .. shift - 1, in closed form."""
    n, q = shift - 1, fall
    with np.errstate(under="ignore"):
        powers = q * (1 - q**n) / (1 - q)
        weighted = q * (1 - (n + 1) * q**n + n * q ** (n + 1)) / (1 - q) ** 2
    return np.asarray(shift * powers - 2 * weighted)
