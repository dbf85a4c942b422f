"""Gaussian noise on a vector of values."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._output_grid import on_grid
from leakgauge.mechanisms._validation import require_positive
from leakgauge.theory import gdp


class GaussianCalibration(StrEnum):
    """How epsilon and delta become a standard deviation."""

    ANALYTIC = "analytic"  # the smallest that keeps the promise (Balle and Wang 2018)
    CLASSIC = "classic"  # sqrt(2 ln(1.25 / delta)) sensitivity / epsilon (Dwork and Roth 2014), epsilon <= 1


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Add Gaussian noise to every value.

    The standard deviation is ``sigma``, or else follows from epsilon, delta and the ``calibration``; if
    both are given, epsilon is no more than a label. ``sensitivity`` is the L2 distance that one protected
    unit can move the whole vector. Outputs lie on a grid of 2^-24 of sigma or finer; ``log_law`` is the
    density before that rounding, value by value.

    >>> round(Mechanism(epsilon=0.5, delta=1 / 3998, calibration=GaussianCalibration.CLASSIC).guarantee.epsilon, 3)
    0.308
    """

    delta: float
    epsilon: float | None = None
    sigma: float | None = None
    calibration: GaussianCalibration = GaussianCalibration.ANALYTIC
    sensitivity: float = 1.0
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadInput(f"gaussian: delta must be in (0, 1), got {self.delta}")
        require_positive("gaussian", epsilon=self.epsilon, sigma=self.sigma, sensitivity=self.sensitivity)
        if self.sigma is None and self.epsilon is None:
            raise BadInput("gaussian: neither epsilon nor sigma is given; add epsilon = ... or sigma = ...")
        require_positive("gaussian", sigma=self.noise_scale)

    @property
    def noise_scale(self) -> float:
        """The standard deviation in use."""
        if self.sigma is not None:
            return self.sigma
        assert self.epsilon is not None
        match self.calibration:
            case GaussianCalibration.ANALYTIC:
                return gdp.sigma_for(self.epsilon, self.delta, self.sensitivity)
            case GaussianCalibration.CLASSIC:
                return gdp.classic_sigma_for(self.epsilon, self.delta, self.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What sigma supports at this delta, and the whole curve; the label stands beside it as nominal."""
        mu = self.sensitivity / self.noise_scale
        epsilon = gdp.epsilon_at(mu, self.delta)
        return Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
            curve=gdp.curve(mu),
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        return on_grid(values + rng.normal(scale=self.noise_scale, size=values.shape), self.noise_scale)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of each output given its value."""
        distance = (outputs - values) / self.noise_scale
        return -(distance**2) / 2 - np.log(self.noise_scale * np.sqrt(2 * np.pi))

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors of values, never below the exact one."""
        return gdp.curve(gdp.compose((high - low) / self.noise_scale))
