"""Report noisy max: add noise to every utility, and release which option has the largest."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms import _selection_laws as selection_laws


class NoisyMaxNoise(StrEnum):
    """What is added to every utility."""

    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"


@dataclass(frozen=True, kw_only=True)
class Mechanism(selection_laws.UtilitySelection):
    """Release the option whose noisy utility is largest (Dwork and Roth 2014; Ding et al. 2021).

    Values are utilities, options along the last axis; the output is the number of the chosen option, and
    ``log_law`` the log probability of that choice: both have one axis less. ``sensitivity`` is how far one
    protected unit can move each utility. The scale is ``scale``, or else 2 ``sensitivity / epsilon``, or half
    of that if the utilities are ``monotone``: one unit moves them all up or all down. If both are given,
    epsilon is only nominal. With ``noise = "gumbel"`` it is the exponential mechanism.
    """

    noise: NoisyMaxNoise = NoisyMaxNoise.LAPLACE

    def sample(self, values: Reals, rng: Generator) -> Reals:
        match self.noise:
            case NoisyMaxNoise.LAPLACE:
                noise = rng.laplace(size=values.shape)
            case NoisyMaxNoise.EXPONENTIAL:
                noise = rng.exponential(size=values.shape)
            case NoisyMaxNoise.GUMBEL:
                noise = rng.gumbel(size=values.shape)
        return np.argmax(values + self.noise_scale * noise, axis=-1).astype(np.float64)

    def log_probabilities(self, utilities: Reals) -> Reals:
        """Log probability of each option having the largest noisy utility: an integral over the largest.

        The upper tail of each noise falls by no more than e^(-move / scale) when one utility is moved
        relative to the others; this is reached in the limit of an option far below the others.
        """
        return selection_laws.map_unique_rows(utilities, self._log_probabilities)

    def _log_probabilities(self, utilities: Reals) -> Reals:
        """The probabilities for one row of utilities."""
        match self.noise:
            case NoisyMaxNoise.GUMBEL:
                return np.asarray(scipy.special.log_softmax(utilities))
            case NoisyMaxNoise.EXPONENTIAL:
                on_top, kinks = partial(_exponential_on_top, utilities), np.array([utilities.max()])
            case NoisyMaxNoise.LAPLACE:
                on_top, kinks = partial(_laplace_on_top, utilities), utilities
        return selection_laws.log_integral(on_top, kinks, fastest=1 / utilities.size, slowest=1.0)


def _laplace_on_top(utilities: Reals, top: Reals) -> Reals:
    """Log density, per option, of having the largest noisy utility, at this value: all others lie below."""
    distance = top[:, None] - utilities
    below = selection_laws.log_laplace_cdf(distance)
    return -np.abs(distance) - np.log(2) + below.sum(axis=1, keepdims=True) - below


def _exponential_on_top(utilities: Reals, top: Reals) -> Reals:
    """The same for noise that is never negative: the largest lies above every utility."""
    distance = top[:, None] - utilities
    possible = (distance > 0).all(axis=1, keepdims=True)
    below = np.log(-np.expm1(-np.where(possible, distance, 1.0)))
    return np.where(possible, -distance + below.sum(axis=1, keepdims=True) - below, -np.inf)
