"""Laplace noise on vectors that are clipped to a length in the L1 norm."""

from dataclasses import dataclass
from typing import ClassVar

from leakgauge.mechanisms import laplace
from leakgauge.mechanisms._additive import Norm
from leakgauge.mechanisms._clipped_vectors import ClippedVectors


@dataclass(frozen=True, kw_only=True)
class Mechanism(ClippedVectors):
    """Shorten each vector until its entries add up to ``clip`` at most, and add Laplace noise to each entry.

    Signs do not count in the sum. The scale is ``scale``, or else 2 clip / epsilon; if both are given,
    epsilon is only nominal.

    >>> Mechanism(epsilon=4.0).noise_scale
    0.5
    """

    scale: float | None = None

    norm: ClassVar[Norm] = Norm.L1

    @property
    def noise(self) -> laplace.Mechanism:
        return laplace.Mechanism(
            epsilon=self.epsilon,
            scale=self.scale,
            sensitivity=self.sensitivity,
            relation=self.relation,
            unit=self.unit,
        )
