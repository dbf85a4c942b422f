"""Outputs on a binary grid, because raw floating-point noise reveals the value it was added to."""

from math import floor, log2

import numpy as np

from leakgauge.core.game import Reals

_BITS = 24


def on_grid(outputs: Reals, scale: float) -> Reals:
    """Round to multiples of a power of two, about 2^-24 of the noise scale.

    Which floating-point numbers a sum of value and noise can reach depends on the value (Mironov 2012);
    rounding to a much coarser fixed grid hides this, and is only post-processing of the exact mechanism.
    """
    grid = 2.0 ** (floor(log2(scale)) - _BITS)
    return np.asarray(np.round(outputs / grid) * grid)
