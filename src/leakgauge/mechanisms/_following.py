"""Whether noise follows the law that is said to be its own, by a sample."""

import numpy as np
from scipy.special import ndtr

from leakgauge.core.game import Reals
from leakgauge.mechanisms import gaussian, geometric, laplace

LEVEL = 1e-6  # of refusing noise that does follow it


def allowed_distance(n: int) -> float:
    """How far the distribution of n draws may be from their own law, but for one time in 1 / LEVEL.

    (Dvoretzky, Kiefer and Wolfowitz 1956, with Massart's constant of 1990; discrete laws too.)
    """
    return float(np.sqrt(np.log(2 / LEVEL) / (2 * n)))


def distance(draws: Reals, law: laplace.Mechanism | gaussian.Mechanism | geometric.Mechanism) -> float:
    """The largest difference between the draws' distribution function and that of the law's noise."""
    values, counts = np.unique(draws, return_counts=True)
    at = np.cumsum(counts) / draws.size
    before = at - counts / draws.size
    if isinstance(law, geometric.Mechanism):
        here, just_before = _geometric(np.floor(values), law), _geometric(np.ceil(values) - 1, law)
    else:
        here = just_before = _continuous(values, law)
    return float(max(np.abs(at - here).max(), np.abs(before - just_before).max()))


def _continuous(values: Reals, law: laplace.Mechanism | gaussian.Mechanism) -> Reals:
    """P(noise <= value)."""
    if isinstance(law, gaussian.Mechanism):
        return np.asarray(ndtr(values / law.noise_scale))
    tail = np.exp(-np.abs(values) / law.noise_scale) / 2
    return np.where(values < 0, tail, 1 - tail)


def _geometric(values: Reals, law: geometric.Mechanism) -> Reals:
    """P(noise <= value) at whole numbers: e^(-k / scale) / (1 + e^(-1 / scale)) at -k < 0; symmetric."""
    top = 1 + np.exp(-1 / law.noise_scale)
    below = np.exp(-np.maximum(-values, 0) / law.noise_scale) / top
    above = 1 - np.exp(-(np.maximum(values, 0) + 1) / law.noise_scale) / top
    return np.where(values < 0, below, above)
