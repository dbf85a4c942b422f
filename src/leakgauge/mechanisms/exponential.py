"""The exponential mechanism: choose one of several options, those with higher utility more often."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.mechanisms._selection_laws import UtilitySelection


@dataclass(frozen=True, kw_only=True)
class Mechanism(UtilitySelection):
    """Choose an option with probability proportional to e^(utility / scale) (McSherry and Talwar 2007).

    Values are utilities, options along the last axis; the output is the number of the chosen option, and
    ``log_law`` the log probability of that choice: both have one axis less. ``sensitivity`` is how far one
    protected unit can move each utility. The scale is ``scale``, or else 2 ``sensitivity / epsilon``, or half
    of that if the utilities are ``monotone``: one unit moves them all up or all down. If both are given,
    epsilon is only nominal.
    """

    def sample(self, values: Reals, rng: Generator) -> Reals:
        noisy = values / self.noise_scale + rng.gumbel(size=values.shape)
        return np.argmax(noisy, axis=-1).astype(np.float64)

    def log_probabilities(self, utilities: Reals) -> Reals:
        return np.asarray(scipy.special.log_softmax(utilities, axis=-1))
