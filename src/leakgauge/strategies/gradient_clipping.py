"""How far each example's gradient is scaled down, without writing any example's gradient out."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals

Floats: TypeAlias = npt.NDArray[np.float32]


def gradient_norms(passed: Iterable[tuple[Floats, Floats]]) -> Reals:
    """The norm of each example's whole gradient, from what passed through every linear layer.

    A layer gives (what came in, what flowed back), one row for each example. An example's gradient in it is
    their outer product, with a one beside the inputs for the biases: its squared norm is the product of the
    two squared norms (Goodfellow 2015).

    >>> gradient_norms([(np.float32([[2, 2]]), np.float32([[1]]))]).tolist()
    [3.0]
    """
    return np.sqrt(sum((_squared(given) + 1) * _squared(flow) for given, flow in passed))


def clip_factors(norms: Reals, clip: float) -> Floats:
    """What to multiply each gradient with so that its norm is at most ``clip`` (Abadi et al. 2016).

    >>> clip_factors(np.array([0.0, 1.0, 4.0]), clip=2).tolist()
    [1.0, 1.0, 0.5]
    """
    return (clip / np.maximum(norms, clip)).astype(np.float32)


def _squared(rows: Floats) -> Reals:
    return np.vecdot(rows, rows).astype(np.float64)
