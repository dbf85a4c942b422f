"""Exact tails of a sum of independent whole scores that need not have the same distribution."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Ints, Reals

Waves: TypeAlias = npt.NDArray[np.complex128]

_FAR = 60.0  # the largest tilt, per point
_WIDE = 60.0  # standard deviations of the tilted sum that are resolved


def chance_at_most(chances: Reals, counts: Ints, total: int) -> float:
    """P(sum <= total) where ``counts[i]`` scores have the probabilities ``chances[i]`` of 0, 1, 2, ...

    The scores are tilted so that the sum is expected near the total, and convolved by Fourier transforms: so
    the relative error stays below 1e-6 also where the probability is 1e-100.

    >>> round(chance_at_most(np.array([[0.5, 0.5]]), np.array([3]), 1), 6)
    0.5
    """
    points = np.arange(chances.shape[1], dtype=np.float64)
    highest = int(counts.sum()) * (chances.shape[1] - 1)
    if total >= highest:
        return 1.0
    if total < 0:
        return 0.0
    with np.errstate(divide="ignore"):
        log_chances = np.log(chances)

    def tilted(tilt: float) -> tuple[Reals, Reals]:
        logs = log_chances + tilt * points
        most = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - most)
        sums = weights.sum(axis=1, keepdims=True)
        return weights / sums, (most + np.log(sums))[:, 0]

    def mean(tilt: float) -> float:
        return float(counts @ (tilted(tilt)[0] @ points))

    from scipy.optimize import brentq

    tilt = 0.0
    if mean(0.0) > total:
        tilt = -_FAR if mean(-_FAR) >= total else float(brentq(lambda at: mean(at) - total, -_FAR, 0.0))
    shares, log_sums = tilted(tilt)
    means = shares @ points
    spread = np.sqrt(max(float(counts @ (shares @ points**2 - means**2)), 0.0))
    size = scipy.fft.next_fast_len(min(highest + 1, int(_WIDE * spread) + 64 * points.size), real=True)
    transform = _transform(shares, counts, size)
    sums = scipy.fft.irfft(transform, size)
    first = 0 if size > highest else max(0, round(float(counts @ means)) - size // 2)
    places = np.arange(first, min(total, first + size - 1) + 1)  # what is farther away has chances of 1e-100
    inside = np.maximum(sums[places % size], 0.0) @ np.exp(-tilt * (places - total))
    log_level = float(counts @ log_sums) - tilt * total
    return float(min(1.0, np.exp(log_level) * inside * (1 + 1e-6)))


def chance_at_least(chances: Reals, counts: Ints, total: int) -> float:
    """P(sum >= total) for the same scores."""
    highest = int(counts.sum()) * (chances.shape[1] - 1)
    return chance_at_most(chances[:, ::-1], counts, highest - total)


def _transform(shares: Reals, counts: Ints, size: int) -> Waves:
    """The product of all transforms, each to the power of its number."""
    product: Waves = np.ones(size // 2 + 1, dtype=np.complex128)
    for share, count in zip(shares, counts.tolist(), strict=True):
        wave = scipy.fft.rfft(share, size)
        while count:  # powers by squares: quicker than by logarithms, and exact for whole numbers
            if count % 2:
                product *= wave
            wave, count = wave * wave, count // 2
    return product
