"""Logistic noise on a vector of values."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms._additive import PureNoise


@dataclass(frozen=True, kw_only=True)
class Mechanism(PureNoise):
    """Add logistic noise, with density e^-z / (scale (1 + e^-z)^2) at z = x / scale, to every value.

    Its tails fall like those of Laplace noise of the same scale, so that its epsilon is the same, but its
    density has no kink. The scale is ``scale``, or else ``sensitivity / epsilon``; if both are given, epsilon
    is only nominal. ``sensitivity`` is the L1 distance that one protected unit can move the whole vector.

    >>> Mechanism(epsilon=0.5).noise_scale
    2.0
    """

    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        return rng.logistic(scale=self.noise_scale, size=shape)

    def log_density(self, distances: Reals) -> Reals:
        z = distances / self.noise_scale
        return np.asarray(scipy.special.log_expit(z) + scipy.special.log_expit(-z) - np.log(self.noise_scale))

    def log_cdf(self, distances: Reals) -> Reals:
        return np.asarray(scipy.special.log_expit(distances / self.noise_scale))
