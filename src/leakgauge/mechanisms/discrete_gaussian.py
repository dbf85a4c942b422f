"""Discrete Gaussian noise on a vector of whole numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, exp, floor, isqrt, log, pi
from typing import ClassVar

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.mechanisms._additive import ApproximateNoise
from leakgauge.theory import composition, gdp, tradeoff

_TABULATED = 1e5  # standard deviations up to which tails are summed; beyond, the normal tail is used
_DEVIATIONS = 40  # length of the table of tails
_LATTICE_REACH = 12  # standard deviations of the noise, of sums of it
_MOST_SQUARED = 16  # squared sensitivities up to which every way to move a vector is tried
_EPSILONS = 400  # of the curve of a guarantee over several ways
_LEAST_DELTA = 1e-290
_MOST_TERMS = 2e8  # of a sum over two lattices


@dataclass(frozen=True, kw_only=True)
class Mechanism(ApproximateNoise):
    """Add noise with P(x) proportional to e^(-x^2 / (2 sigma^2)) to every count (Canonne et al. 2020).

    ``sigma`` is given, or it is the smallest that keeps epsilon at delta; if both are given, epsilon is only
    nominal. ``sensitivity`` is the L2 distance that one protected unit can move the whole vector of whole
    numbers, so its square is a whole number. The guarantee is exact up to a squared sensitivity of 16: the
    worst of all ways to move a vector by this distance. Above, it follows from zero-concentrated privacy (rho
    = sensitivity^2 / (2 sigma^2)) and has no curve.

    >>> round(Mechanism(sigma=2.0, delta=1e-5).guarantee.epsilon, 3)
    2.011
    """

    lattice: ClassVar[bool] = True

    def sigma_for(self, epsilon: float) -> float:
        return _sigma_for(epsilon, self.delta, round(self.sensitivity**2))

    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        """Draw by rejection from two-sided geometric noise (Canonne, Kamath and Steinke 2020)."""
        sigma, noise = self.noise_scale, np.empty(int(np.prod(shape)))
        scale, filled = floor(sigma) + 1, 0
        while (missing := noise.size - filled) > 0:
            up, down = rng.geometric(-np.expm1(-1 / scale), size=(2, missing + missing // 2 + 8))
            proposed = (up - down).astype(np.float64)
            excess = (np.abs(proposed) - sigma**2 / scale) ** 2 / (2 * sigma**2)
            kept = proposed[rng.random(proposed.size) < np.exp(-excess)][:missing]
            noise[filled : filled + kept.size] = kept
            filled += kept.size
        return noise.reshape(shape)

    def log_density(self, distances: Reals) -> Reals:
        sigma = self.noise_scale
        return -((distances / sigma) ** 2) / 2 - _log_normaliser(sigma)

    def log_cdf(self, distances: Reals) -> Reals:
        """P(X <= x) = P(X > -x - 1): a tail below zero, and one minus a tail above."""
        whole = np.floor(np.asarray(distances, dtype=np.float64))
        below = self._log_tail(np.maximum(-whole - 1, 0))
        above = np.log1p(-np.exp(self._log_tail(np.maximum(whole, 0))))
        return np.where(whole < 0, below, above)

    @property
    def guarantee(self) -> Guarantee:
        squared, sigma = round(self.sensitivity**2), self.noise_scale
        epsilon = _epsilon_at(sigma, self.delta, squared)
        exact = squared <= _MOST_SQUARED
        stated = Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon if exact else None,
        )
        if squared == 1:
            best = self.best_attack([(1.0, 1)])
            return stated if best is None else replace(stated, curve=best.high)
        if not exact:
            return stated
        epsilons = np.linspace(0.0, 2 * composition.zcdp_epsilon(squared / (2 * sigma**2), 1e-12), _EPSILONS)
        deltas = np.array([min(_delta_at(sigma, e, squared), 1.0) for e in epsilons.tolist()])
        return replace(stated, curve=tradeoff.curve_from_profile(epsilons, deltas))

    def _log_tail(self, distances: Reals) -> Reals:
        """Log P(X > x) for whole x >= 0."""
        sigma = self.noise_scale
        if sigma > _TABULATED:
            return np.asarray(scipy.special.log_ndtr(-(distances + 0.5) / sigma))
        table = _log_tails(sigma)
        first = distances + 1  # beyond the table, a geometric series with the ratio of its first two terms
        series = self.log_density(first) - np.log(-np.expm1(-(2 * first + 1) / (2 * sigma**2)))
        places = np.minimum(distances, table.size - 1).astype(np.int64)
        return np.where(distances < table.size, table[places], series)


@lru_cache(maxsize=256)
def _log_normaliser(sigma: float) -> float:
    """The log of the sum of e^(-k^2 / (2 sigma^2)) over all whole k; for large sigma by Poisson's formula."""
    rate = 1 / (2 * sigma**2) if sigma < 0.5 else 2 * pi**2 * sigma**2
    terms = sum(exp(-rate * k * k) for k in range(1, 8))
    return float(np.log1p(2 * terms)) + (0.0 if sigma < 0.5 else log(sigma) + log(2 * pi) / 2)


@lru_cache(maxsize=64)
def _log_tails(sigma: float) -> Reals:
    """Log P(X > k) for k = 0, 1, ..., added up from the far end."""
    places = np.arange(1, ceil(_DEVIATIONS * sigma) + 2, dtype=np.float64)
    terms = -((places / sigma) ** 2) / 2 - _log_normaliser(sigma)
    tails = np.logaddexp.accumulate(terms[::-1])[::-1]
    tails.setflags(write=False)
    return tails


def _delta_at(sigma: float, epsilon: float, squared: int) -> float:
    """The delta at an epsilon for the worst vector of whole numbers with this squared length."""
    return max(_delta_of_move(sigma, epsilon, squared, move) for move in _moves(squared, isqrt(squared)))


def _delta_of_move(sigma: float, epsilon: float, squared: int, move: tuple[int, ...]) -> float:
    """P(loss > epsilon | member) - e^epsilon P(loss > epsilon | not), exactly.

    The loss of an output y is (2 t - |move|^2) / (2 sigma^2) with t = <move, y>: a sum of noise times the
    coordinates of the move, to which membership adds |move|^2.
    """
    cut = floor(epsilon * sigma**2 + squared / 2)
    log_tail = _log_tail_of_sum(sigma, move)
    other = log_tail(cut)
    paid = float(np.exp(epsilon + other)) if other > -np.inf else 0.0
    return max(float(np.exp(log_tail(cut - squared))) - paid, 0.0)


def _log_tail_of_sum(sigma: float, move: tuple[int, ...]) -> Callable[[int], float]:
    """Log P(t > x) of the sum t of noise times each coordinate of a move."""
    if len(move) == 1:
        noise = Mechanism(sigma=sigma, delta=0.5)

        def one(x: int) -> float:
            return float(noise.log_sf(np.array([floor(x / move[0])]))[0])

        return one
    tails, reach = _tails_of_sum(sigma, move)

    def many(x: int) -> float:
        return float(np.log(tails[x + reach + 1])) if -reach - 1 <= x < reach else (0.0 if x < 0 else -np.inf)

    return many


@lru_cache(maxsize=64)
def _tails_of_sum(sigma: float, move: tuple[int, ...]) -> tuple[Reals, int]:
    """P(t > x) for x from -reach - 1 to reach, and the reach."""
    reach = ceil(_LATTICE_REACH * sigma) + 1
    places = np.arange(-reach, reach + 1, dtype=np.float64)
    masses = np.exp(-((places / sigma) ** 2) / 2 - _log_normaliser(sigma))
    total = np.ones(1)
    for size in move:
        stretched = np.zeros(2 * reach * size + 1)
        stretched[::size] = masses
        total = _convolved(total, stretched)
    tails = np.append(np.cumsum(total[::-1])[::-1], 0.0)
    return np.maximum(tails, _LEAST_DELTA), reach * sum(move)


def _convolved(first: Reals, second: Reals) -> Reals:
    """Term by term, which is exact in the far tails; where that takes too long, by Fourier transforms."""
    if first.size * second.size <= _MOST_TERMS:
        return np.convolve(first, second)
    return np.asarray(np.maximum(scipy.signal.fftconvolve(first, second), 0.0))


def _moves(squared: int, largest: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a squared length as a sum of squares of whole numbers, the largest first."""
    if squared == 0:
        yield ()
    for size in range(min(largest, isqrt(squared)), 0, -1):
        yield from ((size, *rest) for rest in _moves(squared - size * size, size))


@lru_cache(maxsize=256)
def _epsilon_at(sigma: float, delta: float, squared: int) -> float:
    """The least epsilon at a delta."""
    most = composition.zcdp_epsilon(squared / (2 * sigma**2), delta)
    if squared > _MOST_SQUARED or _delta_at(sigma, 0.0, squared) <= delta:
        return most if squared > _MOST_SQUARED else 0.0
    return float(
        scipy.optimize.brentq(
            lambda e: _log_excess(sigma, e, delta, squared), 0.0, most, xtol=1e-15, rtol=1e-14
        )
    )


@lru_cache(maxsize=256)
def _sigma_for(epsilon: float, delta: float, squared: int) -> float:
    """The smallest sigma that keeps (epsilon, delta), around the one of continuous noise."""
    if squared > _MOST_SQUARED:
        return float(np.sqrt(squared / (2 * _rho_for(epsilon, delta))))
    low = high = gdp.sigma_for(epsilon, delta, float(np.sqrt(squared)))
    while _log_excess(low, epsilon, delta, squared) < 0:
        low /= 1.1
    while _log_excess(high, epsilon, delta, squared) > 0:
        high *= 1.1
    return float(
        scipy.optimize.brentq(
            lambda sigma: _log_excess(sigma, epsilon, delta, squared), low, high, xtol=1e-300, rtol=1e-15
        )
    )


def _rho_for(epsilon: float, delta: float) -> float:
    """The largest rho of zero-concentrated privacy that keeps (epsilon, delta)."""
    return float(
        scipy.optimize.brentq(
            lambda rho: composition.zcdp_epsilon(rho, delta) - epsilon, 1e-300, epsilon + 1, rtol=1e-14
        )
    )


def _log_excess(sigma: float, epsilon: float, delta: float, squared: int) -> float:
    return log(max(_delta_at(sigma, epsilon, squared), _LEAST_DELTA)) - log(delta)
