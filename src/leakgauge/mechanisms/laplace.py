"""Laplace noise on a vector of values."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._output_grid import on_grid
from leakgauge.mechanisms._validation import require_positive, scale_from
from leakgauge.theory import loss_composition, privacy_loss


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Add Laplace noise to every value (Dwork et al. 2006).

    The scale is ``scale``, or else ``sensitivity / epsilon``; if both are given, epsilon is no more than a
    label. ``sensitivity`` is the L1 distance that one protected unit can move the whole vector. Outputs lie
    on a grid of 2^-24 of the scale or finer; ``log_law`` is the density before that rounding, value by
    value.

    >>> Mechanism(epsilon=1.0, scale=0.5).guarantee.epsilon
    2.0
    """

    epsilon: float | None = None
    scale: float | None = None
    sensitivity: float = 1.0
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_positive("laplace", sensitivity=self.sensitivity, scale=self.noise_scale)

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from("laplace", self.epsilon, self.scale, self.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What the scale supports.

        The curve is that of one value moved by the whole sensitivity. Spreading the move over several
        values reveals less: the likelihood ratios then have the same mean and cross those of the single
        move once, so they are smaller in convex order.
        """
        epsilon = self.sensitivity / self.noise_scale
        return Guarantee(
            epsilon=epsilon,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
            curve=loss_composition.best_attack([(privacy_loss.LaplaceCell(epsilon), 1)]).high,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        return on_grid(values + rng.laplace(scale=self.noise_scale, size=values.shape), self.noise_scale)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of each output given its value."""
        return -np.abs(outputs - values) / self.noise_scale - np.log(2 * self.noise_scale)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors of values, never below the exact one."""
        return loss_composition.best_attack(
            loss_composition.cells_under_laplace(high - low, self.noise_scale)
        ).high
