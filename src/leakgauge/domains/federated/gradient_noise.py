"""Noise on gradients: what a client adds where it trains by DP-SGD."""

import math
from dataclasses import dataclass

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.theory import gdp


@dataclass(frozen=True, kw_only=True)
class GradientNoise:
    """Clip every example's gradient, and add Gaussian noise to their sum (Abadi et al. 2016).

    ``sigma`` is in units of ``clip``; without it, sqrt(2 ln(1.25 / delta)) / epsilon, as Nguyen et al. have
    it (appendix E). That formula is for a sum which one example can move by ``clip``.
    """

    epsilon: float | None = None
    delta: float = 0.01
    clip: float = 1.0
    sigma: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}")
        if not 0 < self.clip < math.inf:
            raise BadInput(f"clip must be > 0 and finite, got {self.clip}")
        if self.epsilon is None and self.sigma is None:
            raise BadInput("neither epsilon nor sigma is given; add epsilon = ...")
        if not 0 < self.multiplier < math.inf:
            given = self.epsilon if self.sigma is None else self.sigma
            raise BadInput(f"epsilon and sigma must be > 0 and finite, got {given}")

    @property
    def multiplier(self) -> float:
        """The standard deviation of the noise in units of ``clip``."""
        if self.sigma is not None:
            return self.sigma
        assert self.epsilon is not None
        return math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon if self.epsilon > 0 else math.inf

    def guarantee(self, iterations: int) -> Guarantee:
        """What is promised to a row that may be replaced by another one, over all iterations: exact.

        Another row in its place moves the sum by up to twice the clip.
        """
        mu = 2 * math.sqrt(iterations) / self.multiplier
        epsilon = gdp.epsilon_at(mu, self.delta)
        return Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.REPLACE_ONE,
            unit=Unit.RECORD,
            sensitivity=2 * self.clip,
            nominal_epsilon=self.epsilon,
            nominal_unit=Unit.RECORD,
            exact_epsilon=epsilon,
            curve=gdp.curve(mu),
        )
