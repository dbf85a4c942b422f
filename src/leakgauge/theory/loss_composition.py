"""The best possible attack on many noisy cells: tight composition by the privacy loss distribution.

The losses of independent cells add up. The distribution of their sum is computed twice, on a lattice that
reveals no less and on one that reveals no more; the truth lies between, up to the rounding error of the
Fourier transform (1e-12). The bounds of epsilon take that error into account (``tilted_losses``).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import TradeoffCurve
from leakgauge.theory import gdp, tilted_losses, tradeoff
from leakgauge.theory.privacy_loss import NORMAL_TAIL, GeometricCell, LaplaceCell, NoisyCell, bernstein_window

AnyCell: TypeAlias = NoisyCell
CellCounts: TypeAlias = tuple[tuple[AnyCell, int], ...]

LATTICE_POINTS = 2**17
CURVE_CORNERS = 2000  # of half a curve
MOST_LAPLACE_KINDS = 128  # where there are more, Laplace cells of nearly equal shift are treated as equal


def sum_losses(laws: Sequence[tuple[Reals, int]], mu: float, step: float) -> tradeoff.PositiveLosses:
    """Add up independent losses: each lattice distribution ``n`` times, and a Gaussian loss of ``mu``.

    Without a Gaussian part the bins of the result are atoms on the lattice.
    """
    low, high = bernstein_window([(*_moments(law, step), n) for law, n in laws], mu)
    if sum(n for _, n in laws) == 1 and mu == 0:
        return _atoms(laws[0][0][1:], 1, step)
    first, last = floor(low / step) - 1, ceil(high / step) + 1
    size = fast_length(last - first + 1)
    transform = np.fft.rfft(_gaussian(mu, step, size)) if mu > 0 else np.ones(size // 2 + 1, dtype=complex)
    for law, n in laws:
        transform *= tilted_losses.whole_power(np.fft.rfft(_both_sides(law, step, size)), n)
    total = np.maximum(np.fft.irfft(transform, size), 0.0)
    if mu == 0:
        last = min(last, sum(n * (law.size - 1) for law, n in laws))
        return _atoms(total[np.arange(max(first, 1), last + 1) % size], max(first, 1), step)
    return _bins(total, max(first, 0), last, first, step)


def fast_length(n: int) -> int:
    """The smallest length >= n without prime factors above 5, whose Fourier transform is fast.

    So is that of SciPy, which takes longer to load than most sums take.

    >>> fast_length(1021)
    1024
    """
    best = 1 << (n - 1).bit_length()
    five = 1
    while five < best:
        odd = five
        while odd < best:
            best = min(best, odd << (-(-n // odd) - 1).bit_length())
            odd *= 3
        five *= 5
    return best


def _atoms(members: Reals, first: int, step: float) -> tradeoff.PositiveLosses:
    losses: Reals = step * np.arange(first, first + members.size, dtype=np.float64)[::-1]
    return tradeoff.PositiveLosses(losses, losses, members[::-1], members[::-1] * np.exp(-losses))


def _bins(total: Reals, first: int, last: int, lowest: int, step: float) -> tradeoff.PositiveLosses:
    """Bins [j step, (j + 1) step); the mirror image of a bin holds its probability for a non-member."""
    places = np.arange(first, last + 1)[::-1]
    members = total[places % total.size]
    most = members * np.exp(-step * places)
    mirror = np.where(-1 - places >= lowest, total[(-1 - places) % total.size], 0.0)
    others = np.clip(mirror, most * np.exp(-step), most)
    low: Reals = step * places.astype(np.float64)
    return tradeoff.PositiveLosses(low, low + step, members, others)


def _both_sides(law: Reals, step: float, size: int) -> Reals:
    places = np.arange(law.size)
    circle = np.zeros(size)
    np.add.at(circle, places % size, law)
    np.add.at(circle, -places[1:] % size, law[1:] * np.exp(-step * places[1:]))
    return circle


def _gaussian(mu: float, step: float, size: int) -> Reals:
    """Probabilities, for a member, of the bins [j step, (j + 1) step) of a loss N(mu^2 / 2, mu^2)."""
    low, high = (floor(mu * (mu / 2 + side * NORMAL_TAIL) / step) for side in (-1, 1))
    places: npt.NDArray[np.int64] = np.arange(low, high + 2)
    edges = step * places / mu - mu / 2
    upper = edges[:-1] > 0  # differences of small numbers, not of numbers near 1
    masses = np.where(upper, -np.diff(scipy.special.ndtr(-edges)), np.diff(scipy.special.ndtr(edges)))
    circle = np.zeros(size)
    np.add.at(circle, places[:-1] % size, masses)
    return circle


def _moments(law: Reals, step: float) -> tuple[float, float, float]:
    losses = step * np.arange(law.size)
    mirror = np.exp(-losses)
    mean = float(losses @ (law * (1 - mirror)))
    return mean, max(0.0, float(losses**2 @ (law * (1 + mirror))) - mean**2), float(losses[-1])


@dataclass(frozen=True, eq=False)
class BestAttack:
    """Lower and upper bounds of the trade-off of the best possible attack; no attack exceeds ``high``."""

    low: TradeoffCurve
    high: TradeoffCurve

    @property
    def accuracy(self) -> tuple[float, float]:
        """Balanced accuracy: its lower and its upper bound."""
        return tradeoff.max_accuracy(self.low), tradeoff.max_accuracy(self.high)

    @property
    def auc(self) -> tuple[float, float]:
        """Area under the ROC curve: its lower and its upper bound."""
        return tradeoff.max_auc(self.low), tradeoff.max_auc(self.high)

    def tpr_at(self, fpr: npt.ArrayLike) -> tuple[Reals, Reals]:
        """True-positive rate at a false-positive rate: its lower and its upper bound."""
        return tradeoff.max_tpr(fpr, self.low), tradeoff.max_tpr(fpr, self.high)


def best_attack(cells: Iterable[tuple[AnyCell, int]] = (), mu: float = 0.0) -> BestAttack:
    """The best attack on a target who moves these cells: each kind with its number; ``mu`` of Gaussian noise.

    >>> low, high = best_attack([(LaplaceCell(0.5), 20)]).accuracy
    >>> round(low, 4), round(high, 4)
    (0.8509, 0.8509)
    """
    return _best_attack(_counted(cells), float(mu))


def _counted(cells: Iterable[tuple[AnyCell, int]]) -> CellCounts:
    counts: Counter[AnyCell] = Counter()
    for cell, n in cells:
        if not (n >= 0 and n == int(n)):
            raise BadInput(f"{cell}: the number of cells must be a whole number >= 0, got {n}")
        counts[cell] += int(n)
    used = [(cell, n) for cell, n in counts.items() if n]
    # By repr: GeometricCell, LaplaceCell, ResponseCell. The order of the products decides the last digits.
    return tuple(sorted(used, key=repr))


@dataclass(frozen=True)
class EpsilonBounds:
    """The least epsilon that holds at a delta, from below and from above."""

    low: float
    high: float


def epsilon_bounds(
    cells: Iterable[tuple[AnyCell, int]], delta: float, mu: float = 0.0, *, points: int | None = None
) -> EpsilonBounds:
    """The least epsilon at a delta of all these cells together; ``mu`` of Gaussian noise besides.

    Fewer ``points`` of the lattice are quicker, and leave the bounds farther apart. Otherwise they agree to
    1e-5 or better in most cases. Without delta, the sum of the largest losses.

    >>> bounds = epsilon_bounds([(LaplaceCell(0.5), 20)], 1e-6)
    >>> round(bounds.low, 3), round(bounds.high, 3)
    (9.671, 9.671)
    """
    if not 0 <= delta < 1:
        raise BadInput(f"delta must be in [0, 1), got {delta}")
    groups = _counted(cells)
    beyond = sum(n * cell.beyond for cell, n in groups)
    pure = float(sum(n * cell.largest for cell, n in groups)) if mu == 0 and beyond == 0 else np.inf
    if delta == 0:
        return EpsilonBounds(pure, pure)
    if not groups:
        exact = gdp.epsilon_at(mu, delta) if mu > 0 else 0.0
        return EpsilonBounds(exact, exact)
    fewer, more, step = _bracketing_laws(groups, mu, points or LATTICE_POINTS)
    tilt = tilted_losses.best_tilt(more, mu, step, delta)
    upper = pure
    if delta > beyond:
        upper = min(pure, tilted_losses.sum_tilted(more, mu, step, tilt).epsilon_above(delta - beyond))
    lower = tilted_losses.sum_tilted(fewer, mu, step, tilt).epsilon_below(delta)
    return EpsilonBounds(min(lower, upper), upper)


def cells_under_laplace(shifts: npt.ArrayLike, scale: float) -> list[tuple[AnyCell, int]]:
    """The cells that a target moves by ``shifts``, under Laplace noise of one scale."""
    return [(LaplaceCell(float(size) / scale), n) for size, n in distinct_shifts(shifts)]


def cells_under_geometric(shifts: npt.ArrayLike, scale: float) -> list[tuple[AnyCell, int]]:
    """The cells that a target moves by whole ``shifts``, under two-sided geometric noise e^(-|x| / scale)."""
    return [(GeometricCell(1 / scale, int(size)), n) for size, n in distinct_shifts(shifts) if _whole(size)]


@lru_cache(maxsize=256)
def _best_attack(groups: CellCounts, mu: float) -> BestAttack:
    if not groups:
        return BestAttack(gdp.curve_below(mu), gdp.curve(mu))
    low, high = _bracketing_losses(groups, mu)
    return BestAttack(
        tradeoff.inner_curve(low.coarser(CURVE_CORNERS)), tradeoff.outer_curve(high.coarser(CURVE_CORNERS))
    )


def _bracketing_losses(
    groups: CellCounts, mu: float, points: int = LATTICE_POINTS
) -> tuple[tradeoff.PositiveLosses, tradeoff.PositiveLosses]:
    """Losses that reveal no more, and losses that reveal no less."""
    fewer, more, step = _bracketing_laws(groups, mu, points)
    return sum_losses(fewer, mu, step), sum_losses(more, mu, step)


def _bracketing_laws(
    groups: CellCounts, mu: float, points: int
) -> tuple[list[tuple[Reals, int]], list[tuple[Reals, int]], float]:
    """Each cell on a lattice that reveals no more, on one that reveals no less, and the step of both."""
    fewer, more = _grouped(groups, up=False), _grouped(groups, up=True)
    step = _step(more, mu, points)
    return (
        [(cell.optimistic_lattice(step), n) for cell, n in fewer],
        [(cell.pessimistic_lattice(step), n) for cell, n in more],
        step,
    )


def _step(groups: CellCounts, mu: float, points: int) -> float:
    """A step of which all atoms are multiples, where there is one, and fine enough for continuous losses."""
    low, high = bernstein_window([(*cell.moments, cell.largest, n) for cell, n in groups], mu)
    step = (high - low) / points
    unit = _common_unit([cell.unit for cell, _ in groups])
    if unit is None:
        return step if all(cell.continuous for cell, _ in groups) else step / 8
    if mu == 0 and not any(cell.continuous for cell, _ in groups):
        return unit if unit >= step / 16 else step / 8
    return unit / ceil(unit / step) if unit >= step / 16 else step / 8


def _common_unit(units: list[float]) -> float | None:
    """The largest number of which all units are multiples, if the least unit is at most 64 of it."""
    least = min(units)
    for parts in range(1, 65):
        multiples = np.array(units) / least * parts
        if (np.abs(multiples - np.round(multiples)) < 1e-9).all():
            return least / parts
    return None


def _grouped(groups: CellCounts, *, up: bool) -> CellCounts:
    """If there are many, treat Laplace cells of nearly equal shift as equal, at the larger or smaller one."""
    laplace_cells = sorted((cell.ratio, n) for cell, n in groups if isinstance(cell, LaplaceCell))
    if len(laplace_cells) <= MOST_LAPLACE_KINDS:
        return groups
    rest: list[tuple[AnyCell, int]] = [(cell, n) for cell, n in groups if not isinstance(cell, LaplaceCell)]
    parts = np.array_split(np.arange(len(laplace_cells)), MOST_LAPLACE_KINDS)
    for part in parts:
        ratio = laplace_cells[part[-1] if up else part[0]][0]
        rest.append((LaplaceCell(ratio), sum(laplace_cells[i][1] for i in part)))
    return tuple(rest)


def distinct_shifts(shifts: npt.ArrayLike) -> list[tuple[float, int]]:
    """The sizes of the shifts that are not zero, in rising order, and how often each occurs."""
    sizes = np.abs(np.ravel(np.asarray(shifts, dtype=float)))
    if not np.isfinite(sizes).all():
        raise BadInput(f"shifts must be finite numbers, got {shifts!r}")
    values, counts = np.unique(sizes[sizes > 0], return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def _whole(size: float) -> bool:
    if size != int(size):
        raise BadInput(f"geometric noise: shifts must be whole numbers, got {size}")
    return True


class AnswerNoise(Protocol):
    """Additive noise of answers that one unit moves by at most ``sensitivity``."""

    @property
    def sensitivity(self) -> float: ...

    @property
    def closed_form(self) -> bool:
        """Whether ``epsilon_at`` is exact for any number of answers."""
        ...

    def loss_cell(self, shift: float) -> NoisyCell | None:
        """The privacy loss of one answer moved by ``shift``, or None where it is unknown."""
        ...

    def epsilon_at(self, shifts: Sequence[tuple[float, int]], delta: float) -> float:
        """An epsilon that holds at a delta for answers moved by these shifts."""
        ...


def tightest_epsilon(noise: AnswerNoise, answers: int, delta: float) -> EpsilonBounds:
    """The least epsilon at a delta of ``answers`` answers about one unit, each moved by the sensitivity.

    No accountant can rightly claim less than ``low``, so more than the budget is certain evidence that the
    budget was exceeded; ``high`` always holds. Where the loss of the noise is not known, ``low`` is 0.
    """
    if answers < 0 or answers != int(answers):
        raise BadInput(f"the number of answers must be a whole number >= 0, got {answers}")
    if not answers:
        return EpsilonBounds(0.0, 0.0)
    moved = [(noise.sensitivity, int(answers))]
    if noise.closed_form and delta > 0:
        exact = noise.epsilon_at(moved, delta)
        return EpsilonBounds(exact, exact)
    cell = noise.loss_cell(noise.sensitivity)
    if cell is None:
        return EpsilonBounds(0.0, noise.epsilon_at(moved, delta))
    if delta == 0:
        exact = noise.epsilon_at(moved, 0.0)
        return EpsilonBounds(exact, exact)
    return epsilon_bounds([(cell, int(answers))], delta)
