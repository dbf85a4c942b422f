"""Two-sided geometric noise on a vector of whole numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._validation import require_positive, require_whole, scale_from
from leakgauge.theory import loss_composition, privacy_loss


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Add two-sided geometric noise, P(x) falling as e^(-|x| / scale), to every count (Ghosh et al. 2012).

    The scale is ``scale``, or else ``sensitivity / epsilon``; if both are given, epsilon is no more than a
    label. ``sensitivity`` is the L1 distance, a whole number, that one protected unit can move the whole
    vector. ``log_law`` is the probability, value by value.
    """

    epsilon: float | None = None
    scale: float | None = None
    sensitivity: float = 1.0
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_whole("geometric", "sensitivity", self.sensitivity, 1)
        require_positive("geometric", scale=self.noise_scale)

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from("geometric", self.epsilon, self.scale, self.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What the scale supports.

        The curve is that of one value moved by the whole sensitivity; spreading the move reveals less.
        """
        epsilon = self.sensitivity / self.noise_scale
        worst = privacy_loss.GeometricCell(1 / self.noise_scale, int(self.sensitivity))
        return Guarantee(
            epsilon=epsilon,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
            curve=loss_composition.best_attack([(worst, 1)]).high,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        _require_counts(values)
        success = -np.expm1(-1 / self.noise_scale)
        up, down = rng.geometric(success, size=(2, *values.shape))
        return values + (up - down)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each output given its value."""
        _require_counts(values)
        distance = np.abs(outputs - values)
        level = np.log(np.tanh(0.5 / self.noise_scale))
        return np.where(distance == np.floor(distance), level - distance / self.noise_scale, -np.inf)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors of counts, never below the exact one."""
        _require_counts(low)
        _require_counts(high)
        return loss_composition.best_attack(
            loss_composition.cells_under_geometric(high - low, self.noise_scale)
        ).high


def _require_counts(values: Reals) -> None:
    if not (values == np.floor(values)).all():
        odd = values[~(values == np.floor(values))].flat[0]
        raise BadInput(f"geometric: values must be whole numbers, got {odd}; round them or use laplace")
