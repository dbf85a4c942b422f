"""Bounds of epsilon from a sum of privacy losses that also hold for tiny delta: the losses are tilted.

A Fourier transform has an absolute rounding error, in which a small delta drowns. The losses are therefore
weighted by e^(tilt * loss) first (an exponential tilt, as in Cramer's and Chernoff's bounds), so that the
losses near the epsilon in question become the likely ones. The weights are taken off the sum afterwards, and
the rounding error there shrinks with them. What is left of it is bounded and added to delta or taken from it.

With p the tilted probabilities of the sum, M its normalisation and losses l,

    delta(epsilon) = sum over l > epsilon of M p(l) e^(-tilt l) (1 - e^(epsilon - l)),

so that an error of p of ``error`` in total changes delta(epsilon) by at most

    error M e^(-tilt epsilon) max over x > 0 of e^(-tilt x) (1 - e^-x).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, inf, log, log1p, log2, pi, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.theory.privacy_loss import NORMAL_TAIL, TAIL_EXPONENT, bernstein_window

Transform: TypeAlias = npt.NDArray[np.complex128]

_ROUNDING = float(np.finfo(np.float64).eps)  # twice the largest relative error of one operation
_LARGEST_TILT = 1000.0
_LEAST_TILT = 1e-3
_MOST_DEVIATIONS = 20.0  # by which Gaussian noise is tilted
_KEPT_EXPONENT = 200.0  # losses whose error exceeds delta by e^200 are left out
_MOST_BELOW = 300.0  # and losses this far below the epsilon in question
_SILENT = 45.0  # coefficients below e^-45 are left out: 1e-5 of the rounding error of one
_BLOCK, _POINTS = 2**20, 2**13  # numbers of a block of laws or transforms; usual number of a law


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """The distribution of a sum of losses for a member; ``step`` is the width of its bins, 0 for atoms."""

    losses: Reals  # falling: the lower ends of the bins
    tilted: Reals
    tilt: float
    log_scale: float
    error: float  # of all tilted probabilities together
    step: float

    def epsilon_below(self, delta: float) -> float:
        """An epsilon that is too small for this delta, or 0."""
        least, error, members = self._near(self.losses, delta)
        found = self._least_epsilon(members, self.losses, delta + error, self._middle(delta))
        return found if least <= found < inf else 0.0

    def epsilon_above(self, delta: float) -> float:
        """An epsilon that holds at this delta, or infinity where rounding hides it."""
        losses = self.losses + self.step
        least, error, members = self._near(losses, delta)
        if not error < delta:
            return inf
        return max(least, self._least_epsilon(members, losses, delta - error, self._middle(delta)))

    def _middle(self, delta: float) -> float:
        """Epsilon by the Chernoff bound."""
        return (self.log_scale + _log_most(self.tilt) - log(delta)) / self.tilt

    def _near(self, losses: Reals, delta: float) -> tuple[float, float, Reals]:
        """An epsilon somewhat below the least one, and the error of delta at all epsilons from there on.

        Also the probabilities, without the tilt, of the losses above it.
        """
        lowest = self._middle(delta) - min(_KEPT_EXPONENT / self.tilt, _MOST_BELOW)
        exponents = self.log_scale - self.tilt * self.losses
        members = np.where(losses > lowest, self.tilted * np.exp(np.minimum(exponents, _MOST_BELOW)), 0.0)
        guess = self._least_epsilon(members, losses, delta, self._middle(delta))
        least = max(0.0, guess - 1 / self.tilt)
        if not lowest + 2 * self.step <= least < inf and lowest + 2 * self.step > 0:
            return least, inf, members
        members = np.where(losses > least, members, 0.0)
        operations = losses.size + abs(self.log_scale) + self.tilt * float(losses[0]) + 16
        exponent = self.log_scale - self.tilt * (least - self.step) + _log_most(self.tilt)
        error = self.error * exp(min(exponent, _MOST_BELOW))
        return least, error + 4 * _ROUNDING * operations * float(members.sum()), members

    @staticmethod
    def _least_epsilon(members: Reals, losses: Reals, delta: float, middle: float) -> float:
        """The largest log((TPR - delta) / FPR), over all thresholds; losses fall."""
        tpr, fpr = np.cumsum(members), np.cumsum(members * np.exp(np.minimum(middle - losses, _MOST_BELOW)))
        some = tpr > delta
        with np.errstate(divide="ignore"):
            ratios = np.log(tpr[some] - delta) - np.log(fpr[some]) + middle
        return float(np.max(ratios, initial=0.0))


def best_tilt(laws: Sequence[tuple[Reals, int]], mu: float, step: float, delta: float) -> float:
    """The tilt that gives the least epsilon by the Chernoff bound; any tilt gives valid bounds."""
    from scipy.optimize import minimize_scalar

    def epsilon(log_tilt: float) -> float:
        tilt = exp(log_tilt)
        log_scale = sum(n * _tilt_law(law, step, tilt)[2] for law, n in laws) + tilt * (tilt + 1) * mu**2 / 2
        return (log_scale + _log_most(tilt) - log(delta)) / tilt

    most = min(_LARGEST_TILT, _MOST_DEVIATIONS / mu) if mu > 0 else _LARGEST_TILT
    bounds = (log(min(_LEAST_TILT, most / 2)), log(most))
    return exp(float(minimize_scalar(epsilon, bounds=bounds, method="bounded", options={"xatol": 0.05}).x))


def whole_power(values: Transform, n: int) -> Transform:
    """Return values to the power of a positive whole number, off by n roundings or so.

    NumPy does the same up to n = 100, and then takes logarithms of complex numbers, which takes eight times
    as long.

    >>> complex(whole_power(np.array([2j]), 200)[0]) == 2.0**200
    True
    """
    power = values if n % 2 else np.ones_like(values)
    while n > 1:
        n //= 2
        values = values * values
        if n % 2:
            power = power * values
    return power


def sum_tilted(laws: Sequence[tuple[Reals, int]], mu: float, step: float, tilt: float) -> TiltedSum:
    """Add up independent losses: each lattice distribution ``n`` times, and a Gaussian loss of ``mu``.

    The error is that of the worst case: each of the log2(size) levels of a transform has a relative error of
    a few roundings, so that a coefficient is off by ``each``, and the n-th power of a coefficient c by at
    most n (|c| + each)^(n - 1) each.
    """
    parts = [(*_tilt_law(law, step, tilt), n) for law, n in laws]
    low, high = bernstein_window([(*_moments(up, down, step), n) for up, down, _, n in parts], mu)
    shift = tilt * mu**2
    first, last = floor((low + shift) / step) - 1, ceil((high + shift) / step) + 1
    size = scipy.fft.next_fast_len(last - first + 1, real=True)
    widest = max((law.size for law, _ in laws), default=1) * step + mu * (mu + shift / max(mu, 1e-300) + 9)
    each = _ROUNDING * (4 * log2(size) + tilt * widest + 16)
    factors = [(_circle(up, down, size), n) for up, down, _, n in parts]
    log_scale = sum(n * log_total for _, _, log_total, n in parts)
    if mu > 0:
        circle, log_total = _tilt_gaussian(mu, step, size, tilt)
        factors.append((circle, 1))
        log_scale += log_total
    transform = np.ones(size // 2 + 1, dtype=complex)
    most, relative = np.ones(transform.size), np.full(transform.size, each)
    for circle, n in factors:
        coefficients = scipy.fft.rfft(circle)
        transform *= whole_power(coefficients, n)
        radius = np.abs(coefficients) + each
        most *= radius**n
        relative += n * (each / radius + 4 * _ROUNDING)
    if mu == 0:
        last = min(last, sum(n * (law.size - 1) for law, n in laws))
    own = range(max(first, 0), last + 1)
    return _inverted(transform, most * relative, size, own, step, tilt, log_scale, binned=mu > 0)


def sum_many_tilted(
    laws: Callable[[slice], Reals], counts: "scipy.sparse.csr_array", mus: Reals, step: float, tilt: float
) -> Iterator[TiltedSum]:
    """Add up losses for many targets, as ``sum_tilted`` does for one; each law is transformed once for all.

    ``laws`` returns some of the lattice distributions, a row each and filled up with zeros; ``counts`` are
    targets x laws, at least one in each row. Logarithms of coefficients add up in sparse products. A sum of m
    logarithms is off by at most m roundings of their sizes, which is added to the relative error.
    Coefficients below the error of one, ``each``, are replaced by it, which at most doubles that error. No
    coefficient exceeds 1: where the product of some is negligible for all targets, the others are left out,
    and the error is at most twice the product itself.
    """
    parts = [_tilted_moments(laws(block), step, tilt) for block in _law_blocks(counts.shape[1], _POINTS)]
    largest, *columns = np.concatenate(parts, axis=1)
    widest = np.maximum.reduceat(largest[counts.indices], counts.indptr[:-1])
    most, means, variances, log_scales = (counts @ np.stack([largest, *columns], axis=1)).T
    ends = windows(means, variances, widest, most, mus, tilt)
    first = np.floor(ends[0] / step).astype(np.int64) - 1
    last = np.ceil(ends[1] / step).astype(np.int64) + 1
    size = scipy.fft.next_fast_len(int((last - first).max()) + 1, real=True)
    longest = float(np.max(widest + mus * (mus * (1 + tilt) + 9)))
    each = _ROUNDING * (4 * log2(size) + tilt * longest + 16)
    roundings = _ROUNDING * (float(np.diff(counts.indptr).max()) + 4)
    modulus, angle, inverse = np.zeros((3, counts.shape[0], size // 2 + 1))  # the first is of logarithms
    audible = size // 2 + 1  # frequencies from here on are left out
    for block in reversed(_law_blocks(counts.shape[1], size)):  # the last are mostly the widest
        transforms = scipy.fft.rfft(_tilted_circles(laws(block), step, tilt, size), axis=1)
        coefficients = transforms[:, :audible]
        squares = np.maximum(coefficients.real**2 + coefficients.imag**2, each**2)
        own = counts[:, block]
        angle[:, :audible] += own @ np.angle(coefficients)
        modulus[:, :audible] += own @ (np.log(squares) / 2)
        inverse[:, :audible] += own @ (1 / np.sqrt(squares))
        audible = 1 + int(np.flatnonzero(modulus.max(axis=0) > -_SILENT)[-1])
    numbers = np.asarray(counts.sum(axis=1))
    for row, mu in enumerate(mus.tolist()):
        transform = np.exp(modulus[row] + 1j * angle[row])
        radius, log_scale = np.exp(modulus[row] + each * inverse[row]), float(log_scales[row])
        relative = 2 * each * inverse[row] + each + numbers[row] * (4 * _ROUNDING + roundings * pi)
        relative -= roundings * modulus[row]
        relative[audible:] = 2 + numbers[row] * each
        if mu > 0:
            circle, log_total = _tilt_gaussian(mu, step, size, tilt)
            coefficients = scipy.fft.rfft(circle)
            transform *= coefficients
            radius *= np.abs(coefficients) + each
            relative = relative + each / (np.abs(coefficients) + each) + 4 * _ROUNDING
            log_scale += log_total
        end = last[row] if mu > 0 else min(int(last[row]), round(float(most[row]) / step))
        own = range(max(int(first[row]), 0), int(end) + 1)
        yield _inverted(transform, radius * relative, size, own, step, tilt, log_scale, binned=mu > 0)


def _inverted(
    transform: npt.NDArray[np.complex128],
    errors: Reals,
    size: int,
    places: range,
    step: float,
    tilt: float,
    log_scale: float,
    *,
    binned: bool,
) -> TiltedSum:
    """The sum at some places of the lattice, from its coefficients and the largest error of each of them.

    The absolute errors of all probabilities sum to at most the root of the sum of squares of those of the
    coefficients (Parseval, Cauchy-Schwarz).
    """
    error = sqrt(2 * float(np.sum(errors**2))) + 4 * exp(-TAIL_EXPONENT)
    total = np.maximum(scipy.fft.irfft(transform, size), 0.0)
    falling = np.arange(places.start, places.stop)[::-1]
    losses = step * falling.astype(np.float64)
    return TiltedSum(losses, total[falling % size], tilt, log_scale, error, step if binned else 0.0)


def _law_blocks(n_laws: int, size: int) -> list[slice]:
    each = max(1, _BLOCK // size)
    return [slice(first, min(first + each, n_laws)) for first in range(0, n_laws, each)]


def _tilted_moments(laws: Reals, step: float, tilt: float) -> Reals:
    """The largest loss, mean and variance of each tilted law, and the log of its sum before."""
    up, down, log_totals = _tilt_laws(laws, step, tilt)
    losses = step * np.arange(laws.shape[1])
    means = (up - down) @ losses
    variances = (up + down) @ losses**2 - means**2
    largest = step * (laws.shape[1] - 1 - np.argmax(laws[:, ::-1] > 0, axis=1))
    return np.stack([largest, means, np.maximum(variances, 0.0), log_totals])


def _tilted_circles(laws: Reals, step: float, tilt: float, size: int) -> Reals:
    """Tilted laws around zero on a circle of lattice points."""
    up, down, _ = _tilt_laws(laws, step, tilt)
    circles = np.zeros((len(laws), size))
    for first in range(0, laws.shape[1], size):  # a law may be wider than the circle
        part = slice(first, first + size)
        width = up[:, part].shape[1]
        circles[:, :width] += up[:, part]
        circles[:, -np.arange(first, first + width) % size] += down[:, part]
    return circles


def _tilt_laws(laws: Reals, step: float, tilt: float) -> tuple[Reals, Reals, Reals]:
    """As ``_tilt_law``, for a law in each row; losses below zero start at zero, where they have none."""
    losses = step * np.arange(laws.shape[1])
    tops = losses[laws.shape[1] - 1 - np.argmax(laws[:, ::-1] > 0, axis=1)]
    exponents = np.minimum(tilt * (losses - tops[:, None]), 0.0)
    up = laws * np.exp(exponents)
    down = up * np.exp(-(1 + 2 * tilt) * losses)
    down[:, 0] = 0.0
    totals = up.sum(axis=1) + down.sum(axis=1)
    return up / totals[:, None], down / totals[:, None], tilt * tops + np.log(totals)


def windows(
    means: Reals, variances: Reals, widest: Reals, most: Reals, mus: Reals, tilt: float
) -> tuple[Reals, Reals]:
    """As ``bernstein_window``, for many sums, with a tilted Gaussian loss besides."""
    linear = 2 * widest * TAIL_EXPONENT / 3
    reach = linear + np.sqrt(linear**2 + 2 * variances * TAIL_EXPONENT)
    center = mus**2 * (0.5 + tilt)
    low = np.maximum(-most, means - reach) + center - NORMAL_TAIL * mus
    return low, np.minimum(most, means + reach) + center + NORMAL_TAIL * mus


def _tilt_law(law: Reals, step: float, tilt: float) -> tuple[Reals, Reals, float]:
    """The tilted probabilities of the losses 0, step, ... and -step, ..., and the log of their sum before."""
    losses = step * np.arange(law.size)
    top = float(losses[-1])
    up = law * np.exp(tilt * (losses - top))
    down = law[1:] * np.exp(-(1 + tilt) * losses[1:] - tilt * top)
    total = float(up.sum() + down.sum())
    return up / total, down / total, tilt * top + log(total)


def _tilt_gaussian(mu: float, step: float, size: int, tilt: float) -> tuple[Reals, float]:
    """The tilted probabilities of the bins [j step, (j + 1) step) of a loss N(mu^2 / 2, mu^2)."""
    center = mu**2 * (0.5 + tilt)
    low, high = (floor((center + side * NORMAL_TAIL * mu) / step) for side in (-1, 1))
    places = np.arange(low, high + 2)
    edges = step * places / mu - mu / 2
    upper = edges[:-1] > 0  # differences of small numbers, not of numbers near 1
    masses = np.where(upper, -np.diff(scipy.special.ndtr(-edges)), np.diff(scipy.special.ndtr(edges)))
    masses = masses * np.exp(tilt * (step * places[:-1] - center))
    total = float(masses.sum())
    circle = np.zeros(size)
    np.add.at(circle, places[:-1] % size, masses / total)
    return circle, tilt * center + log(total)


def _moments(up: Reals, down: Reals, step: float) -> tuple[float, float, float]:
    losses = step * np.arange(up.size)
    mean = float(losses @ up - losses[1:] @ down)
    variance = float((losses - mean) ** 2 @ up + (losses[1:] + mean) ** 2 @ down)
    return mean, variance, float(losses[-1])


def _circle(up: Reals, down: Reals, size: int) -> Reals:
    places = np.arange(up.size)
    circle = np.zeros(size)
    np.add.at(circle, places % size, up)
    np.add.at(circle, -places[1:] % size, down)
    return circle


def _log_most(tilt: float) -> float:
    """The log of the largest e^(-tilt x) (1 - e^-x) over x > 0, which is at x = log(1 + 1 / tilt)."""
    return -tilt * log1p(1 / tilt) - log1p(tilt)
