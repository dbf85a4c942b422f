"""Gaussian noise on vectors that are clipped to a Euclidean length."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from leakgauge.mechanisms import gaussian
from leakgauge.mechanisms._additive import Norm
from leakgauge.mechanisms._clipped_vectors import ClippedVectors


@dataclass(frozen=True, kw_only=True)
class Mechanism(ClippedVectors):
    """Shorten each vector to a Euclidean length of ``clip``, and add Gaussian noise that hides which it was.

    The standard deviation is ``sigma``, or else follows from epsilon, ``delta`` and the ``calibration``, for
    vectors 2 clip apart; if both are given, epsilon is only nominal.

    >>> round(Mechanism(sigma=2.0, delta=1e-5).guarantee.epsilon, 3)
    4.377
    """

    delta: float
    sigma: float | None = None
    calibration: gaussian.GaussianCalibration = gaussian.GaussianCalibration.ANALYTIC

    norm: ClassVar[Norm] = Norm.L2

    @cached_property
    def noise(self) -> gaussian.Mechanism:
        noise = gaussian.Mechanism(
            epsilon=self.epsilon,
            delta=self.delta,
            sigma=self.sigma,
            sensitivity=self.sensitivity,
            calibration=self.calibration,
            relation=self.relation,
            unit=self.unit,
        )
        return replace(noise, sigma=noise.noise_scale)  # so that it is solved for once
