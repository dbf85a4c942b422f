"""Per-example gradient norms and clip factors, without computing any example's gradient."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals

Floats: TypeAlias = npt.NDArray[np.float32]


def gradient_norms(layers: Iterable[tuple[Floats, Floats]]) -> Reals:
    """Return the norm of each example's whole gradient, given what passes through the linear layers.

    Each layer gives (inputs, gradients of its outputs), one row per example. An example's gradient in a layer
    is their outer product, with a 1 appended to the inputs for the bias, so its squared norm is the product
    of the two squared norms (Goodfellow 2015).

    >>> gradient_norms([(np.float32([[2, 2]]), np.float32([[1]]))]).tolist()
    [3.0]
    """
    return np.sqrt(sum((_squared(inputs) + 1) * _squared(gradients) for inputs, gradients in layers))


def clip_factors(norms: Reals, clip: float) -> Floats:
    """Return the factor for each gradient that limits its norm to ``clip`` (Abadi et al. 2016).

    >>> clip_factors(np.array([0.0, 1.0, 4.0]), clip=2).tolist()
    [1.0, 1.0, 0.5]
    """
    return (clip / np.maximum(norms, clip)).astype(np.float32)


def _squared(rows: Floats) -> Reals:
    return np.vecdot(rows, rows).astype(np.float64)
