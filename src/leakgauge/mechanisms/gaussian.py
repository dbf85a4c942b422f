"""Gaussian noise on a vector of values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.guarantee import TradeoffCurve
from leakgauge.mechanisms._additive import ApproximateNoise, AttackBounds, Shifts
from leakgauge.mechanisms._count_noise import CountNoise, RoundedNoise, SmoothDensity
from leakgauge.theory import gdp

_REACH = 9.0  # standard deviations: beyond them lies 1e-19 on either side
_PER_SIGMA = 5  # points of an interpolation per standard deviation


class GaussianCalibration(StrEnum):
    """How the standard deviation follows from epsilon and delta."""

    ANALYTIC = "analytic"  # the smallest that keeps the promise (Balle and Wang 2018)
    CLASSIC = "classic"  # sqrt(2 ln(1.25 / delta)) sensitivity / epsilon (Dwork and Roth 2014), epsilon <= 1


@dataclass(frozen=True, kw_only=True)
class Mechanism(ApproximateNoise):
    """Add Gaussian noise to every value.

    The standard deviation is ``sigma``, or else follows from epsilon, delta and the ``calibration``; if both
    are given, epsilon is only nominal. ``sensitivity`` is the L2 distance that one protected unit can move
    the whole vector.

    >>> classic = Mechanism(epsilon=0.5, delta=1 / 3998, calibration=GaussianCalibration.CLASSIC)
    >>> round(classic.guarantee.epsilon, 3)
    0.308
    """

    calibration: GaussianCalibration = GaussianCalibration.ANALYTIC

    closed_form: ClassVar[bool] = True

    def sigma_for(self, epsilon: float) -> float:
        match self.calibration:
            case GaussianCalibration.ANALYTIC:
                return gdp.sigma_for(epsilon, self.delta, self.sensitivity)
            case GaussianCalibration.CLASSIC:
                return gdp.classic_sigma_for(epsilon, self.delta, self.sensitivity)

    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        return rng.normal(scale=self.noise_scale, size=shape)

    def log_density(self, distances: Reals) -> Reals:
        return -((distances / self.noise_scale) ** 2) / 2 - np.log(self.noise_scale * np.sqrt(2 * np.pi))

    def log_cdf(self, distances: Reals) -> Reals:
        return np.asarray(scipy.special.log_ndtr(distances / self.noise_scale))

    def partial_moments(self, distances: Reals) -> tuple[Reals, Reals, Reals]:
        x, sigma = distances, self.noise_scale
        chance = scipy.special.ndtr(-x / sigma)
        density = sigma * np.exp(-((x / sigma) ** 2) / 2) / np.sqrt(2 * np.pi)
        return chance, density - x * chance, (x**2 + sigma**2) * chance - x * density

    def best_attack(self, shifts: Shifts) -> AttackBounds:
        return gdp.GaussianAttack(self._mu(shifts))

    def epsilon_at(self, shifts: Shifts, delta: float) -> float:
        return gdp.epsilon_at(self._mu(shifts), delta)

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        return gdp.epsilon_at(gdp.compose((high - low) / self.noise_scale), self.delta)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve:
        """The trade-off between two vectors of values, never below the exact one."""
        return gdp.curve(gdp.compose((high - low) / self.noise_scale))

    @property
    def reach(self) -> float:
        return _REACH * self.noise_scale

    @property
    def density(self) -> SmoothDensity:
        """The log density of a mixture over counts bends within sigma squared, where that is small."""
        sigma = self.noise_scale
        return SmoothDensity(sigma, min(sigma, sigma**2) / _PER_SIGMA)

    def rounded(self) -> CountNoise:
        return RoundedGaussianNoise(self)

    def _mu(self, shifts: Shifts) -> float:
        return gdp.compose([float(np.sqrt(n)) * shift / self.noise_scale for shift, n in shifts])


@dataclass(frozen=True)
class RoundedGaussianNoise(RoundedNoise):
    """Gaussian noise rounded down."""

    def log_at(self, distances: Reals) -> Reals:
        """From the smaller of both tails: Phi(end) (1 - Phi(end - 1 / sigma) / Phi(end)), end <= 0."""
        sigma = self.mechanism.noise_scale
        end = np.where(distances >= 0, -distances, distances + 1) / sigma
        upper = scipy.special.log_ndtr(end)
        return np.asarray(upper + np.log(-np.expm1(scipy.special.log_ndtr(end - 1 / sigma) - upper)))
