"""The best possible attack on many noisy cells: tight composition by privacy losses.

The losses of independent cells add up. Their sum is found twice, on a lattice that reveals no less and on one
that reveals no more; the truth lies between, up to the rounding of the Fourier transform (1e-12).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Curve
from leakgauge.theory import gdp, tradeoff
from leakgauge.theory.cells import Geometric, Laplace, Response
from leakgauge.theory.convolution import summed, window
from leakgauge.theory.polygon import inner, outer

AnyCell: TypeAlias = Laplace | Geometric | Response
Groups: TypeAlias = tuple[tuple[AnyCell, int], ...]

_POINTS = 2**17  # of the lattice
_CORNERS = 2000  # of half a curve
_KINDS = 128  # of Laplace cells, before neighbours are taken together


@dataclass(frozen=True, eq=False)
class Best:
    """The trade-off of the best possible attack, from below and from above; ``high`` is the bound."""

    low: Curve
    high: Curve

    @property
    def accuracy(self) -> tuple[float, float]:
        """Balanced accuracy, from below and from above."""
        return tradeoff.max_accuracy(self.low), tradeoff.max_accuracy(self.high)

    @property
    def auc(self) -> tuple[float, float]:
        """Area under the ROC curve, from below and from above."""
        return tradeoff.max_auc(self.low), tradeoff.max_auc(self.high)

    def tpr_at(self, fpr: npt.ArrayLike) -> tuple[Reals, Reals]:
        """True-positive rate at a false-positive rate, from below and from above."""
        return tradeoff.max_tpr(fpr, self.low), tradeoff.max_tpr(fpr, self.high)


def best_attack(cells: Iterable[tuple[AnyCell, int]] = (), mu: float = 0.0) -> Best:
    """The best attack on a target who moves these cells: each kind and how many, Gaussian ones by ``mu``.

    >>> low, high = best_attack([(Laplace(0.5), 20)]).accuracy
    >>> round(low, 4), round(high, 4)
    (0.8509, 0.8509)
    """
    counts: Counter[AnyCell] = Counter()
    for cell, n in cells:
        if not (n >= 0 and n == int(n)):
            raise BadInput(f"{cell}: the number of cells must be a whole number >= 0, got {n}")
        counts[cell] += int(n)
    used = [(cell, n) for cell, n in counts.items() if n]
    return _best_attack(tuple(sorted(used, key=repr)), float(mu))


def laplace(shifts: npt.ArrayLike, scale: float) -> list[tuple[AnyCell, int]]:
    """The cells that a target moves by ``shifts``, under Laplace noise of one scale."""
    return [(Laplace(float(size) / scale), n) for size, n in _sizes(shifts)]


def geometric(shifts: npt.ArrayLike, scale: float) -> list[tuple[AnyCell, int]]:
    """The cells that a target moves by whole ``shifts``, under two-sided geometric noise e^(-|x| / scale)."""
    return [(Geometric(1 / scale, int(size)), n) for size, n in _sizes(shifts) if _whole(size)]


@lru_cache(maxsize=256)
def _best_attack(groups: Groups, mu: float) -> Best:
    if not groups:
        return Best(gdp.curve_below(mu), gdp.curve(mu))
    fewer, more = _taken_together(groups, up=False), _taken_together(groups, up=True)
    step = _step(more, mu)
    low = summed([(cell.gathered(step), n) for cell, n in fewer], mu, step)
    high = summed([(cell.spread(step), n) for cell, n in more], mu, step)
    return Best(inner(low.coarser(_CORNERS)), outer(high.coarser(_CORNERS)))


def _step(groups: Groups, mu: float) -> float:
    """A step that carries the atoms exactly, where one does, and is fine enough for the rest."""
    low, high = window([(*cell.moments, cell.largest, n) for cell, n in groups], mu)
    step = (high - low) / _POINTS
    unit = _common_unit([cell.unit for cell, _ in groups])
    if unit is None:
        return step if all(cell.continuous for cell, _ in groups) else step / 8
    if mu == 0 and not any(cell.continuous for cell, _ in groups):
        return unit if unit >= step / 16 else step / 8
    return unit / ceil(unit / step)


def _common_unit(units: list[float]) -> float | None:
    """The largest number of which all units are multiples, if the least unit is at most 64 of it."""
    least = min(units)
    for parts in range(1, 65):
        multiples = np.array(units) / least * parts
        if (np.abs(multiples - np.round(multiples)) < 1e-9).all():
            return least / parts
    return None


def _taken_together(groups: Groups, *, up: bool) -> Groups:
    """If there are many, treat Laplace cells of nearly equal shift as equal, at the larger or smaller one."""
    laplace_cells = sorted((cell.ratio, n) for cell, n in groups if isinstance(cell, Laplace))
    if len(laplace_cells) <= _KINDS:
        return groups
    rest: list[tuple[AnyCell, int]] = [(cell, n) for cell, n in groups if not isinstance(cell, Laplace)]
    parts = np.array_split(np.arange(len(laplace_cells)), _KINDS)
    for part in parts:
        ratio = laplace_cells[part[-1] if up else part[0]][0]
        rest.append((Laplace(ratio), sum(laplace_cells[i][1] for i in part)))
    return tuple(rest)


def _sizes(shifts: npt.ArrayLike) -> list[tuple[float, int]]:
    sizes = np.abs(np.ravel(np.asarray(shifts, dtype=float)))
    if not np.isfinite(sizes).all():
        raise BadInput(f"shifts must be finite numbers, got {shifts!r}")
    values, counts = np.unique(sizes[sizes > 0], return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def _whole(size: float) -> bool:
    if size != int(size):
        raise BadInput(f"geometric noise: shifts must be whole numbers, got {size}")
    return True
