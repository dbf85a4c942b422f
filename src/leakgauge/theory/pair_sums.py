"""The best possible attack on many cells of any law: tight composition without symmetry.

As in ``losses``, the sum of independent losses is found twice: on a lattice that reveals no less, and for an
adversary who rounds every loss before adding up. The truth lies between, up to the rounding of the Fourier
transform (1e-12).
"""

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.theory.losses import AnyCell, Best
from leakgauge.theory.pairs import MOST, Law, Pair, mirrored, rounded, spread
from leakgauge.theory.polygon import Half, Whole, inner_whole, outer_whole

Kinds: TypeAlias = Sequence[tuple[Law, int]]  # of cells, each so many times

_POINTS = 2**17  # of the lattice
_CORNERS = 2000  # of half a curve
_TAIL = 38.0  # a probability of e^-38 = 3e-17 may lie outside the window
_SLOPES = np.concatenate([side * np.geomspace(1e-2, 1e2, 17) for side in (-1.0, 1.0)])


def best_attack(cells: Iterable[tuple[Pair | AnyCell, int]]) -> Best:
    """The best attack on a target who moves these cells: each kind, and how many of it.

    >>> low, high = best_attack([(Pair.of([0.75, 0.25], [0.25, 0.75]), 3)]).accuracy
    >>> round(low, 6), round(high, 6)
    (0.84375, 0.84375)
    """
    groups = []
    for cell, n in cells:
        if not (n >= 0 and n == int(n)):
            raise BadInput(f"the number of cells must be a whole number >= 0, got {n}")
        if n:
            groups.append((cell, int(n)))
    step = _step(groups)
    low, high = _rounded(groups, step), _spread(groups, step)
    return Best(
        inner_whole(_summed(low, step, tilted=False).coarser(_CORNERS)),
        outer_whole(_summed(high, step, tilted=True).coarser(_CORNERS)),
    )


def _rounded(groups: Sequence[tuple[Pair | AnyCell, int]], step: float) -> Kinds:
    return [
        (rounded(cell, step) if isinstance(cell, Pair) else mirrored(cell.gathered(step), step), n)
        for cell, n in groups
    ]


def _spread(groups: Sequence[tuple[Pair | AnyCell, int]], step: float) -> Kinds:
    return [
        (spread(cell, step) if isinstance(cell, Pair) else mirrored(cell.spread(step), step), n)
        for cell, n in groups
    ]


def _step(groups: Sequence[tuple[Pair | AnyCell, int]]) -> float:
    """A step that is fine for where the sum lies, seen first on a coarser lattice."""
    largest = 0.0
    for cell, _ in groups:
        sizes = np.abs(cell.losses) if isinstance(cell, Pair) else np.array([cell.largest])
        largest = max(largest, float(np.max(sizes[np.isfinite(sizes)], initial=0.0)))
    coarse = min(max(largest, 1e-3), MOST) / 256
    low, high = window(_rounded(groups, coarse), coarse)
    return (high - low + coarse) / _POINTS


def window(laws: Kinds, step: float) -> tuple[float, float]:
    """Where the sum of scores lies in either world, all but e^-38 of it (Chernoff 1952)."""
    low, high = 0.0, 0.0
    for world in ("members", "others"):
        least, most = 0.0, 0.0
        exponents: Reals = np.full(_SLOPES.size, _TAIL)
        for law, n in laws:
            masses: Reals = getattr(law, world)
            seen = np.flatnonzero(masses)
            if seen.size:
                scores: Reals = step * (law.first + seen).astype(np.float64)
                least, most = least + n * float(scores[0]), most + n * float(scores[-1])
                exponents = exponents + n * _log_moments(scores, masses[seen])
        reach = exponents / _SLOPES
        low = min(low, max(least, float(reach[_SLOPES < 0].max())))
        high = max(high, min(most, float(reach[_SLOPES > 0].min())))
    return low, high


def _log_moments(scores: Reals, masses: Reals) -> Reals:
    """Logarithms of the mean of e^(slope score), for all slopes."""
    exponents = np.multiply.outer(_SLOPES, scores) + np.log(masses / masses.sum())
    most = exponents.max(axis=1)
    return np.asarray(most + np.log(np.exp(exponents - most[:, None]).sum(axis=1)))


def _summed(laws: Kinds, step: float, *, tilted: bool) -> Whole:
    """Add up independent scores in both worlds; ``tilted`` ones are losses: e^loss is the worlds' ratio."""
    low, high = window(laws, step)
    first, last = floor(low / step) - 1, ceil(high / step) + 1
    size = next_fast_len(last - first + 1, real=True)
    members = _power([(law.first, law.members, n) for law, n in laws], size)
    others = _power([(law.first, law.others, n) for law, n in laws], size)
    return Whole(
        _half(np.arange(last, 0, -1), members, others, step, tilted),
        _half(np.arange(first, 0), others, members, step, tilted),
        _ever([(law.sure_members, n) for law, n in laws]),
        _ever([(law.sure_others, n) for law, n in laws]),
    )


def _half(places: npt.NDArray[np.int64], near: Reals, far: Reals, step: float, tilted: bool) -> Half:
    losses: Reals = step * np.abs(places).astype(np.float64)
    likely = near[places % near.size]
    unlikely = likely * np.exp(-losses) if tilted else far[places % far.size]
    return Half(losses, losses, likely, unlikely)


def _power(laws: Sequence[tuple[int, Reals, int]], size: int) -> Reals:
    transform = np.ones(size // 2 + 1, dtype=complex)
    for first, masses, n in laws:
        circle = np.zeros(size)
        np.add.at(circle, (first + np.arange(masses.size)) % size, masses)
        transform *= rfft(circle) ** n
    return np.maximum(irfft(transform, size), 0.0)


def _ever(chances: Sequence[tuple[float, int]]) -> float:
    """The chance that something happens in at least one of all cells."""
    if any(chance >= 1 for chance, _ in chances):
        return 1.0
    return float(-np.expm1(sum(n * np.log1p(-chance) for chance, n in chances)))
