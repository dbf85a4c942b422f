"""The value of a crafted neuron at many rows, a few at a time."""

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Mechanism, Reals
from leakgauge.domains.federated.model import Crafted, Floats
from leakgauge.domains.federated.samples import perturbed

MOST = 2**22  # numbers that are held at once


def drawn_values(
    crafted: Crafted, rows: Floats, often: int, mechanism: Mechanism | None, rng: Generator
) -> Reals:
    """The value at each row, perturbed ``often`` times; without noise once is as good."""
    return values_at(crafted, perturbed(rows, often, mechanism, rng))


def values_at(crafted: Crafted, rows: Floats) -> Reals:
    """What ``crafted.values`` says, row by row, in single precision as a client computes it.

    Where no unit looks at more than one feature, the first layer is read off instead of multiplied by.
    """
    step = max(1, MOST // crafted.units)
    parts = [rows[first : first + step] for first in range(0, len(rows), step)]
    used = crafted.first != 0
    if not (used.sum(axis=1) <= 1).all():
        return np.concatenate([crafted.values(part) for part in parts])
    features = used.argmax(axis=1)
    slopes = crafted.first[np.arange(crafted.units), features]
    found = []
    for part in parts:
        hidden = part[:, features] * slopes
        hidden += crafted.first_bias
        np.maximum(hidden, 0, out=hidden)
        found.append((hidden @ crafted.second).astype(np.float64) + crafted.bias)
    return np.concatenate(found)
